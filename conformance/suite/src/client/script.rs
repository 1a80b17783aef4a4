//! Cases that are tried one after the other, and answers as bytes.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use serde_json::{Value, json};

use super::answer::{Part, response};
use super::{Answer, Cx, Played, Seen, good, result_of};
use crate::verdict::{Stop, Verdict, expect};
use crate::wire::json::shown;

/// A play of several cases. Each has a step of its own, and a call behind it to which nothing is wrong.
pub(super) struct Tried {
    pub(super) played: Played,
    cases: Vec<String>,
}

/// How long a case may take, in milliseconds, on a machine that has much else to do.
const CASE_MS: u64 = 10_000;

/// Has the client call a tool of each case's name. A tool `fine` is called behind each.
pub(super) async fn try_calls(
    cx: &Cx,
    cases: &[&str],
    part: impl Fn(&Seen) -> Answer + Send + Sync + 'static,
) -> Verdict<Tried> {
    try_steps(cx, cases, |case| json!({ "do": "tools/call", "params": { "name": case } }), part)
        .await
}

/// The same with the list of tools, which is asked for with each case as the cursor.
pub(super) async fn try_lists(
    cx: &Cx,
    cases: &[&str],
    part: impl Fn(&Seen) -> Answer + Send + Sync + 'static,
) -> Verdict<Tried> {
    try_steps(cx, cases, |case| json!({ "do": "tools/list", "params": { "cursor": case } }), part)
        .await
}

/// The same with any steps.
pub(super) async fn try_steps(
    cx: &Cx,
    cases: &[&str],
    step: impl Fn(&str) -> Value,
    part: impl Fn(&Seen) -> Answer + Send + Sync + 'static,
) -> Verdict<Tried> {
    let fine = super::asking::call("fine");
    let steps = cases.iter().flat_map(|case| {
        let mut step = step(case);
        if step.get("timeout_ms").is_none() {
            step["timeout_ms"] = CASE_MS.into();
        }
        [step, fine.clone()]
    });
    let played = cx.play(Value::Array(steps.collect()), part).await?;
    let cases = cases.iter().map(|case| (*case).to_owned()).collect();
    Ok(Tried { played, cases })
}

impl Tried {
    fn step(&self, case: &str) -> usize {
        2 * self.cases.iter().position(|it| it == case).unwrap_or(self.cases.len())
    }

    /// What the client told of a case.
    pub(super) fn told(&self, case: &str) -> Verdict<&Value> {
        self.played.step(self.step(case)).map_err(|stop| stop.of(case))
    }

    /// The case gave a result.
    pub(super) fn result(&self, case: &str) -> Verdict<&Value> {
        self.played.result(self.step(case)).map_err(|stop| stop.of(case))
    }

    /// The case gave an error.
    pub(super) fn error(&self, case: &str) -> Verdict<&Value> {
        self.played.error(self.step(case)).map_err(|stop| stop.of(case))
    }

    /// All cases gave results, and so did what was called behind them.
    pub(super) fn all_give_results(&self) -> Verdict {
        self.cases.iter().try_for_each(|case| self.result(case).map(drop))?;
        self.goes_on()
    }

    /// All cases came to an end, and what was called behind them gave results.
    pub(super) fn goes_on(&self) -> Verdict {
        for case in &self.cases {
            self.told(case)?;
            let behind = self.played.result(self.step(case) + 1);
            behind.map_err(|stop| stop.of(format!("the call behind {case}")))?;
        }
        self.played.ended_well()
    }

    /// The same, where a server's stream cannot be trusted any more after bytes that are no messages.
    pub(super) fn goes_on_or_warns(&self, cx: &Cx) -> Verdict {
        if cx.is_http() {
            return self.goes_on();
        }
        self.cases.iter().try_for_each(|case| self.told(case).map(drop))?;
        if let Err(Stop::Fail { expected, seen }) = self.goes_on() {
            cx.warnings.unless(false, expected, seen);
        }
        self.played.ended_well()
    }

    /// The calls or lists of a case.
    pub(super) fn requests<'t>(&'t self, case: &'t str) -> impl Iterator<Item = &'t Seen> {
        self.played.requests.iter().filter(move |seen| seen.case() == case)
    }

