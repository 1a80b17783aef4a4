//! Filling in forms.

use mcp_client::types::ElicitFormParams;
use serde_json::{Map, Value, json};

/// What fits every field of a form.
pub(super) fn form(form: &ElicitFormParams) -> Value {
    let schema = serde_json::to_value(&form.requested_schema).unwrap_or_default();
    let fields = schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    fields.iter().map(|(name, field)| (name.clone(), value(field))).collect::<Map<_, _>>().into()
}

fn value(field: &Value) -> Value {
    let first = |choices: &str| Some(field.get(choices)?.get(0)?.clone());
    if let Some(default) = field.get("default") {
        return default.clone();
    }
    if let Some(choice) = first("enum") {
        return choice;
    }
    if let Some(choice) = first("oneOf") {
        return choice.get("const").cloned().unwrap_or_default();
    }
    match field.get("type").and_then(Value::as_str) {
        Some("boolean") => true.into(),
        Some("number" | "integer") => field.get("minimum").cloned().unwrap_or_else(|| 1.into()),
        Some("array") => {
            let items = field.get("items").cloned().unwrap_or_default();
            let choice = items.get("enum").and_then(|all| all.get(0)).cloned();
            let titled = || Some(items.get("anyOf")?.get(0)?.get("const")?.clone());
            json!([choice.or_else(titled)])
        }
        _ => text(field).into(),
    }
}

fn text(field: &Value) -> String {
    let length = |name: &str| field.get(name).and_then(Value::as_u64).map(|it| it as usize);
    let text = match field.get("format").and_then(Value::as_str) {
        Some("email") => "text@example.com",
        Some("uri") => "https://example.com/text",
        Some("date") => "2026-07-28",
        Some("date-time") => "2026-07-28T00:00:00Z",
        _ => "text",
    };
    let text = format!("{text:x<width$}", width = length("minLength").unwrap_or_default());
    text.chars().take(length("maxLength").unwrap_or(usize::MAX)).collect()
}
