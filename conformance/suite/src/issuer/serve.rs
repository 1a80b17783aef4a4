//! What the issuer answers over HTTP.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};

use super::Issuer;
use crate::verdict::Verdict;
use crate::wire::Log;
use crate::wire::http::Connection;

/// How long a connection may be idle.
const IDLE: Duration = Duration::from_secs(60);

/// Bytes of a form that are read.
const FORM: usize = 256 * 1024;

impl Issuer {
    pub(super) async fn serve(self, listener: TcpListener) {
        let mut tasks = tokio::task::JoinSet::new();
        loop {
            // Where there are too many open files, the next moment may be better.
            let Ok((stream, _)) = listener.accept().await else {
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            };
            while tasks.try_join_next().is_some() {}
            let issuer = self.clone();
            tasks.spawn(async move { drop(issuer.connection(stream).await) });
        }
    }

    /// All requests of one connection.
    async fn connection(self, stream: TcpStream) -> Verdict {
        let mut connection = Connection::over(Box::new(stream), &Log::default(), IDLE);
        loop {
            let head = connection.head().await?;
            let mut framing = Connection::framing(&head);
            let mut body = Vec::new();
            while let Some(piece) = connection.piece(&mut framing).await? {
                body.extend(piece);
                if body.len() > FORM {
                    return Ok(());
                }
            }
            let mut words = head.line.split(' ');
            let (method, path) =
                (words.next().unwrap_or_default(), words.next().unwrap_or_default());
            let (status, answer) = match self.answer(method, path, &String::from_utf8_lossy(&body))
            {
                Some(answer) => ("200 OK", answer),
                None => ("404 Not Found", json!({ "error": "not_found" })),
            };
            let answer = answer.to_string();
            let head = format!(
                "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nCache-Control: no-store\r\nContent-Length: {}\r\n\r\n",
                answer.len()
            );
            connection.send(format!("{head}{answer}").as_bytes()).await?;
        }
    }

    fn answer(&self, method: &str, path: &str, body: &str) -> Option<Value> {
        match (method, path) {
            (
                "GET",
                "/.well-known/oauth-authorization-server" | "/.well-known/openid-configuration",
            ) => Some(self.metadata()),
            ("GET", "/jwks") => Some(json!({ "keys": [self.key().listed()] })),
            // Tokens have no characters that a form would have to escape.
            ("POST", "/introspect") => {
                let token = body.split('&').find_map(|pair| pair.strip_prefix("token="));
                Some(self.introspected(token.unwrap_or_default()))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers() {
        let issuer = Issuer::new("127.0.0.1:1");
        for name in ["oauth-authorization-server", "openid-configuration"] {
            let metadata = issuer.answer("GET", &format!("/.well-known/{name}"), "").unwrap();
            assert_eq!(metadata["issuer"], "http://127.0.0.1:1");
            assert_eq!(metadata["jwks_uri"], "http://127.0.0.1:1/jwks");
        }
        let keys = issuer.answer("GET", "/jwks", "").unwrap();
        assert_eq!(keys["keys"][0]["kid"], "mcp-conformance");
        let claims = json!({ "iss": issuer.url(), "exp": super::super::now() + 60 });
        let form = format!("token_type_hint=access_token&token={}", issuer.access_token(&claims));
        assert_eq!(issuer.answer("POST", "/introspect", &form).unwrap()["active"], true);
        assert_eq!(issuer.answer("POST", "/introspect", "").unwrap()["active"], false);
        assert_eq!(issuer.answer("POST", "/jwks", ""), None);
        assert_eq!(issuer.answer("GET", "/", ""), None);
    }
}
