//! Schemas: from types, with schemars' settings in one place, and what is judged by them.

#[cfg(feature = "validation")]
mod checked;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

/// The schema of what a handler decodes.
pub(crate) fn input<T: JsonSchema>() -> Value {
    let schema = settings().for_deserialize().into_generator().into_root_schema_for::<T>();
    mirrored(tidy(schema.into()))
}

/// The schema of what a handler returns.
pub(crate) fn output<T: JsonSchema>() -> Value {
    tidy(settings().for_serialize().into_generator().into_root_schema_for::<T>().into())
}

/// The schema of what a user fills in, without references: forms have none.
#[cfg(feature = "asking")]
pub(crate) fn inline<T: JsonSchema>() -> Value {
    let mut settings = settings().for_deserialize();
    settings.inline_subschemas = true;
    settings.into_generator().into_root_schema_for::<T>().into()
}

/// JSON Schema 2020-12, which is what a schema without `$schema` means in this protocol.
fn settings() -> SchemaSettings {
    let mut settings = SchemaSettings::draft2020_12();
    settings.meta_schema = None;
    settings
}

/// Takes out the name of the Rust type, which tells a model nothing.
fn tidy(mut schema: Value) -> Value {
    if let Some(root) = schema.as_object_mut() {
        root.remove("title");
    }
    schema
}

/// Gives parameters that are mirrored into headers the one type that they must have: an optional one may be
/// left out and need not be `null` as well. Specification: Streamable HTTP, Schema Extension.
fn mirrored(mut schema: Value) -> Value {
    let required = schema.get("required").cloned().unwrap_or_default();
    let is_required = |name: &str| {
        required.as_array().is_some_and(|required| required.iter().any(|key| key == name))
    };
    let Some(Value::Object(properties)) = schema.get_mut("properties") else { return schema };
    for (name, property) in properties {
        *property = mirrored(property.take());
        let Some(members) = property.as_object_mut() else { continue };
        if is_required(name) || !members.contains_key("x-mcp-header") {
            continue;
        }
        if let Some(Value::Array(types)) = members.get_mut("type") {
            types.retain(|kind| kind != "null");
            if let [kind] = &mut **types {
                let kind = kind.take();
                members.insert("type".to_owned(), kind);
            }
        }
        members.retain(|keyword, value| keyword != "default" || !value.is_null());
    }
    schema
}

/// The schema of a tool without arguments.
pub(crate) fn nothing() -> Value {
    serde_json::json!({ "type": "object", "additionalProperties": false })
}
