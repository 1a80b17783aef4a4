//! Schemas: from types, with schemars' settings in one place, and what is judged by them.

#[cfg(feature = "validation")]
mod checked;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

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

/// Takes out the name of the Rust type, which tells a model nothing, and has a type that contains itself refer to a
/// definition like all others: some clients follow `#/$defs/` and nothing else.
fn tidy(mut schema: Value) -> Value {
    let Some(root) = schema.as_object_mut() else { return schema };
    let title = root.remove("title");
    let name = free_name(title.as_ref(), root.get("$defs"));
    if !refer(root, &name) {
        return schema;
    }
    let mut itself = root.clone();
    itself.remove("$defs");
    let definitions = root.entry("$defs").or_insert_with(|| Map::new().into());
    if let Some(definitions) = definitions.as_object_mut() {
        definitions.insert(name, itself.into());
    }
    schema
}

/// A name for the root among its definitions: that of its type, which may be any text and another's as well.
fn free_name(title: Option<&Value>, definitions: Option<&Value>) -> String {
    let plain = |name: &&str| name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    let title = title.and_then(Value::as_str).filter(plain);
    let mut name = title.unwrap_or("Root").to_owned();
    while definitions.is_some_and(|definitions| definitions.get(&name).is_some()) {
        name.push('_');
    }
    name
}

/// Has references to the root refer to the definition `name`; whether there are any.
fn refer(schema: &mut Map<String, Value>, name: &str) -> bool {
    let mut any = false;
    for (keyword, value) in schema {
        match (keyword.as_str(), value) {
            ("$ref", Value::String(text)) if text == "#" => {
                *text = format!("#/$defs/{name}");
                any = true;
            }
            // Values of the author's, which are no schemas whatever they look like.
            ("default" | "const" | "enum" | "examples", _) => {}
            // Names of the author's, which are no keywords whatever they are.
            ("properties" | "patternProperties" | "$defs", Value::Object(named)) => {
                for inner in named.values_mut().filter_map(Value::as_object_mut) {
                    any |= refer(inner, name);
                }
            }
            (_, Value::Object(inner)) => any |= refer(inner, name),
            (_, Value::Array(list)) => {
                for inner in list.iter_mut().filter_map(Value::as_object_mut) {
                    any |= refer(inner, name);
                }
            }
            _ => {}
        }
    }
    any
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_type_that_contains_itself_is_defined_by_its_name() {
        #[derive(JsonSchema)]
        #[expect(dead_code, reason = "only its schema matters")]
        struct Tree {
            default: Option<Box<Self>>,
            leaves: Vec<Leaf>,
        }
        #[derive(JsonSchema)]
        #[expect(dead_code, reason = "only its schema matters")]
        struct Leaf {
            tree: Box<Tree>,
        }
        for schema in [input::<Tree>(), output::<Tree>()] {
            let text = schema.to_string();
            assert!(!text.contains("\"#\""), "{text}");
            assert_eq!(schema["type"], "object");
            let tree = &schema["$defs"]["Tree"];
            assert_eq!(tree["properties"], schema["properties"]);
            assert_eq!(schema["$defs"]["Leaf"]["properties"]["tree"]["$ref"], "#/$defs/Tree");
            assert_eq!((tree.get("$defs"), tree.get("title")), (None, None));
        }
        for (title, defs, name) in [
            (json!("A"), json!({ "B": {} }), "A"),
            (json!("B"), json!({ "B": {} }), "B_"),
            (json!("a/b c"), json!({ "Root": {} }), "Root_"),
            (json!(null), json!({}), "Root"),
        ] {
            assert_eq!(free_name(Some(&title), Some(&defs)), name);
        }
    }
}
