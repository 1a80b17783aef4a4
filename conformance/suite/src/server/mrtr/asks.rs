//! What the server asks for, and when.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Value, json};

use super::{PREFIX, able, answers, asks, first, is_complete, retry};
use crate::check::{Check, server_check};
use crate::server::Cx;
use crate::server::meta::capability::lacks;
use crate::server::raw::alive;
use crate::server::rpc::code::plain_requests;
use crate::server::talk::Lane;
use crate::verdict::{Of as _, Stop, Verdict, expect};
use crate::wire::json::{at, cut, shown};
use crate::wire::{Message, Reply};

pub(in crate::server) const CHECKS: &[Check] = &[
    server_check!("server-mrtr-asks-in-result", Both, in_result),
    server_check!("server-mrtr-result-shape", Both, shape).last(),
    server_check!("server-mrtr-only-supported-methods", Both, only_supported),
    server_check!("server-mrtr-declared-only", Both, declared_only),
    server_check!("server-mrtr-abandoned", Both, abandoned).alone(),
];

async fn in_result(cx: Cx) -> Verdict {
    let call = first(&cx, "elicitation")?;
    let mut lane = Lane::open(&cx)?;
    let reply = lane.ask(&call).await?;
    let result = asks(&reply)?;
    let request = at(result, "/inputRequests/user_name");
    let is_form = at(request, "/method") == "elicitation/create";
    expect(is_form, "elicitation/create under user_name", shown(result))?;
    let given = json!({ "user_name": { "action": "accept", "content": { "name": "Ada" } } });
    let reply = lane.ask(&retry(&cx, &call, result, given)).await?;
    is_complete(&reply)?;
    let text = at(reply.result()?, "/content").to_string();
    expect(text.contains("Ada"), "a result that has the name", reply.told())
}

/// Every call of a fixture that asks.
fn fixtures(cx: &Cx) -> Vec<Message> {
    let is_fixture =
        |it: &&Value| at(it, "/name").as_str().is_some_and(|it| it.starts_with(PREFIX));
    let name = |it: &Value| at(it, "/name").as_str().unwrap_or_default().to_owned();
    let tools = cx.offer().tools.iter().filter(is_fixture);
    let tools = tools.map(|it| cx.call(&name(it), json!({})));
    let prompts = cx.offer().prompts.iter().filter(is_fixture);
    let prompts = prompts.map(|it| cx.request("prompts/get").param("name", name(it)));
    tools.chain(prompts).map(|call| call.capabilities(able())).collect()
}

async fn shape(cx: Cx) -> Verdict {
    for call in fixtures(&cx) {
        let what = shown(call.get("name").unwrap_or(&Value::Null));
        for text in texts(&cx, &call).await.of(&what)? {
            serde_json::from_str::<NoKeyTwice>(&text)
                .map_err(|error| Stop::fail(format!("{what}: no key twice"), error.to_string()))?;
            let message = serde_json::from_str::<Value>(&text).unwrap_or_default();
            is_well_formed(at(&message, "/result")).of(&what)?;
        }
    }
    let mut seen = false;
    for noted in cx.record.all() {
        let result = at(&noted.message, "/result");
        seen |= *at(result, "/resultType") == "input_required";
        is_well_formed(result)?;
    }
    if seen { Ok(()) } else { Err(Stop::skip("the server has asked for nothing")) }
}

/// The texts of all messages that answer a request.
async fn texts(cx: &Cx, call: &Message) -> Verdict<Vec<String>> {
    if cx.is_http() {
        let reply = cx.ask(call).await?;
        let whole = String::from_utf8_lossy(&reply.body).into_owned();
        let events = reply.events.into_iter().map(|event| event.data);
        return Ok(events.chain(Some(whole).filter(|whole| !whole.is_empty())).collect());
    }
    let mut process = cx.process()?;
    process.send_line(&call.text()).await?;
    let mut all = Vec::new();
    while let Some(line) = process.line().await? {
        let message = serde_json::from_str::<Value>(&line).unwrap_or_default();
        let is_response = at(&message, "/id") == call.id();
        all.push(line);
        if is_response {
            break;
        }
    }
    Ok(all)
}

fn is_well_formed(result: &Value) -> Verdict {
    if *at(result, "/resultType") != "input_required" {
        return Ok(());
    }
    let (requests, state) = (result.get("inputRequests"), result.get("requestState"));
    let seen = || shown(result);
    expect(state.is_none_or(Value::is_string), "requestState, a string", seen())?;
    expect(requests.is_some() || state.is_some(), "inputRequests or requestState", seen())?;
    let Some(requests) = requests else { return Ok(()) };
    let Some(requests) = requests.as_object().filter(|it| !it.is_empty() || state.is_some()) else {
        return expect(false, "inputRequests, an object with members", seen());
    };
    for request in requests.values() {
        let method = at(request, "/method").as_str().unwrap_or_default();
        let is_known =
            ["elicitation/create", "sampling/createMessage", "roots/list"].contains(&method);
        expect(is_known, "requests of one of the three kinds", seen())?;
        let params = request.get("params");
        let has_params = params.is_some_and(Value::is_object);
        expect(has_params || params.is_none() && method == "roots/list", "params", seen())?;
        expect(request.get("id").is_none(), "requests without id", seen())?;
    }
    Ok(())
}

