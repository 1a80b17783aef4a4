//! A service that calls a server without any user: it proves by its key who it is, and gets its tokens for that.
//!
//! The server's authorization server knows the client and the public half of the key. To make one:
//!
//! ```sh
//! openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out key.pem
//! openssl pkey -in key.pem -pubout                    # for the owner of the authorization server
//! cargo run -p examples --bin service_account -- \
//!     https://mcp.example.com/mcp https://auth.example.com nightly key.pem
//! ```

use std::error::Error;

use mcp_client::Client;
use mcp_client::oauth::{Algorithm, ClientId, OAuth, SigningKey};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let args = std::env::args().skip(1).collect::<Vec<_>>();
    let [url, issuer, client, key] = &*args else {
        return Err(
            "it takes the URLs of server and issuer, a client id and a file with a key".into()
        );
    };
    let key = SigningKey::from_pem(Algorithm::Es256, &std::fs::read(key)?)?;
    // The issuer is named, so that nothing is proved to another, whatever the server says.
    let oauth = OAuth::client_credentials(issuer, ClientId::signing(client, key));
    let client = Client::builder(url).oauth(oauth).build()?;

    // Tokens are got with the first call, and again when they end.
    for tool in client.list_tools().all().await? {
        println!("{}", tool.name);
    }
    Ok(())
}
