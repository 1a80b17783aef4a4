//! Progress, asked for and not.

use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};

use super::asking::call;
use super::base::at_once;
use super::script::{after, framed, notification, raw, right, try_steps};
use super::{Cx, Seen, good};
use crate::check::{Check, client_check};
use crate::verdict::{Stop, Verdict, expect};
use crate::wire::json::{at, shown};

pub(super) const CHECKS: &[Check] = &[
    client_check!("client-progress-token", Both, token),
    client_check!("client-progress-foreign-token", Both, foreign_token),
    client_check!("client-progress-flood", Both, flood).alone(),
];

async fn token(cx: Cx) -> Verdict {
    let played = at_once(&cx).await?;
    let tokens = played.of("tools/call").map(|seen| seen.meta("progressToken"));
    let tokens = tokens.filter(|token| !token.is_null()).collect::<Vec<_>>();
    if tokens.is_empty() {
        return Err(Stop::skip("the client asks for no progress"));
    }
    let told = tokens.iter().map(|token| shown(token)).collect::<Vec<_>>().join(", ");
    let is_whole = |token: &&&Value| token.is_string() || token.is_i64() || token.is_u64();
    expect(tokens.iter().all(|it| is_whole(&it)), "texts or integers as tokens", &told)?;
    let is_new =
        |(index, token): (usize, &&Value)| !tokens.iter().take(index).any(|it| it == token);
    expect(tokens.iter().enumerate().all(is_new), "a token of its own for each call", told)
}

/// The step of a call that asks for progress.
fn progressing(tool: &str) -> Value {
    let mut step = call(tool);
    step["progress"] = true.into();
    step
}

fn progress(token: &Value, progress: impl Into<Value>, message: &str) -> Value {
    let params = json!({ "progressToken": token, "progress": progress.into(), "message": message });
    notification("notifications/progress", params)
}

async fn foreign_token(cx: Cx) -> Verdict {
    const FOREIGN: &str = "of nobody's call";
    let finished = Mutex::new(Value::Null);
    let part = move |seen: &Seen| {
        if seen.method() != "tools/call" {
            return good(seen);
        }
        let token = seen.meta("progressToken").clone();
        let mut finished = finished.lock().unwrap_or_else(PoisonError::into_inner);
        let earlier = std::mem::replace(&mut *finished, token.clone());
        let other_type = match &token {
            Value::String(text) => text.parse::<i64>().unwrap_or(7).into(),
            number => Value::from(number.to_string()),
        };
        let mut none = progress(&token, 1, FOREIGN);
        if let Some(params) = none.get_mut("params").and_then(Value::as_object_mut) {
            params.remove("progressToken");
        }
        let before = [
            progress(&"never-given".into(), 1, FOREIGN),
            progress(&other_type, 1, FOREIGN),
            progress(&earlier, 1, FOREIGN),
            none,
            progress(&token, "x", "no number"),
            progress(&token, 5, "own"),
            progress(&token, 3, "falling"),
        ];
        after(before, seen)
    };
    let tried = try_steps(&cx, &["first", "second"], progressing, part).await?;
    tried.all_give_results()?;
    for case in ["first", "second"] {
        let heard = shown(at(tried.told(case)?, "/progress"));
        cx.warnings.unless(!heard.contains(FOREIGN), "progress of the call alone", heard);
    }
    Ok(())
}

async fn flood(cx: Cx) -> Verdict {
    let tried = try_steps(
        &cx,
        &["flood"],
        |tool| {
            let mut step = progressing(tool);
            step["timeout_ms"] = 60_000.into();
            step
        },
        |seen| match seen.case() {
            "flood" => {
                let token = seen.meta("progressToken");
                let events = (0..100_000).map(|n| framed(seen, progress(token, n, "").to_string()));
                let mut stream = events.collect::<Vec<_>>().concat();
                stream.extend(framed(seen, right(seen).to_string()));
                raw(stream)
            }
            _ => good(seen),
        },
    );
    tried.await?.all_give_results()
}
