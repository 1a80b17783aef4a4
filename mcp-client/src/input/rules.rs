//! What neither side may say, whatever its types allow.

use std::collections::HashSet;

use mcp_types::{CreateMessageParams, OneOrMany, Role, Root, SamplingContent, SamplingMessage};

use crate::error::BoxError;

/// The roots name places, and none above what they name. Specification: Roots, Security Considerations.
pub(super) fn roots(roots: &[Root]) -> Result<(), BoxError> {
    match roots.iter().find(|root| !is_place(&root.uri)) {
        Some(root) => {
            Err(format!("{:?} is no file:// URI of an absolute path without . and ..", root.uri)
                .into())
        }
        None => Ok(()),
    }
}

fn is_place(uri: &str) -> bool {
    let Some((scheme, rest)) = uri.split_once("://") else { return false };
    let Some((_host, path)) = rest.split_once('/') else { return false };
    let path = path.split(['?', '#']).next().unwrap_or_default().to_ascii_lowercase();
    // Decoded only as far as it decides where the path leads; what is encoded twice names a file that looks odd.
    let path = path.replace("%2e", ".").replace("%2f", "/").replace("%5c", "\\");
    let climbs = path.split(['/', '\\']).any(|segment| matches!(segment, "." | ".."));
    scheme.eq_ignore_ascii_case("file") && !climbs && !path.contains("%00") && !path.contains('\0')
}

/// The messages are of known kinds, and uses of tools and their results belong together. Specification: Sampling,
/// Message Content Constraints.
pub(super) fn conversation(params: &CreateMessageParams) -> Result<(), BoxError> {
    let mut open = HashSet::new();
    for message in &params.messages {
        let results = results(message)?;
        if results != open {
            return Err("uses of tools and their results do not match".into());
        }
        open = uses(message)?;
    }
    if open.is_empty() { Ok(()) } else { Err("the last use of a tool has no result".into()) }
}

/// The uses whose results a message has, which is then all that it has.
fn results(message: &SamplingMessage) -> Result<HashSet<&str>, BoxError> {
    let blocks = blocks(message);
    let results = blocks.iter().filter_map(|block| match block {
        SamplingContent::ToolResult(result) => Some(&*result.tool_use_id),
        _ => None,
    });
    let results = results.collect::<HashSet<_>>();
    if !results.is_empty() && (results.len() != blocks.len() || message.role != Role::User) {
        return Err("results of tools stand beside something else".into());
    }
    Ok(results)
}

/// The ids by which a message uses tools.
fn uses(message: &SamplingMessage) -> Result<HashSet<&str>, BoxError> {
    let mut uses = HashSet::new();
    for block in blocks(message) {
        let is_new = match block {
            SamplingContent::ToolUse(tool) if message.role == Role::Assistant => {
                uses.insert(&*tool.id)
            }
            SamplingContent::ToolUse(_) => return Err("a user uses a tool".into()),
            SamplingContent::Other(_) => {
                return Err("a message has content of no known type".into());
            }
            _ => true,
        };
        if !is_new {
            return Err("two uses of tools have one id".into());
        }
    }
    Ok(uses)
}

fn blocks(message: &SamplingMessage) -> &[SamplingContent] {
    match &message.content {
        OneOrMany::One(block) => std::slice::from_ref(block),
        OneOrMany::Many(blocks) => blocks,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn places() {
        let right =
            ["file:///", "file:///a/b", "FILE:///a", "file://host/a..b/.c/%20", "file:///c:/x"];
        for uri in right {
            assert!(is_place(uri), "{uri}");
        }
        let wrong = [
            "",
            "file:",
            "file://",
            "file://host",
            "https://a.example/",
            "/a",
            "file:a",
            "file:///a/..",
            "file:///a/../b",
            "file:///a/./b",
            "file:///%2E%2e/b",
            "file:///a%2F..%2fb",
            "file:///a\\..\\b",
            "file:///a%5C..",
            "file:///a%00",
            "file:///..?x",
            "file:///..#x",
        ];
        for uri in wrong {
            assert!(!is_place(uri), "{uri}");
        }
    }

    fn holds(messages: &Value) -> bool {
        let params = json!({ "messages": messages, "maxTokens": 1 });
        conversation(&serde_json::from_value(params).unwrap()).is_ok()
    }

    #[test]
    fn uses_and_results_belong_together() {
        let text = json!({ "type": "text", "text": "t" });
        let uses = |ids: &[&str]| {
            let tool =
                |id: &&str| json!({ "type": "tool_use", "id": id, "name": "n", "input": {} });
            ids.iter().map(tool).collect::<Value>()
        };
        let results = |ids: &[&str]| {
            let result =
                |id: &&str| json!({ "type": "tool_result", "toolUseId": id, "content": [] });
            ids.iter().map(result).collect::<Value>()
        };
        let user = |content: &Value| json!({ "role": "user", "content": content });
        let model = |content: &Value| json!({ "role": "assistant", "content": content });
        let (two, back) = (uses(&["1", "2"]), results(&["2", "1"]));
        let right = [
            json!([]),
            json!([user(&text), model(&text), user(&json!([text, text]))]),
            json!([user(&text), model(&two), user(&back)]),
            json!([
                model(&uses(&["1"])),
                user(&results(&["1"])[0]),
                model(&uses(&["1"])),
                user(&results(&["1"]))
            ]),
        ];
        for messages in right {
            assert!(holds(&messages), "{messages}");
        }
        let mixed = json!([text, results(&["1"])[0]]);
        let wrong = [
            json!([model(&two), user(&mixed)]),
            json!([model(&two), user(&results(&["1"]))]),
            json!([model(&two), user(&text)]),
            json!([model(&two)]),
            json!([user(&back)]),
            json!([model(&two), model(&back)]),
            json!([user(&two), user(&back)]),
            json!([model(&uses(&["1", "1"])), user(&results(&["1"]))]),
            json!([model(&uses(&["1"])), user(&results(&["1", "1"]))]),
            json!([user(&json!({ "type": "scent" }))]),
        ];
        for messages in wrong {
            assert!(!holds(&messages), "{messages}");
        }
    }
}
