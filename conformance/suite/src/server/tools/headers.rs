//! What tools have repeated in headers, by `x-mcp-header` in their schemas.

use serde_json::Value;

use crate::server::Cx;
use crate::server::uri::has_secrets;
use crate::verdict::{Stop, Verdict, expect};
use crate::wire::json::{at, shown};

pub(super) async fn annotations(cx: Cx) -> Verdict {
    let mut annotated = false;
    for tool in &cx.offer().tools {
        let found = found(tool);
        annotated |= !found.is_empty();
        let name = shown(at(tool, "/name"));
        let mut names = Vec::new();
        for Annotation { path, schema, is_reachable } in found {
            let told = format!("{path}: {}", shown(schema));
            let expected = |what: &str| format!("{name}: {what}");
            expect(
                is_reachable,
                expected("a property that is reached by properties alone"),
                &*told,
            )?;
            let header = at(schema, "/x-mcp-header").as_str().unwrap_or_default();
            let is_token = !header.is_empty() && header.bytes().all(is_tchar);
            expect(is_token, expected("a token of at least one character"), &*told)?;
            let kind = at(schema, "/type").as_str().unwrap_or_default();
            let is_primitive = matches!(kind, "string" | "integer" | "boolean");
            expect(is_primitive, expected("a string, an integer or a boolean"), &*told)?;
            let header = header.to_ascii_lowercase();
            expect(!names.contains(&header), expected("each header once"), told)?;
            names.push(header);
        }
    }
    if annotated { Ok(()) } else { Err(none()) }
}

/// A guess by names; so it only warns.
pub(super) async fn no_secrets(cx: Cx) -> Verdict {
    let found = cx.offer().tools.iter().flat_map(found).collect::<Vec<_>>();
    if found.is_empty() {
        return Err(none());
    }
    for Annotation { path, schema, .. } in found {
        let name = path.rsplit('/').next().unwrap_or_default();
        let header = at(schema, "/x-mcp-header").as_str().unwrap_or_default();
        let is_clean = !has_secrets(name) && !has_secrets(header);
        cx.warnings.unless(is_clean, "no secrets in headers", path);
    }
    Ok(())
}

fn none() -> Stop {
    Stop::skip("no tool has anything repeated in headers")
}

struct Annotation<'t> {
    path: String,
    schema: &'t Value,
    /// Whether it stands at a property of the root, or of such a property.
    is_reachable: bool,
}

fn found(tool: &Value) -> Vec<Annotation<'_>> {
    let mut all = Vec::new();
    walk(at(tool, "/inputSchema"), "", true, &mut all);
    all
}

fn walk<'t>(schema: &'t Value, path: &str, is_reachable: bool, all: &mut Vec<Annotation<'t>>) {
    if let Value::Array(schemas) = schema {
        for (index, schema) in schemas.iter().enumerate() {
            walk(schema, &format!("{path}/{index}"), false, all);
        }
    }
    let Some(members) = schema.as_object() else { return };
    if members.contains_key("x-mcp-header") {
        // The root is no property.
        all.push(Annotation {
            path: path.to_owned(),
            schema,
            is_reachable: is_reachable && !path.is_empty(),
        });
    }
    for (keyword, value) in members {
        let path = format!("{path}/{keyword}");
        match &**keyword {
            "default" | "const" | "enum" | "examples" => {}
            "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas" => {
                for (name, schema) in value.as_object().into_iter().flatten() {
                    let is_reachable = is_reachable && keyword == "properties";
                    walk(schema, &format!("{path}/{name}"), is_reachable, all);
                }
            }
            _ => walk(value, &path, false, all),
        }
    }
}

fn is_tchar(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn annotations_are_found_where_they_stand() {
        let header = json!({ "type": "string", "x-mcp-header": "A" });
        let tool = json!({ "inputSchema": {
            "properties": { "a": { "properties": { "b": header } }, "x-mcp-header": { "items": header } },
            "allOf": [{ "properties": { "c": header } }],
            "default": header,
        } });
        let all = found(&tool);
        let mut paths = all.iter().map(|it| (&*it.path, it.is_reachable)).collect::<Vec<_>>();
        paths.sort();
        let expected = [
            ("/allOf/0/properties/c", false),
            ("/properties/a/properties/b", true),
            ("/properties/x-mcp-header/items", false),
        ];
        assert_eq!(paths, expected);
    }
}
