//! How subscriptions end.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::{TOOLS, asked, belongs, is_acknowledgement, listen, subscribe, trigger};
use crate::check::{Check, server_check};
use crate::server::Cx;
use crate::server::raw::{Of as _, alive};
use crate::server::talk::Talk;
use crate::verdict::{Stop, Verdict, expect};
use crate::wire::json::{at, shown};
use crate::wire::line::Process;
use crate::wire::{Head, Noted};

pub(in crate::server) const CHECKS: &[Check] = &[
    server_check!("server-listen-many-dropped", Http, many_dropped).alone(),
    server_check!("server-stdio-listen-teardown", Stdio, teardown),
];

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

async fn teardown(cx: Cx) -> Verdict {
    let filter = asked(&cx)?;
    let mut talk = Talk::open(&cx)?;
    subscribe(&mut talk, &listen(&cx, "sub", &filter)).await?;
    let process = talk.process()?;
    process.terminate().await?;
    let (cancelled, result) = announced(&cx, process).await?;
    if !cancelled && !result && is_killed(process).await? {
        return Err(Stop::skip("the signal ends the process before it could say anything"));
    }
    let expected = "a result of the subscription, or notifications/cancelled that names it";
    expect(cancelled || result, expected, "neither, at the end of the process")?;
    // Where the texts differ, either will do.
    cx.warnings.unless(cancelled, "notifications/cancelled at the end", "a result alone");
    cx.warnings.unless(result, "a result at the end", "notifications/cancelled alone");

    let mut talk = Talk::open(&cx)?;
    subscribe(&mut talk, &listen(&cx, "sub", &filter)).await?;
    let process = talk.process()?;
    process.close();
    let (cancelled, result) = announced(&cx, process).await.of("at the end of the input")?;
    let expected = "an end of the subscription when the input ends";
    cx.warnings.unless(cancelled || result, expected, "none");
    Ok(())
}

/// Reads to the end of the output: whether the subscription was cancelled, and whether it got its result.
async fn announced(cx: &Cx, process: &mut Process) -> Verdict<(bool, bool)> {
    let (mut cancelled, mut result) = (false, false);
    while let Some(message) = process.next().await? {
        let noted = Noted { method: String::new(), head: None, message };
        let message = &noted.message;
        if *at(message, "/id") == "sub" {
            let kind = at(message, "/result/resultType");
            expect(*kind == "complete", "a complete result of the subscription", shown(message))?;
            let tag = at(message, "/result/_meta/io.modelcontextprotocol~1subscriptionId");
            expect(*tag == "sub", "the id of the subscription in its result", shown(message))?;
            result = true;
        }
        cancelled |= *at(message, "/method") == "notifications/cancelled"
            && *at(message, "/params/requestId") == json!("sub");
        cx.record.add(noted);
    }
    Ok((cancelled, result))
}

/// Whether the process has ended by a signal, and not by itself.
async fn is_killed(process: &mut Process) -> Verdict<bool> {
    Ok(process.status().await?.code().is_none())
}
