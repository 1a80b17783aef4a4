//! Roots: where a server that asks for them may not get any.

use serde_json::json;

use super::Cx;
use super::rounds::{self, Round, first_rounds, is_refusal};
use crate::check::{Check, server_check};
use crate::verdict::{Stop, Verdict, expect};
use crate::wire::json::at;

pub(super) const CHECKS: &[Check] = &[
    server_check!("server-roots-capability", Both, capability),
    server_check!("server-roots-gone", Both, gone),
];

async fn capability(cx: Cx) -> Verdict {
    let asks =
        ["test_input_required_result_list_roots", "test_input_required_result_multiple_inputs"];
    if asks.iter().all(|tool| cx.tool(tool).is_err()) {
        return Err(Stop::skip(format!("the server has neither of {asks:?}")));
    }
    for capabilities in [json!({}), json!({ "elicitation": {}, "sampling": {} })] {
        for (by, reply) in first_rounds(&cx, &capabilities).await? {
            let questions = rounds::questions_of(by, &reply);
            let asks_roots = questions.iter().any(|question| question.method == "roots/list");
            let expected = format!("{by}: no roots/list of a client with {capabilities}");
            expect(!asks_roots, expected, reply.told())?;
            if asks.first() == Some(&by) && reply.error().is_ok() {
                rounds::lacks(&reply, "/roots").map_err(|stop| stop.of(by))?;
            }
        }
    }
    Ok(())
}

async fn gone(cx: Cx) -> Verdict {
    let answers = [
        (json!({ "roots": [] }), true),
        (json!({ "roots": [{ "uri": "file:///no/such/directory/9f3c" }] }), true),
        (json!({}), false),
    ];
    let mut round = Round::of_tool(&cx, "test_input_required_result_list_roots").await?;
    for (answer, is_good) in answers {
        let retry = round.retry(&cx, round.all(&answer));
        let reply = round.session.orderly(&retry).await?;
        if is_good {
            let code = at(reply.response()?, "/error/code");
            let expected = format!("any result, or an error that is not -32603, for {answer}");
            expect(*code != super::INTERNAL, expected, reply.told())?;
        } else {
            is_refusal(&reply)?;
        }
        round = round.anew(&cx).await?;
    }
    Ok(())
}
