//! Schemas from types: schemars' settings in one place.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

/// The schema of what a handler decodes.
pub(crate) fn input<T: JsonSchema>() -> Value {
    tidy(settings().for_deserialize().into_generator().into_root_schema_for::<T>().into())
}

/// The schema of what a handler returns.
pub(crate) fn output<T: JsonSchema>() -> Value {
    tidy(settings().for_serialize().into_generator().into_root_schema_for::<T>().into())
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

/// The schema of a tool without arguments.
pub(crate) fn nothing() -> Value {
    serde_json::json!({ "type": "object", "additionalProperties": false })
}
