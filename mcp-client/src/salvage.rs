//! Lists with broken entries: one that cannot be read must not cost the others.

use std::fmt;

use mcp_transport::json::Object;
use mcp_types::{Method, Prompt, Resource, ResourceTemplate, Tool};
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

/// A page of the list that `method` gives, without the entries that cannot be decoded; the others keep their order.
/// `None` when there are none such. `report` is told the position of each that is left out, and why it is.
pub(crate) fn salvage(
    method: &str,
    page: &str,
    report: &dyn Fn(usize, &dyn fmt::Display),
) -> Option<String> {
    let (list, check) = entries_of(Method::from_name(method)?)?;
    let page = Object::parse(page).ok()?;
    let entries: Vec<&RawValue> = serde_json::from_str(page.get(list)?).ok()?;
    let kept = entries.iter().enumerate().filter_map(|(nth, entry)| match check(entry.get()) {
        Ok(()) => Some(entry.get()),
        Err(error) => {
            report(nth, &error);
            None
        }
    });
    let kept: Vec<&str> = kept.collect();
    if kept.len() == entries.len() {
        return None;
    }
    let kept = format!("[{}]", kept.join(","));
    let members = page.iter().map(|(key, value)| {
        let value = if key == list { kept.as_str() } else { value };
        format!("{}:{value}", serde_json::Value::from(key))
    });
    Some(format!("{{{}}}", members.collect::<Vec<_>>().join(",")))
}

/// The member with the entries of a list, and what tells whether one can be read.
fn entries_of(method: Method) -> Option<(&'static str, Check)> {
    Some(match method {
        Method::ListTools => ("tools", check::<Tool>),
        Method::ListPrompts => ("prompts", check::<Prompt>),
        Method::ListResources => ("resources", check::<Resource>),
        Method::ListResourceTemplates => ("resourceTemplates", check::<ResourceTemplate>),
        _ => return None,
    })
}

type Check = fn(&str) -> serde_json::Result<()>;

fn check<T: DeserializeOwned>(entry: &str) -> serde_json::Result<()> {
    serde_json::from_str::<T>(entry).map(drop)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    fn mend(method: &str, page: &str) -> (Option<String>, Vec<usize>) {
        let dropped = RefCell::new(Vec::new());
        let mended = salvage(method, page, &|nth, _| dropped.borrow_mut().push(nth));
        (mended, dropped.into_inner())
    }

    #[test]
    fn the_rest_of_the_page_stays() {
        let page = r#"{"\u0061":{ "n": 1.50 },"prompts":[{"name":"a"},7,{"name":"b"},{}],"nextCursor":"c"}"#;
        let (mended, dropped) = mend("prompts/list", page);
        let whole = r#"{"a":{ "n": 1.50 },"prompts":[{"name":"a"},{"name":"b"}],"nextCursor":"c"}"#;
        assert_eq!((mended.as_deref(), &*dropped), (Some(whole), &[1, 3][..]));
        assert_eq!(mend("prompts/list", r#"{"prompts":[null]}"#).0.unwrap(), r#"{"prompts":[]}"#);
    }

    #[test]
    fn what_is_no_list_is_not_touched() {
        for (method, page) in [
            ("prompts/list", "{}"),
            ("prompts/list", r#"{"prompts":{}}"#),
            ("prompts/list", r#"{"prompts":[{"name":"a"}],"nextCursor":7}"#),
            ("prompts/list", "[]"),
            ("tools/list", r#"{"prompts":[7]}"#),
            ("tools/call", r#"{"tools":[7]}"#),
            ("x", r#"{"tools":[7]}"#),
        ] {
            assert_eq!(mend(method, page), (None, vec![]), "{method} {page}");
        }
    }
}
