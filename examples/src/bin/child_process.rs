//! Starts a server as a process, lists its tools and ends it. What it logs is shown beside.
//!
//! ```sh
//! cargo run -p examples --bin child_process -- npx -y some-mcp-server
//! ```

use std::process::Command;

use mcp_client::ClientBuilder;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let program = arguments.next().ok_or("needs the command that starts a server")?;
    let mut command = Command::new(program);
    command.args(arguments);

    let client =
        ClientBuilder::spawn(command).on_stderr(|line| eprintln!("  [server] {line}")).build()?;
    let server = client.discover().await?;
    println!("it speaks {:?}", server.supported_versions);
    for tool in client.list_tools().all().await? {
        println!("{}: {}", tool.name, tool.description.as_deref().unwrap_or("(no description)"));
    }
    // Closes its input and waits for it to end; without this, it would be killed when `client` is dropped.
    client.close().await;
    Ok(())
}