    /// Nobody asked twice in any case.
    pub(super) fn asks_once(&self) -> Verdict {
        self.cases.iter().try_for_each(|case| {
            let asked = self.requests(case).count();
            expect(asked == 1, format!("one request, with {case}"), asked.to_string())
        })
    }
}

impl Seen {
    /// The case that a request is about.
    pub(super) fn case(&self) -> &str {
        let cursor = self.param("cursor").as_str();
        cursor.unwrap_or_else(|| self.name())
    }
}

/// The right response.
pub(super) fn right(seen: &Seen) -> Value {
    response(seen, result_of(seen).unwrap_or_else(|| json!({ "resultType": "complete" })))
}

/// The right response, with these messages before it.
pub(super) fn after(messages: impl IntoIterator<Item = Value>, seen: &Seen) -> Answer {
    Answer::messages(messages.into_iter().chain([right(seen)]))
}

/// A notification; null for no params.
pub(super) fn notification(method: &str, params: Value) -> Value {
    let mut notification = json!({ "jsonrpc": "2.0", "method": method });
    if !params.is_null() {
        notification["params"] = params;
    }
    notification
}

/// A message as its stream carries it: an event, or a line.
pub(super) fn framed(seen: &Seen, text: impl AsRef<[u8]>) -> Vec<u8> {
    let (before, behind) =
        if seen.head.is_some() { (&b"data: "[..], &b"\n\n"[..]) } else { (&b""[..], &b"\n"[..]) };
    [before, text.as_ref(), behind].concat()
}

/// A stream of these bytes.
pub(super) fn raw(bytes: impl Into<Vec<u8>>) -> Answer {
    Answer::stream([Part::Raw(bytes.into())])
}

/// Bytes in pieces of this size. Where one ends within a character or a line's end, there is a breath behind it, lest it
/// is read together with the next.
pub(super) fn in_pieces(bytes: &[u8], size: usize) -> Vec<Part> {
    let mut breaths = 0;
    let pieces = bytes.chunks(size).map(|piece| {
        let is_delicate = piece.last().is_some_and(|it| !it.is_ascii() || b"\r\n".contains(it));
        breaths += usize::from(is_delicate);
        let breath = Part::Pause(Duration::from_millis(1));
        [
            Some(Part::Raw(piece.to_vec())),
            Some(breath).filter(|_| is_delicate && breaths <= BREATHS),
        ]
    });
    pieces.flatten().flatten().collect()
}

/// More of them would take long on a busy machine.
const BREATHS: usize = 30;

/// Half a gigabyte behind `start`, which is more than anybody should take in, and whether somebody did.
pub(super) fn endless(start: &str) -> (Vec<Part>, Arc<AtomicBool>) {
    let taken = Arc::<AtomicBool>::default();
    let parts = vec![
        Part::Raw(start.into()),
        Part::Repeat(vec![b'x'; 1 << 20], 512),
        Part::Reached(Arc::clone(&taken)),
    ];
    (parts, taken)
}

/// A server of earlier revisions alone.
pub(super) fn legacy(seen: &Seen) -> Answer {
    if seen.is_modern() {
        return if seen.head.is_some() {
            Answer::bytes("", "").status(400)
        } else {
            Answer::error(seen, -32601, "Method not found", Value::Null)
        };
    }
    if seen.method() == "initialize" {
        let result = json!({
            "protocolVersion": LEGACY, "capabilities": { "tools": {} },
            "serverInfo": { "name": "legacy", "version": "1" },
        });
        return Answer::result(seen, result);
    }
    good(seen)
}

/// A revision that knows `initialize`.
pub(super) const LEGACY: &str = "2025-11-25";

impl Seen {
    /// Whether a request is of the revision that is tested.
    pub(super) fn is_modern(&self) -> bool {
        self.meta(crate::wire::message::META_VERSION).is_string()
    }
}

/// The client speaks earlier revisions, as it showed in this play.
pub(super) fn speaks_legacy(played: &Played) -> bool {
    played.of("initialize").next().is_some()
}

/// There is no `initialize`, or none that names the revision that is tested.
pub(super) fn no_initialize(played: &Played, is_any_wrong: bool) -> Verdict {
    let wrong = played.of("initialize").find(|seen| {
        is_any_wrong || *seen.param("protocolVersion") == crate::wire::message::VERSION
    });
    let seen = wrong.map(|seen| shown(&seen.message)).unwrap_or_default();
    expect(wrong.is_none(), "no initialize", seen)
}
