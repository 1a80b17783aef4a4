//! The peer in between, over HTTP.

use std::io;
use std::sync::Arc;

use serde_json::Value;
use tokio::io::{
    AsyncBufRead, AsyncBufReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader, copy, sink,
};
use tokio::net::{TcpListener, TcpStream};
use tokio::select;

use super::change::{Change, Memory};
use super::http::{Framing, Http};

/// Passes requests on, each over a connection of its own, and breaks one rule.
pub(crate) struct Proxy {
    change: Change,
    memory: Memory,
    /// The server; without one the first segment of the path says where it is.
    server: Option<String>,
}

impl Proxy {
    /// Serves from now on, until the runtime ends; the port.
    pub(crate) async fn start(change: Change, server: Option<String>) -> io::Result<u16> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        let proxy = Arc::new(Self { change, memory: Memory::default(), server });
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let proxy = Arc::clone(&proxy);
                tokio::spawn(async move { proxy.serve(client).await });
            }
        });
        Ok(port)
    }

    async fn serve(&self, client: TcpStream) -> io::Result<()> {
        client.set_nodelay(true)?;
        let (reader, mut writer) = client.into_split();
        let mut reader = BufReader::new(reader);
        while let Some(asked) = Http::request(&mut reader).await? {
            let (address, asked) = self.route(asked);
            let sent = self.change.asked(&asked, &self.memory);
            let mut server = BufReader::new(TcpStream::connect(address).await?);
            server.get_ref().set_nodelay(true)?;
            server.write_all(&sent.bytes()).await?;
            let goes_on = select! {
                relayed = self.relay(&asked, &sent, &mut server, &mut writer) => relayed?,
                () = left(&mut reader) => false,
            };
            if !goes_on {
                if matches!(self.change, Change::Stays) {
                    copy(&mut server, &mut sink()).await?;
                }
                break;
            }
        }
        Ok(())
    }

    /// Where a request goes, and the request as it is there.
    fn route(&self, mut asked: Http) -> (String, Http) {
        if let Some(server) = &self.server {
            return (server.clone(), asked);
        }
        let mut words = asked.first.splitn(3, ' ').map(str::to_owned);
        let [method, target, version] = [(); 3].map(|()| words.next().unwrap_or_default());
        let (server, path) = target.trim_start_matches('/').split_once('/').unwrap_or_default();
        let server = server.to_owned();
        asked.first = format!("{method} /{path} {version}");
        asked.set("Host", &server);
        (server, asked)
    }

    /// Passes a response on; whether the connection may be used again.
    async fn relay(
        &self,
        asked: &Http,
        sent: &Http,
        from: &mut (impl AsyncBufRead + Unpin),
        to: &mut (impl AsyncWrite + Unpin),
    ) -> io::Result<bool> {
        let Some(mut told) = Http::head(from).await? else { return Ok(false) };
        let or = if told.has_body(sent) { Framing::Close } else { Framing::Length(0) };
        let mut framing = if told.has_body(sent) { told.framing(or) } else { or };
        let (asked_for, sent_on) = (asked.message(), sent.message());
        let said = |said| self.change.said(&asked_for, &sent_on, said, &self.memory);
        if told.is_stream() && told.has_body(sent) {
            self.change.told(asked, &mut told);
            told.remove("Content-Length");
            told.set("Transfer-Encoding", "chunked");
            to.write_all(&told.head_bytes()).await?;
            let mut rest = Vec::new();
            while let Some(piece) = framing.piece(from).await? {
                if !self.change.reads() {
                    chunk(to, &piece).await?;
                    continue;
                }
                rest.extend(piece);
                while let Some(end) = rest.windows(2).position(|pair| pair == b"\n\n") {
                    let event = rest.drain(..end + 2).collect::<Vec<_>>();
                    let events =
                        if self.change.hears() { events(event, said) } else { vec![event] };
                    for event in events {
                        chunk(to, &self.change.wire(&asked_for, event)).await?;
                    }
                }
            }
            if !rest.is_empty() {
                chunk(to, &rest).await?;
            }
            to.write_all(b"0\r\n\r\n").await?;
        } else {
            while let Some(piece) = framing.piece(from).await? {
                told.body.extend(piece);
            }
            if let Ok(message @ Value::Object(_)) = serde_json::from_slice(&told.body) {
                if self.change.hears() {
                    told.body = said(message).concat();
                }
                told.body = self.change.wire(&asked_for, told.body);
            }
            self.change.told(asked, &mut told);
            to.write_all(&if told.has_body(sent) { told.bytes() } else { told.head_bytes() })
                .await?;
        }
        let closes =
            |http: &Http| http.get("Connection").is_some_and(|it| it.eq_ignore_ascii_case("close"));
        Ok(!closes(&told) && !closes(asked))
    }
}

/// The events in place of one.
fn events(event: Vec<u8>, said: impl Fn(Value) -> Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    let text = String::from_utf8_lossy(&event);
    let data = text.lines().filter_map(|line| line.strip_prefix("data:")).collect::<String>();
    match serde_json::from_str(&data) {
        Ok(message) => {
            let all = said(message).into_iter();
            all.map(|data| [&b"data: "[..], &data, b"\n\n"].concat()).collect()
        }
        Err(_) => vec![event],
    }
}

async fn chunk(to: &mut (impl AsyncWrite + Unpin), bytes: &[u8]) -> io::Result<()> {
    let head = format!("{:x}\r\n", bytes.len());
    to.write_all(&[head.as_bytes(), bytes, b"\r\n"].concat()).await
}

/// Waits for the client to leave.
async fn left(reader: &mut (impl AsyncBufRead + Unpin)) {
    if let Ok([_, ..]) = reader.fill_buf().await {
        // It has sent its next request already, behind which nothing can be seen.
        std::future::pending().await
    }
}
