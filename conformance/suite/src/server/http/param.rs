//! `Mcp-Param-*` against the arguments.

use serde_json::{Value, json};

use super::judge::{answered, mismatch, mismatch_or_plain_400, served};
use super::{base64, each};
use crate::check::{Check, server_check};
use crate::server::Cx;
use crate::verdict::{Of as _, Stop, Verdict};
use crate::wire::http::encoded;
use crate::wire::json::at;
use crate::wire::{Message, Post};

pub(in crate::server) const CHECKS: &[Check] = &[
    server_check!("server-http-param-mismatch", Http, differs),
    server_check!("server-http-param-missing", Http, missing),
    server_check!("server-http-param-absent", Http, absent),
    server_check!("server-http-param-decoded", Http, decoded),
    server_check!("server-http-param-bad-characters", Http, bad_characters),
    server_check!("server-http-param-duplicate", Http, duplicates),
    server_check!("server-http-param-integer", Http, integers),
];

/// A parameter that is mirrored, of a tool that may be called.
struct Mirrored<'a> {
    cx: &'a Cx,
    tool: &'a Value,
    path: Vec<String>,
    header: String,
    is_required: bool,
}

impl Mirrored<'_> {
    /// A call with this value, and the request that carries it, which lacks only the header of this parameter.
    fn bare(&self, value: impl Into<Value>) -> Verdict<(Message, Post)> {
        let mut arguments = Cx::arguments_of(self.tool);
        put(&mut arguments, &self.path, value.into());
        self.with(&arguments)
    }

    /// The same without a value.
    fn absent(&self) -> Verdict<(Message, Post)> {
        let mut arguments = Cx::arguments_of(self.tool);
        if let ([name], Some(members)) = (&*self.path, arguments.as_object_mut()) {
            members.remove(name);
        }
        self.with(&arguments)
    }

    fn with(&self, arguments: &Value) -> Verdict<(Message, Post)> {
        let name = at(self.tool, "/name").as_str().unwrap_or_default();
        let message = self.cx.call(name, arguments.clone());
        let mut post = self.cx.post(&message)?;
        for (path, schema, _) in properties(at(self.tool, "/inputSchema")) {
            let value = at(arguments, &pointer(&path)).clone();
            let header = at(schema, "/x-mcp-header").as_str();
            if let Some(header) = header.filter(|_| path != self.path && !value.is_null()) {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                post = post.header(&format!("Mcp-Param-{header}"), encoded(&text));
            }
        }
        Ok((message, post))
    }

    /// Sends this value under each of these headers, all of which are refused.
    async fn refuses(&self, value: impl Into<Value>, headers: &[&str]) -> Verdict {
        let value = value.into();
        let (message, post) = self.bare(value.clone())?;
        let mut variants = Vec::new();
        for text in headers {
            let name = format!("{value} in the body, {text:?} in the header");
            variants.push((name, post.clone().header(&self.header, *text)));
        }
        each(self.cx, variants, |reply| mismatch(reply, &message)).await
    }

    /// Sends this value under this header, which is taken.
    async fn takes(&self, value: impl Into<Value>, header: &str) -> Verdict {
        let value = value.into();
        let (_, post) = self.bare(value.clone())?;
        let name = format!("{value} in the body, {header:?} in the header");
        each(self.cx, [(name, post.header(&self.header, header))], served).await
    }

    /// The same, where a refusal is warned of.
    async fn should_take(&self, value: impl Into<Value>, header: &str) -> Verdict {
        if let Err(Stop::Fail { expected, seen }) = self.takes(value, header).await {
            self.cx.warnings.unless(false, expected, seen);
        }
        Ok(())
    }
}

/// All that are mirrored, of this type. Only tools that do no harm are looked at.
fn mirrored<'a>(cx: &'a Cx, kind: &str) -> Verdict<Vec<Mirrored<'a>>> {
    let mut all = Vec::new();
    for tool in &cx.offer().tools {
        let is_harmless = at(tool, "/name") == "test_custom_header"
            || at(tool, "/annotations/readOnlyHint") == true;
        for (path, schema, is_required) in properties(at(tool, "/inputSchema")) {
            let header = at(schema, "/x-mcp-header").as_str();
            if let Some(header) = header.filter(|_| is_harmless && at(schema, "/type") == kind) {
                let header = format!("Mcp-Param-{header}");
                all.push(Mirrored { cx, tool, path, header, is_required });
            }
        }
    }
    if all.is_empty() {
        let expected = format!("the server has no test_custom_header with a mirrored {kind}");
        return Err(Stop::skip(expected));
    }
    Ok(all)
}

/// The first of them, strings.
fn text(cx: &Cx) -> Verdict<Mirrored<'_>> {
    mirrored(cx, "string")?.into_iter().next().ok_or_else(|| Stop::skip("there is none"))
}

/// The properties that are reached by `properties` alone: the path of each, its schema, and whether it is required.
fn properties(schema: &Value) -> Vec<(Vec<String>, &Value, bool)> {
    let required = at(schema, "/required").as_array();
    let members = at(schema, "/properties").as_object().into_iter().flatten();
    let mut all = Vec::new();
    for (name, schema) in members {
        let is_required = required.is_some_and(|all| all.iter().any(|it| it == name));
        all.push((vec![name.clone()], schema, is_required));
        for (path, schema, inner) in properties(schema) {
            let path = [vec![name.clone()], path].concat();
            all.push((path, schema, is_required && inner));
        }
    }
    all
}

