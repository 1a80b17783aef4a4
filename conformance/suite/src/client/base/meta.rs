//! `_meta` of requests.

use serde_json::Value;

use super::super::schema::everything;
use super::super::{Cx, Seen};
use super::rpc::all_sent;
use crate::check::{Check, client_check};
use crate::verdict::{Stop, Verdict, expect};
use crate::wire::json::{at, shown};
use crate::wire::message::{META_CAPABILITIES, META_INFO, META_VERSION};

pub(in super::super) const CHECKS: &[Check] = &[
    client_check!("client-meta-required-fields", Both, required_fields),
    client_check!("client-meta-client-info", Both, client_info),
    client_check!("client-meta-key-names", Both, key_names).last(),
    client_check!("client-meta-trace-format", Both, trace_format).last(),
    client_check!("client-extension-names", Both, extension_names).last(),
];

async fn required_fields(cx: Cx) -> Verdict {
    for seen in requests(&cx).await? {
        let told = || shown(&seen.message);
        expect(seen.meta(META_VERSION).is_string(), format!("{META_VERSION}, a text"), told())?;
        let declared = seen.meta(META_CAPABILITIES).as_object();
        let is_right = declared.is_some_and(|all| all.values().all(Value::is_object));
        expect(is_right, format!("{META_CAPABILITIES}, an object of objects"), told())?;
    }
    Ok(())
}

async fn client_info(cx: Cx) -> Verdict {
    for seen in requests(&cx).await? {
        let info = seen.meta(META_INFO);
        let is_told = ["/name", "/version"].iter().all(|member| at(info, member).is_string());
        let expected = format!("{META_INFO} with name and version");
        expect(is_told, expected, shown(&seen.message))?;
    }
    Ok(())
}

/// The requests of a play of everything.
async fn requests(cx: &Cx) -> Verdict<Vec<Seen>> {
    let played = everything(cx).await?;
    played.first("tools/call")?;
    Ok(played.requests.into_iter().filter(|seen| seen.message.get("id").is_some()).collect())
}

async fn key_names(cx: Cx) -> Verdict {
    let (_, all) = all_sent(&cx).await?;
    for message in &all {
        let mut keys = Vec::new();
        collect_keys(message, &mut keys);
        for key in keys {
            expect(is_key(key), "keys of _meta as the key name format has them", key)?;
        }
    }
    Ok(())
}

/// The keys of every `_meta`, at any depth; those of arguments are the caller's.
fn collect_keys<'v>(value: &'v Value, keys: &mut Vec<&'v str>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members.iter().filter(|(name, _)| *name != "arguments") {
                if name == "_meta" {
                    keys.extend(member.as_object().into_iter().flatten().map(|(key, _)| &**key));
                }
                collect_keys(member, keys);
            }
        }
        Value::Array(entries) => entries.iter().for_each(|entry| collect_keys(entry, keys)),
        _ => {}
    }
}

/// Specification: Overview, `_meta`, the key name format.
fn is_key(key: &str) -> bool {
    let (prefix, name) = match key.rsplit_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    let is_end = |it: Option<char>| it.is_some_and(|it| it.is_ascii_alphanumeric());
    let is_label = |label: &str| {
        label.starts_with(|it: char| it.is_ascii_alphabetic())
            && is_end(label.chars().last())
            && label.chars().all(|it| it.is_ascii_alphanumeric() || it == '-')
    };
    let is_name = name.is_empty()
        || is_end(name.chars().next())
            && is_end(name.chars().last())
            && name.chars().all(|it| it.is_ascii_alphanumeric() || "-_.".contains(it));
    prefix.is_none_or(|prefix| prefix.split('.').all(is_label)) && is_name
}

async fn trace_format(cx: Cx) -> Verdict {
    let (_, all) = all_sent(&cx).await?;
    let mut traces = 0;
    for meta in all.iter().map(|message| at(message, "/params/_meta")) {
        for (key, is_right) in TRACE {
            let Some(value) = meta.get(*key) else { continue };
            traces += 1;
            let is_right = value.as_str().is_some_and(is_right);
            expect(is_right, format!("a {key} in the format of W3C"), shown(value))?;
        }
    }
    if traces == 0 {
        return Err(Stop::skip("the client sends no trace"));
    }
    Ok(())
}

type IsRight = fn(&str) -> bool;
const TRACE: &[(&str, IsRight)] =
    &[("traceparent", is_traceparent), ("tracestate", is_tracestate), ("baggage", is_baggage)];

fn is_traceparent(text: &str) -> bool {
    let parts = text.split('-').collect::<Vec<_>>();
    let is_hex = |part: &str| part.bytes().all(|it| matches!(it, b'0'..=b'9' | b'a'..=b'f'));
    let has_any = |part: &str| part.bytes().any(|it| it != b'0');
    matches!(*parts, ["00", trace, parent, flags]
        if (trace.len(), parent.len(), flags.len()) == (32, 16, 2)
            && is_hex(trace) && is_hex(parent) && is_hex(flags)
            && has_any(trace) && has_any(parent))
}

fn is_tracestate(text: &str) -> bool {
    text.split(',').count() <= 32 && text.split(',').all(|it| it.trim().is_empty() || is_pair(it))
}

fn is_baggage(text: &str) -> bool {
    text.split(',').all(|it| is_pair(it.split(';').next().unwrap_or_default()))
}

fn is_pair(text: &str) -> bool {
    text.split_once('=').is_some_and(|(key, _)| !key.trim().is_empty() && text.is_ascii())
}

async fn extension_names(cx: Cx) -> Verdict {
    let (_, all) = all_sent(&cx).await?;
    let mut extensions = 0;
    for message in &all {
        let declared = at(message, "/params/_meta").get(META_CAPABILITIES);
        let declared = declared.and_then(|it| it.get("extensions")?.as_object());
        for (name, settings) in declared.into_iter().flatten() {
            extensions += 1;
            let is_named = name.split_once('/').is_some_and(|(_, rest)| !rest.is_empty());
            expect(is_named && is_key(name), "extensions named PREFIX/NAME", name)?;
            expect(settings.is_object(), format!("an object for {name}"), shown(settings))?;
        }
    }
    if extensions == 0 {
        return Err(Stop::skip("the client declares no extension"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_names_as_the_format_has_them() {
        for key in
            ["progressToken", "io.modelcontextprotocol/x", "a.b-c/d_e.f-1", "com.example/", "x"]
        {
            assert!(is_key(key), "{key}");
        }
        for key in ["/x", "1a/x", "a-/x", "a..b/x", "a/b/c", "-x", "x_", "a b", "ä", "a/x y"] {
            assert!(!is_key(key), "{key}");
        }
    }

    #[test]
    fn traces() {
        let right = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01";
        assert!(is_traceparent(right) && is_tracestate("a=1,b=2") && is_baggage("a=1;p=2, b=3"));
        let none = format!("00-{}-00f067aa0ba902b7-01", "0".repeat(32));
        for wrong in [
            "",
            &none,
            &right.to_uppercase(),
            right.get(1..).unwrap_or_default(),
            &format!("{right}-1"),
        ] {
            assert!(!is_traceparent(wrong), "{wrong}");
        }
        assert!(!is_tracestate(&"a=1,".repeat(33)) && !is_baggage("a"));
    }
}
