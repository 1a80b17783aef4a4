//! This SDK's server, as its users write it.

use mcp_server::{Args, Progress, Server, Tool};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::net::TcpListener;

use crate::work::Work;

#[derive(Deserialize, JsonSchema)]
struct Text {
    text: String,
}

async fn echo(Args(Text { text }): Args<Text>) -> String {
    text
}

async fn count(progress: Progress, _: Args<Text>) -> &'static str {
    for n in 1..=10 {
        progress.report_of(n, 10);
    }
    "done"
}

async fn count_paced(progress: Progress, _: Args<Text>) -> &'static str {
    for n in 1..=10 {
        progress.report_of(n, 10);
        tokio::task::yield_now().await;
    }
    "done"
}

pub(crate) fn server(work: Work) -> Server {
    let count = match work {
        Work::Paced10 => Tool::new("count-paced", count_paced),
        _ => Tool::new("count", count),
    };
    let more = (1..work.tools())
        .map(|n| Tool::new(format!("echo-{n}"), echo).description("Echoes its text"));
    Server::builder("bench", "1.0.0")
        .tool(Tool::new("echo", echo).description("Echoes its text"))
        .tool(count.description("Counts to ten"))
        .tools(more.take(work.tools().saturating_sub(2)))
        .build()
        .unwrap()
}

pub(crate) async fn serve(listener: TcpListener, work: Work) {
    server(work).serve_with(listener).await.unwrap();
}
