//! A browser without a person: it goes where a sign-in sends it, and says where that leads.

use std::error::Error;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Visits the page at `url`, which is plain HTTP, and gives the address that it redirects to.
pub(super) async fn visit(url: &str) -> Result<String, Box<dyn Error + Send + Sync>> {
    let rest = url.strip_prefix("http://").ok_or("the suite's pages are at http://")?;
    let at = rest.find(['/', '?']).unwrap_or(rest.len());
    let (host, target) = rest.split_at(at);
    let slash = if target.starts_with('/') { "" } else { "/" };
    let mut stream = TcpStream::connect(host).await?;
    let request =
        format!("GET {slash}{target} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    let answer = String::from_utf8_lossy(&answer);
    let mut fields = answer.lines().map_while(|line| line.split_once(": ").or(Some((line, ""))));
    let location = fields.find(|(name, _)| name.eq_ignore_ascii_case("location"));
    let (_, location) = location.ok_or_else(|| format!("no redirect: {answer}"))?;
    Ok(location.to_owned())
}
