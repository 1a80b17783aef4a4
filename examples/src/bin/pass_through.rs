//! A gateway that passes messages on without changing a byte, on `http://127.0.0.1:8081/mcp`, to the server whose
//! address it is given or `hello_server`.
//!
//! To keep it short, it collects the reply and gives the response alone, as JSON.

use std::sync::{Arc, Mutex};

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use mcp_client::{Client, HttpTransport};

async fn forward(State(upstream): State<HttpTransport>, message: Bytes) -> Response {
    let last = Arc::new(Mutex::new(None));
    let keep = Arc::clone(&last);
    // Standard headers are derived from the message; the last message of the reply is its response.
    let sent = upstream.send(message).on_message(move |message| {
        *keep.lock().expect("nothing panics with the lock held") = Some(message.clone());
    });
    let error = sent.await.err();
    let status = error.as_ref().and_then(|error| error.status()).unwrap_or(StatusCode::OK);
    let response = last.lock().expect("nothing panics with the lock held").take();
    match (response, error) {
        (Some(response), _) => {
            (status, [(header::CONTENT_TYPE, "application/json")], response).into_response()
        }
        (None, None) => StatusCode::ACCEPTED.into_response(),
        (None, Some(error)) => {
            eprintln!("no answer from the server: {error}");
            StatusCode::BAD_GATEWAY.into_response()
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let upstream =
        std::env::args().nth(1).unwrap_or_else(|| "http://127.0.0.1:8080/mcp".to_owned());
    let transport = Client::builder(upstream).build_transport()?;
    transport.start()?;
    let app = axum::Router::new().route("/mcp", post(forward)).with_state(transport);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:8081").await?;
    println!("http://{}/mcp passes messages on", listener.local_addr()?);
    axum::serve(listener, app).await?;
    Ok(())
}