/// Any JSON in which no object has a key twice.
struct NoKeyTwice;

impl<'de> Deserialize<'de> for NoKeyTwice {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Self)
    }
}

impl<'de> Visitor<'de> for NoKeyTwice {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON without a key twice")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self, A::Error> {
        let mut seen = HashSet::new();
        while let Some((key, _)) = map.next_entry::<String, Self>()? {
            if !seen.insert(key.clone()) {
                return Err(serde::de::Error::custom(format!("{:?} stands twice", cut(&key))));
            }
        }
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self, A::Error> {
        while seq.next_element::<Self>()?.is_some() {}
        Ok(self)
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(from).map(|_| self)
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }
}

async fn only_supported(cx: Cx) -> Verdict {
    let mut requests = plain_requests(&cx);
    requests.retain(|request| request.method() != "tools/call");
    if let (Ok(()), Some(prompt)) = (cx.needs("/completions"), cx.offer().prompts.first()) {
        let reference = json!({ "type": "ref/prompt", "name": at(prompt, "/name") });
        let argument = json!({ "name": at(prompt, "/arguments/0/name"), "value": "" });
        let complete = cx.request("completion/complete").param("ref", reference);
        requests.push(complete.param("argument", argument));
    }
    for request in requests {
        let stray = request.clone().param("inputResponses", json!({})).param("requestState", "x");
        for request in [request, stray] {
            let method = request.method();
            let reply = cx.ask(&request).await.of(method)?;
            let asks = reply.result().is_ok_and(|it| *at(it, "/resultType") == "input_required");
            expect(!asks, format!("{method}: no question back"), reply.told())?;
        }
    }
    Ok(())
}

async fn declared_only(cx: Cx) -> Verdict {
    let names = ["capabilities", "elicitation", "sampling", "list_roots", "multiple_inputs"];
    let calls = names.iter().filter_map(|name| first(&cx, name).ok()).collect::<Vec<_>>();
    if calls.is_empty() {
        return Err(Stop::skip(format!("the server has no tool {PREFIX}...")));
    }
    let sets = [
        json!({ "elicitation": { "form": {} } }),
        json!({ "sampling": {} }),
        json!({ "roots": {} }),
        json!({}),
        json!({ "elicitation": { "url": {} } }),
    ];
    for call in &calls {
        for declared in &sets {
            let what = format!("{} with {declared}", shown(call.get("name").unwrap_or(declared)));
            let reply = cx.ask(&call.clone().capabilities(declared.clone())).await.of(&what)?;
            asks_within(&reply, declared).of(what)?;
        }
    }
    Ok(())
}

fn asks_within(reply: &Reply, declared: &Value) -> Verdict {
    let Ok(result) = reply.result() else {
        let code = at(reply.error()?, "/data/requiredCapabilities").as_object();
        let lacking = code.and_then(|all| all.keys().next()).cloned().unwrap_or_default();
        return lacks(reply, &lacking);
    };
    let requests = at(result, "/inputRequests").as_object();
    for request in requests.into_iter().flat_map(|all| all.values()) {
        let needed = match at(request, "/method").as_str() {
            Some("elicitation/create") if *at(request, "/params/mode") == "url" => {
                "/elicitation/url"
            }
            Some("elicitation/create") => "/elicitation/form",
            Some("sampling/createMessage") => "/sampling",
            _ => "/roots",
        };
        let is_declared = declared.pointer(needed).is_some();
        expect(is_declared, "requests of kinds that were declared", reply.told())?;
    }
    Ok(())
}

async fn abandoned(cx: Cx) -> Verdict {
    let call = first(&cx, "multi_round")?;
    let again = || call.clone().with("id", cx.request("").id().clone());
    let mut lane = Lane::open(&cx)?;
    for _ in 0..ABANDONED {
        asks(&lane.ask(&again()).await?)?;
    }
    let begun = lane.ask(&again()).await?;
    let begun = asks(&begun)?.clone();
    let mut result = begun.clone();
    for _ in 0..ROUNDS {
        let reply = lane.ask(&retry(&cx, &call, &result, answers(&result))).await?;
        result = reply.result()?.clone();
        if *at(&result, "/resultType") == "complete" {
            break;
        }
    }
    expect(*at(&result, "/resultType") == "complete", "an end of the rounds", shown(&result))?;
    for _ in 0..2 {
        lane.ask(&retry(&cx, &call, &begun, answers(&begun))).await?.response()?;
    }
    alive(&cx).await
}

/// First rounds that nobody takes up.
const ABANDONED: usize = 200;
/// Rounds after which it has to end.
const ROUNDS: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_stand_twice() {
        let right = r#"[null, {"a": {"b": [1.5, -1, "x", true]}, "b": {"a": 1}}]"#;
        assert!(serde_json::from_str::<NoKeyTwice>(right).is_ok());
        for wrong in [r#"{"a":1,"a":1}"#, r#"[{"x":{"a":1,"\u0061":2}}]"#] {
            assert!(serde_json::from_str::<NoKeyTwice>(wrong).is_err(), "{wrong}");
        }
    }
}
