//! A client whose user signs in with a browser, and stays signed in from one start to the next.
//!
//! With any server that wants tokens, and tools of it that take no arguments:
//!
//! ```sh
//! cargo run -p examples --bin signing_in -- https://mcp.example.com/mcp [TOOL]...
//! ```
//!
//! All of it on this machine, with the authorization server of `conformance/peers`, which is installed by `setup.sh`
//! there. It asks no questions: opening the page is signing in. In three terminals:
//!
//! ```sh
//! cd conformance/peers && node_modules/.bin/node js/authorization-server.mjs --scopes 'notes:read notes:write' 9000
//! cargo run -p examples --bin protected_server -- http://127.0.0.1:9000
//! cargo run -p examples --bin signing_in -- http://127.0.0.1:8080/mcp read write
//! ```
//!
//! The user is asked once more for `write`, which takes another scope, and not at all the next time.

use std::convert::Infallible;
use std::env;
use std::error::Error;

use mcp_client::Client;
use mcp_client::oauth::{AuthorizationUrl, FileStore, LoopbackRedirect, OAuth};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut args = env::args().skip(1);
    let url = args.next().unwrap_or_else(|| "http://127.0.0.1:8080/mcp".to_owned());
    let home = env::home_dir().ok_or("the user has no home")?;
    let store = FileStore::new(home.join(".local/share/mcp-signing-in"))?;
    let oauth = OAuth::sign_in(LoopbackRedirect::new(show)).client_name("Signing in").store(store);
    let client = Client::builder(&url).oauth(oauth).build()?;
    // Nothing more is needed: the server says that it wants a token, and calls wait until there is one.
    for tool in client.list_tools().all().await? {
        println!("{}: {}", tool.display_name(), tool.description.as_deref().unwrap_or_default());
    }
    for tool in args {
        let result = client.call_tool(&tool, ()).await?;
        for block in &result.content {
            println!("{tool}: {}", block.as_text().unwrap_or("(no text)"));
        }
    }
    Ok(())
}

/// An application for a desk would open the browser. The user is received wherever this program runs.
fn show(page: &AuthorizationUrl) -> Result<(), Infallible> {
    println!("Sign in, with a browser of this machine, at\n{}", page.as_str());
    Ok(())
}