fn pointer(path: &[String]) -> String {
    path.iter().map(|name| format!("/{}", name.replace('~', "~0").replace('/', "~1"))).collect()
}

fn put(object: &mut Value, path: &[String], value: Value) {
    let [name, rest @ ..] = path else {
        *object = value;
        return;
    };
    if !object.is_object() {
        *object = json!({});
    }
    if let Some(members) = object.as_object_mut() {
        put(members.entry(name.clone()).or_insert_with(|| json!({})), rest, value);
    }
}

async fn differs(cx: Cx) -> Verdict {
    for it in mirrored(&cx, "string")? {
        it.refuses("Hello", &["hello", "Hell", "Hello2", "Hello%20", ""]).await?;
        it.takes("Hello", "Hello").await?;
        let (_, post) = it.bare("Hello")?;
        let post = post.header(&it.header, "Hello").header("Mcp-Param-X-Unknown", "1");
        each(&cx, [("a header of no parameter beside it", post)], served).await?;
    }
    for it in mirrored(&cx, "boolean").unwrap_or_default() {
        it.refuses(true, &["True", "false", "1"]).await?;
        it.takes(true, "true").await?;
    }
    Ok(())
}

async fn missing(cx: Cx) -> Verdict {
    for it in mirrored(&cx, "string")? {
        let (message, post) = it.bare("Hello")?;
        each(&cx, [("no header", post)], |reply| mismatch(reply, &message)).await?;
    }
    text(&cx)?.takes("", "").await
}

async fn absent(cx: Cx) -> Verdict {
    let mut all = mirrored(&cx, "string")?;
    for kind in ["integer", "boolean"] {
        all.extend(mirrored(&cx, kind).unwrap_or_default());
    }
    for it in all {
        let (_, without) = it.absent()?;
        let (_, null) = it.bare(Value::Null)?;
        let with = without.clone().header(&it.header, "1");
        let not_expected = |reply: &crate::wire::Reply| {
            answered(reply)?;
            let is_mismatch = reply.has_code(super::MISMATCH).is_ok();
            crate::verdict::expect(!is_mismatch, "no demand for the header", reply.told())
        };
        let what = &it.header;
        each(&cx, [(format!("no argument and no {what}"), without.clone())], |reply| {
            if it.is_required { not_expected(reply) } else { served(reply) }
        })
        .await?;
        each(&cx, [(format!("null and no {what}"), null)], not_expected).await?;
        each(&cx, [(format!("no argument, but {what}"), with)], answered).await?;
    }
    Ok(())
}

async fn decoded(cx: Cx) -> Verdict {
    let it = text(&cx)?;
    for value in ["Hello", "Hello, 世界", " padded ", "a\nb", "=?base64?SGVsbG8=?="] {
        it.takes(value, &format!("=?base64?{}?=", base64(value))).await?;
    }
    // Without the markers, or with half of them, it is what it says.
    it.takes("SGVsbG8=", "SGVsbG8=").await?;
    it.takes("=?base64?SGVsbG8=", "=?base64?SGVsbG8=").await?;
    let wrong =
        ["=?base64?SGVsbG8?=", "=?base64?SGVs!!!bG8=?=", "=?base64??=", "=?BASE64?SGVsbG8=?="];
    it.refuses("Hello", &wrong).await
}

async fn bad_characters(cx: Cx) -> Verdict {
    let it = text(&cx)?;
    for value in ["a\u{1}b", "a\u{7f}b", "w\u{f6}rld"] {
        let (message, post) = it.bare(value)?;
        let post = post.header(&it.header, value);
        let variants = [(format!("{value:?} as it is"), post)];
        match each(&cx, variants, |reply| mismatch_or_plain_400(reply, &message)).await {
            // HTTP/2 cannot carry it.
            Err(Stop::Skip(_)) => {}
            other => other?,
        }
    }
    let not_utf8 = format!("=?base64?{}?=", base64(b"\xff\xfe"));
    it.refuses("\u{fffd}\u{fffd}", &[&not_utf8]).await
}

async fn duplicates(cx: Cx) -> Verdict {
    let it = text(&cx)?;
    let (message, post) = it.bare("Hello")?;
    let (header, lower) = (&*it.header, it.header.to_ascii_lowercase());
    let two = |one: &str, first: &str, other: &str, second: &str| {
        post.clone().header(one, first).header(other, second)
    };
    let variants = [
        ("right, then wrong", two(header, "Hello", header, "other")),
        ("wrong, then right", two(header, "other", header, "Hello")),
        ("right, then wrong in lower case", two(header, "Hello", &lower, "other")),
        ("wrong, then right in lower case", two(header, "other", &lower, "Hello")),
    ];
    each(&cx, variants, |reply| mismatch(reply, &message)).await
}

async fn integers(cx: Cx) -> Verdict {
    for it in mirrored(&cx, "integer")? {
        it.takes(42, "42").await?;
        it.should_take(42, "42.0").await?;
        it.should_take(42.0, "42").await?;
        it.refuses(42, &["43", "42abc", "0x2a", ""]).await?;
        let (_, post) = it.bare(42)?;
        let free =
            ["4.2e1", "042", "+42"].map(|text| (text, post.clone().header(&it.header, text)));
        each(&cx, free, answered).await?;
        let past = it.refuses(9_007_199_254_740_992_i64, &["9007199254740993"]).await;
        if let Err(Stop::Fail { expected, seen }) = past.of("beyond the safe range") {
            cx.warnings.unless(false, expected, seen);
        }
    }
    Ok(())
}
