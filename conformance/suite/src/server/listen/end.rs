//! How subscriptions end.

use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::process::Command;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::{TOOLS, asked, belongs, is_acknowledgement, listen, subscribe, trigger};
use crate::check::{Check, server_check};
use crate::server::Cx;
use crate::server::raw::alive;
use crate::server::talk::Talk;
use crate::verdict::{Of as _, Stop, Verdict, expect};
use crate::wire::json::{at, shown};
use crate::wire::line::Process;
use crate::wire::{Head, Noted};

pub(in crate::server) const CHECKS: &[Check] = &[
    server_check!("server-listen-many-dropped", Http, many_dropped).alone(),
    server_check!("server-stdio-listen-teardown", Stdio, teardown),
];

/// Behind all others: nothing can be asked of a server that has been stopped.
pub(in crate::server) const LAST: &[Check] =
    &[server_check!("server-listen-teardown", Http, teardown_over_http).last()];

async fn many_dropped(cx: Cx) -> Verdict {
    let filter = asked(&cx)?;
    for _ in 0..MANY / AT_ONCE {
        let mut tasks = JoinSet::new();
        for _ in 0..AT_ONCE {
            let (cx, filter) = (cx.clone(), filter.clone());
            tasks.spawn(async move { open_and_drop(&cx, &filter).await });
        }
        while let Some(done) = tasks.join_next().await {
            done.map_err(|error| Stop::lost(error.to_string()))??;
        }
    }
    let mut talk = Talk::open(&cx)?;
    let last = listen(&cx, "last", &filter);
    subscribe(&mut talk, &last).await.of("a subscription after many that were dropped")?;
    if let Ok(change) = trigger(&cx, "tool") {
        talk.send(&change).await?;
        talk.until(TOOLS, |came| belongs(came, last.id()) && came.method() == TOOLS).await?;
    }
    alive(&cx).await
}

/// Subscriptions that are dropped, and how many of them are open at a time.
const MANY: usize = 1_000;
const AT_ONCE: usize = 20;

/// Opens a subscription, reads its acknowledgement and drops the connection.
async fn open_and_drop(cx: &Cx, filter: &Value) -> Verdict {
    let request = listen(cx, "sub", filter);
    let end = Instant::now() + cx.patience;
    loop {
        let mut open = cx.open_post(&cx.post(&request)?, request.id()).await?;
        let status = open.head.as_ref().map_or(0, Head::status);
        // Those before may not all have been noticed to be gone.
        if matches!(status, 429 | 503) && Instant::now() < end {
            sleep(Duration::from_millis(50)).await;
            continue;
        }
        return is_acknowledgement(&open.expect_next("an acknowledgement").await?, request.id());
    }
}

async fn teardown_over_http(cx: Cx) -> Verdict {
    let stop = cx.endpoint()?.ways.stop.clone();
    let stop = stop.ok_or_else(|| Stop::skip("no command was given that stops the server"))?;
    let mut open = cx.open(&listen(&cx, SUB, &asked(&cx)?)).await?;
    is_acknowledgement(&open.expect_next("an acknowledgement").await?, &json!(SUB))?;
    let stopped = Command::new("sh").args(["-c", &stop]).stdout(Stdio::null()).status().await;
    let has_run = stopped.is_ok_and(|status| status.success());
    expect(has_run, format!("{stop:?} stops the server"), "it fails")?;
    let mut end = End::default();
    while let Some(message) = open.next().await.of("the end of the stream")? {
        end.take(&message)?;
    }
    end.is_announced(&cx)
}

async fn teardown(cx: Cx) -> Verdict {
    let filter = asked(&cx)?;
    let mut talk = Talk::open(&cx)?;
    subscribe(&mut talk, &listen(&cx, SUB, &filter)).await?;
    let process = talk.process()?;
    process.terminate()?;
    let end = End::of(&cx, process).await?;
    if end == End::default() && process.is_killed().await? {
        return Err(Stop::skip("the signal ends the process before it could say anything"));
    }
    end.is_announced(&cx)?;

    let mut talk = Talk::open(&cx)?;
    subscribe(&mut talk, &listen(&cx, SUB, &filter)).await?;
    let process = talk.process()?;
    process.close();
    let end = End::of(&cx, process).await.of("at the end of the input")?;
    let expected = "an end of the subscription when the input ends";
    cx.warnings.unless(end != End::default(), expected, "none");
    Ok(())
}

const SUB: &str = "sub";

/// How the end of a subscription is told. One page of the specification has a notification, another a result; either
/// will do.
#[derive(Debug, Default, PartialEq, Eq)]
struct End {
    cancelled: bool,
    result: bool,
}

impl End {
    /// Reads to the end of the output.
    async fn of(cx: &Cx, process: &mut Process) -> Verdict<Self> {
        let mut end = Self::default();
        while let Some(message) = process.next().await? {
            end.take(&message)?;
            cx.record.add(Noted { method: String::new(), head: None, message });
        }
        Ok(end)
    }

    fn take(&mut self, message: &Value) -> Verdict {
        if *at(message, "/id") == SUB {
            let kind = at(message, "/result/resultType");
            expect(*kind == "complete", "a complete result of the subscription", shown(message))?;
            let tag = at(message, "/result/_meta/io.modelcontextprotocol~1subscriptionId");
            expect(*tag == SUB, "the id of the subscription in its result", shown(message))?;
            self.result = true;
        }
        self.cancelled |= *at(message, "/method") == "notifications/cancelled"
            && *at(message, "/params/requestId") == SUB;
        Ok(())
    }

    fn is_announced(&self, cx: &Cx) -> Verdict {
        let expected = "a result of the subscription, or notifications/cancelled that names it";
        expect(*self != Self::default(), expected, "neither, up to the end")?;
        // The schema has the notification for stdio alone, where no stream ends with the subscription.
        let is_told = self.cancelled || cx.is_http();
        cx.warnings.unless(is_told, "notifications/cancelled at the end", "a result alone");
        cx.warnings.unless(self.result, "a result at the end", "notifications/cancelled alone");
        Ok(())
    }
}
