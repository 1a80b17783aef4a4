//! The state that the server hands out, when somebody changed it.

use serde_json::{Value, json};

use super::{answers, asks, first, is_complete, is_refused, retry};
use crate::check::{Check, server_check};
use crate::server::Cx;
use crate::server::raw::{alive, answered};
use crate::server::talk::Lane;
use crate::verdict::{Of as _, Stop, Verdict, expect};
use crate::wire::json::at;
use crate::wire::{Message, Reply};

pub(in crate::server) const CHECKS: &[Check] = &[
    server_check!("server-mrtr-state-tampered", Both, tampered),
    server_check!("server-mrtr-state-garbage", Both, garbage),
    server_check!("server-mrtr-state-other-request", Both, other_request),
    server_check!("server-mrtr-state-other-principal", Http, other_principal),
];

/// A first round that was answered with a state, with all that is needed to go on.
struct Round {
    call: Message,
    result: Value,
    state: String,
}

impl Round {
    async fn begin(cx: &Cx, lane: &mut Lane, name: &str) -> Verdict<Self> {
        let call = first(cx, name)?;
        let reply = lane.ask(&call).await?;
        let result = asks(&reply)?.clone();
        let state = at(&result, "/requestState").as_str();
        let state = state.ok_or_else(|| Stop::fail("a requestState", reply.told()))?.to_owned();
        Ok(Self { call, result, state })
    }

    /// The retry with good answers and this state.
    fn with(&self, cx: &Cx, state: impl Into<Value>) -> Message {
        retry(cx, &self.call, &self.result, answers(&self.result)).param("requestState", state)
    }
}

async fn tampered(cx: Cx) -> Verdict {
    let mut lane = Lane::open(&cx)?;
    let round = Round::begin(&cx, &mut lane, "tampered_state").await?;
    for (what, state) in forgeries(&round.state) {
        let reply = lane.ask(&round.with(&cx, state)).await.of(&what)?;
        is_refused(&cx, &reply).of(&what)?;
    }
    // What some encodings pass over: the state as such is whole.
    let flipped = round.state.chars().map(|it| match it {
        'a'..='z' => it.to_ascii_uppercase(),
        _ => it.to_ascii_lowercase(),
    });
    let flipped = flipped.collect::<String>();
    for state in [flipped, format!(" {} ", round.state)] {
        if state != round.state {
            let reply = lane.ask(&round.with(&cx, state)).await?;
            let expected = "a refusal of state in another case, or with white space around it";
            cx.warnings.unless(reply.result().is_err(), expected, reply.told());
        }
    }
    let reply = lane.ask(&round.with(&cx, &*round.state)).await?;
    is_complete(&reply).of("the state as it was")
}

/// Texts that differ from the state in what they say.
fn forgeries(state: &str) -> Vec<(String, String)> {
    let all = state.chars().collect::<Vec<_>>();
    let encoded = state.bytes().map(|byte| format!("%{byte:02x}")).collect::<String>();
    let mut forgeries = vec![
        ("something appended".to_owned(), format!("{state}-TAMPERED")),
        ("the first character dropped".to_owned(), all.iter().skip(1).collect()),
        ("half of it".to_owned(), all.iter().take(all.len() / 2).collect()),
        ("twice in a row".to_owned(), format!("{state}{state}")),
        ("percent-encoded".to_owned(), encoded),
        ("that of another server".to_owned(), "eyJhbGciOiJub25lIn0.eyJzdGVwIjoxfQ.".to_owned()),
    ];
    for part in 1..=16 {
        let place = all.len() * part / 17;
        let other = |it: char| if it == 'A' { 'B' } else { 'A' };
        let changed = all.iter().enumerate();
        let changed = changed.map(|(at, it)| if at == place { other(*it) } else { *it });
        forgeries.push((format!("character {place} changed"), changed.collect()));
    }
    forgeries.retain(|(_, forged)| forged != state);
    forgeries
}

async fn garbage(cx: Cx) -> Verdict {
    let mut lane = Lane::open(&cx)?;
    let round = Round::begin(&cx, &mut lane, "request_state").await?;
    let states = [
        json!(""),
        json!("x"),
        json!("{\"admin\":true}"),
        json!("eyJhZG1pbiI6dHJ1ZX0="),
        json!(5),
        json!({}),
        json!([]),
        Value::Null,
    ];
    for state in states {
        let what = format!("the state {state}");
        let reply = lane.ask(&round.with(&cx, state.clone())).await.of(&what)?;
        // To begin anew is a way not to take it.
        if asks(&reply).is_ok() {
            cx.warnings.unless(false, format!("{what}: a refusal"), reply.told());
        } else {
            is_refused(&cx, &reply).of(&what)?;
        }
        if let Ok(tool) = cx.simple_tool() {
            let call = cx.call(&tool, json!({})).param("requestState", state);
            answered(&lane.ask(&call).await.of(&what)?).of(what)?;
        }
    }
    let long = cx.ask(&round.with(&cx, "A".repeat(1024 * 1024))).await;
    if let Ok(reply) = &long {
        is_refused(&cx, reply).of("a state of a megabyte")?;
    } else if !cx.is_http() {
        // Over HTTP the refusal may be lost, when the connection is closed before all was read.
        long.of("a state of a megabyte")?;
    }
    alive(&cx).await
}

async fn other_request(cx: Cx) -> Verdict {
    let mut lane = Lane::open(&cx)?;
    let round = Round::begin(&cx, &mut lane, "request_state").await?;
    let other = Round::begin(&cx, &mut lane, "tampered_state").await?;
    let more = round.with(&cx, &*round.state).param("arguments", json!({ "x": 1 }));
    is_not_complete(&lane.ask(&more).await?).of("state with other arguments")?;
    let swapped = other.with(&cx, &*round.state);
    is_not_complete(&lane.ask(&swapped).await?).of("state of another tool")?;
    let name = "test_input_required_result_prompt";
    if cx.offer().prompts.iter().any(|prompt| at(prompt, "/name") == name) {
        let get = cx.request("prompts/get").param("name", name).capabilities(super::able());
        let reply = lane.ask(&get).await?;
        let asked = asks(&reply)?;
        let swapped = retry(&cx, &get, asked, answers(asked)).param("requestState", &*round.state);
        is_not_complete(&lane.ask(&swapped).await?).of("state of a tool for a prompt")?;
    }
    Ok(())
}

async fn other_principal(cx: Cx) -> Verdict {
    let other = &cx.endpoint()?.ways.other;
    if other.is_empty() {
        return Err(Stop::skip("no headers of another user were given"));
    }
    let round = Round::begin(&cx, &mut Lane::open(&cx)?, "request_state").await?;
    let post = cx.post(&round.with(&cx, &*round.state))?;
    let post = other.iter().fold(post, |post, (name, value)| post.set(name, value.as_bytes()));
    is_not_complete(&cx.send(&post).await?).of("state of another user")?;
    is_complete(&cx.ask(&round.with(&cx, &*round.state)).await?).of("state of the same user")
}

fn is_not_complete(reply: &Reply) -> Verdict {
    answered(reply)?;
    expect(is_complete(reply).is_err(), "no complete result", reply.told())
}
