//! A server at a Unix socket, and a client of it: for a daemon on the same machine, without a port. Who may call is
//! decided by the rights of the socket's file and of its folder.

#[cfg(unix)]
mod unix {
    use std::path::Path;

    use axum::Router;
    use mcp_client::Client;
    use mcp_server::{Server, Tool};
    use tokio::net::UnixListener;

    async fn hello() -> &'static str {
        "Hello from the same machine"
    }

    /// Has a client call a server at the socket at `path`, which must not be there yet.
    pub async fn call(path: &Path) -> Result<String, Box<dyn std::error::Error>> {
        let server =
            Server::builder("unix-socket", "1.0.0").tool(Tool::new("hello", hello)).build()?;
        let app = Router::new().route_service("/mcp", server.service());
        let listener = UnixListener::bind(path)?;
        let serving = tokio::spawn(async { axum::serve(listener, app).await });

        let client = Client::unix(path);
        println!("{} tools", client.list_tools().all().await?.len());
        let result = client.call_tool("hello", ()).await?;
        serving.abort();
        std::fs::remove_file(path)?;
        Ok(format!("{:?}", result.content))
    }
}

#[cfg(unix)]
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::temp_dir().join(format!("mcp-{}.sock", std::process::id()));
    println!("{}", unix::call(&path).await?);
    Ok(())
}

#[cfg(not(unix))]
fn main() {}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[tokio::test]
    async fn client_and_server_meet_at_a_socket() {
        let path = std::env::temp_dir().join(format!("mcp-test-{}.sock", std::process::id()));
        assert!(unix::call(&path).await.unwrap().contains("Hello"));
        assert!(!path.exists());
    }
}
