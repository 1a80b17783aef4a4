//! From a type to the form that asks for it.

use mcp_types::{ElicitationSchema, JsonMap, PrimitiveSchema, RawJson};
use schemars::JsonSchema;
use serde_json::{Map, Value};

use crate::integers::as_integer;

/// Why a type is no form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{type_name} is no form: {why}")]
pub struct InvalidForm {
    type_name: &'static str,
    why: String,
}

/// Checks that `T` can be asked for by a form: for a test, or for the start of a program.
///
/// ```
/// use schemars::JsonSchema;
///
/// #[derive(JsonSchema)]
/// struct Flat { name: String, age: Option<u8> }
///
/// #[derive(JsonSchema)]
/// struct Nested { flat: Flat }
///
/// assert!(mcp_server::ask::assert_form::<Flat>().is_ok());
/// assert!(mcp_server::ask::assert_form::<Nested>().is_err());
/// ```
///
/// # Errors
/// Which field cannot be one of a form, and why.
pub fn assert_form<T: JsonSchema>() -> Result<(), InvalidForm> {
    schema::<T>().map(drop)
}

/// The form that asks for a `T`.
pub(super) fn schema<T: JsonSchema>() -> Result<ElicitationSchema, InvalidForm> {
    let invalid = |why| InvalidForm { type_name: std::any::type_name::<T>(), why };
    form(crate::schema::inline::<T>()).map_err(invalid)
}

/// Writes the integers of a form as such.
pub(super) fn write_integers(schema: &ElicitationSchema, content: &mut JsonMap) {
    for (name, field) in schema.properties.iter() {
        let PrimitiveSchema::Integer(_) = field else { continue };
        let integer = content.get(name).and_then(|value| as_integer(value.get()));
        if let Some(integer) = integer.and_then(|text| RawJson::from_text(text).ok()) {
            content.insert(name, integer);
        }
    }
}

// Not generic, so compiled once.
fn form(schema: Value) -> Result<ElicitationSchema, String> {
    let Value::Object(mut root) = schema else { return Err("it has no schema".to_owned()) };
    let is_object = root.get("type").is_some_and(|kind| kind == "object");
    let properties = match root.remove("properties") {
        Some(Value::Object(properties)) => properties,
        // A struct without fields asks for nothing but consent. Otherwise this is a map.
        None if is_object && root.get("additionalProperties").is_none_or(|more| more == false) => {
            Map::new()
        }
        _ => return Err("it is no struct with named fields".to_owned()),
    };
    // Otherwise the form would have been without the fields of all variants, and no answer would ever fit.
    if ["oneOf", "anyOf", "allOf"].iter().any(|kind| root.contains_key(*kind)) {
        return Err(
            "it has other fields from case to case: an enum with data is flattened into it"
                .to_owned(),
        );
    }
    let mut form = ElicitationSchema { required: Some(Vec::new()), ..ElicitationSchema::new() };
    for (name, property) in properties {
        let property = field(property).map_err(|why| format!("field {name:?} {why}"))?;
        form.properties.insert(name, property);
    }
    if let Some(required) = root.remove("required") {
        form.required = serde_json::from_value(required).map_err(|error| error.to_string())?;
    }
    Ok(form)
}

/// Brings a field's schema into the few forms that the specification allows.
fn field(property: Value) -> Result<PrimitiveSchema, String> {
    let Value::Object(mut property) = property else {
        return Err("can be anything".to_owned());
    };
    without_null(&mut property);
    titled(&mut property);
    if let Some(Value::Object(items)) = property.get_mut("items") {
        titled(items);
        if let Some(options) = items.remove("oneOf") {
            items.insert("anyOf".to_owned(), options);
        }
    }
    let text = property.get("type").and_then(Value::as_str) == Some("string");
    let formats = ["email", "uri", "date", "date-time"];
    if !text
        || !property.get("format").and_then(Value::as_str).is_some_and(|f| formats.contains(&f))
    {
        property.remove("format");
    }
    match property.get("type").and_then(Value::as_str) {
        Some("string" | "number" | "integer" | "boolean" | "array") => {
            let list = property.get("type").is_some_and(|kind| kind == "array");
            serde_json::from_value(Value::Object(property)).map_err(|error| match list {
                true => "is a list of something else than the variants of an enum".to_owned(),
                false => error.to_string(),
            })
        }
        Some(kind) => Err(format!("is of type {kind}, which no form has")),
        None => Err("has no single type".to_owned()),
    }
}

/// What may be left out is not required; that it may be null as well is nothing a form can say.
fn without_null(property: &mut Map<String, Value>) {
    if let Some(Value::Array(kinds)) = property.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        if let [kind] = &**kinds {
            let kind = kind.clone();
            property.insert("type".to_owned(), kind);
        }
    }
    if let Some(Value::Array(values)) = property.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    let Some(Value::Array(mut alternatives)) = property.remove("anyOf") else { return };
    alternatives.retain(|alternative| alternative.get("type").is_none_or(|kind| kind != "null"));
    if let [Value::Object(only)] = &*alternatives {
        for (key, value) in only.clone() {
            property.entry(key).or_insert(value);
        }
    } else {
        property.insert("anyOf".to_owned(), Value::Array(alternatives));
    }
}

/// Gives the options of an enum whose variants are documented the titles that forms want.
fn titled(property: &mut Map<String, Value>) {
    let Some(Value::Array(options)) = property.get_mut("oneOf") else { return };
    let mut listed = Vec::new();
    for option in options.iter() {
        let values = match (option.get("const"), option.get("enum")) {
            (Some(value), _) => vec![value.clone()],
            (None, Some(Value::Array(values))) => values.clone(),
            _ => return,
        };
        for value in values {
            let title = option.get("description").or_else(|| option.get("title")).unwrap_or(&value);
            listed.push(serde_json::json!({ "const": value, "title": title }));
        }
    }
    *options = listed;
    property.entry("type").or_insert_with(|| "string".into());
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use schemars::JsonSchema;
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is used")]
    enum Plain {
        Red,
        Blue,
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is used")]
    enum Documented {
        /// As the sky.
        Blue,
        /// As a rose.
        Red,
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is used")]
    struct Everything {
        /// A name.
        name: String,
        age: Option<u8>,
        score: f64,
        sure: bool,
        plain: Plain,
        perhaps: Option<Documented>,
        several: Vec<Plain>,
        titled: Vec<Documented>,
    }

    #[test]
    fn what_a_form_can_ask_for() {
        let form = schema::<Everything>().unwrap();
        let json = serde_json::to_value(&form).unwrap();
        let of = |name: &str| &json["properties"][name];
        assert_eq!(of("name"), &json!({ "type": "string", "description": "A name." }));
        assert_eq!(of("age")["type"], "integer");
        assert_eq!(of("score"), &json!({ "type": "number" }));
        assert_eq!(of("sure"), &json!({ "type": "boolean" }));
        assert_eq!(of("plain")["enum"], json!(["Red", "Blue"]));
        assert_eq!(
            of("perhaps")["oneOf"],
            json!([{ "const": "Blue", "title": "As the sky." }, { "const": "Red", "title": "As a rose." }])
        );
        assert_eq!(of("several")["items"]["enum"], json!(["Red", "Blue"]));
        assert_eq!(of("titled")["items"]["anyOf"][1]["const"], "Red");
        let required = form.required.unwrap();
        assert!(required.contains(&"name".to_owned()) && required.contains(&"several".to_owned()));
        assert!(!required.contains(&"age".to_owned()) && !required.contains(&"perhaps".to_owned()));
    }

    #[test]
    fn what_it_cannot() {
        #[derive(JsonSchema)]
        #[expect(dead_code, reason = "only its schema is used")]
        struct Nested {
            inner: Everything,
        }
        #[derive(JsonSchema)]
        #[expect(dead_code, reason = "only its schema is used")]
        struct Lists {
            numbers: Vec<u8>,
        }
        #[derive(JsonSchema)]
        #[expect(dead_code, reason = "only its schema is used")]
        struct Texts {
            texts: Vec<String>,
        }
        assert!(assert_form::<Nested>().unwrap_err().to_string().contains("inner"));
        for (form, name) in [(assert_form::<Lists>(), "numbers"), (assert_form::<Texts>(), "texts")]
        {
            let error = form.unwrap_err().to_string();
            assert!(error.contains(name) && error.ends_with("the variants of an enum"), "{error}");
        }
        assert!(assert_form::<BTreeMap<String, String>>().is_err());
        assert!(assert_form::<BTreeMap<String, Value>>().is_err());
        assert!(assert_form::<()>().is_err());
        assert!(assert_form::<Vec<String>>().is_err());
        assert!(assert_form::<String>().is_err());
        assert!(assert_form::<Value>().is_err());
    }

    /// Flattened structs add their fields. What adds other fields from case to case would leave the form without any of
    /// them, so that no answer would ever fit.
    #[test]
    fn what_is_flattened() {
        #[derive(Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        #[expect(dead_code, reason = "only its schema is used")]
        struct Inner {
            x: u8,
        }
        #[derive(Deserialize, JsonSchema)]
        #[expect(dead_code, reason = "only its schema is used")]
        enum External {
            A(u8),
            B { x: u8 },
        }
        #[derive(Deserialize, JsonSchema)]
        #[serde(tag = "kind")]
        #[expect(dead_code, reason = "only its schema is used")]
        enum Internal {
            A { x: u8 },
            B { y: u8 },
        }
        #[derive(Deserialize, JsonSchema)]
        #[serde(untagged)]
        #[expect(dead_code, reason = "only its schema is used")]
        enum Untagged {
            A { x: u8 },
            B { y: u8 },
        }
        #[derive(Deserialize, JsonSchema)]
        #[expect(dead_code, reason = "only its schema is used")]
        struct With<T> {
            a: String,
            #[serde(flatten)]
            inner: T,
        }
        let required = |form: Result<ElicitationSchema, _>| form.unwrap().required.unwrap();
        assert_eq!(required(schema::<Inner>()), ["x"]);
        assert_eq!(required(schema::<With<Inner>>()), ["a", "x"]);
        assert_eq!(required(schema::<With<Option<Inner>>>()), ["a"]);
        assert_eq!(required(schema::<With<BTreeMap<String, String>>>()), ["a"]);
        for form in [
            assert_form::<With<External>>(),
            assert_form::<With<Internal>>(),
            assert_form::<With<Untagged>>(),
            assert_form::<External>(),
            assert_form::<Internal>(),
            assert_form::<Untagged>(),
        ] {
            assert!(form.is_err());
        }
    }

    /// Such a form asks for nothing but consent.
    #[test]
    fn nothing_is_a_form() {
        #[derive(Deserialize, JsonSchema)]
        struct Nothing {}
        #[derive(Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        struct NothingElse {}
        for form in [schema::<Nothing>(), schema::<NothingElse>()] {
            let json = serde_json::to_value(form.unwrap()).unwrap();
            assert_eq!(json, json!({ "type": "object", "properties": {}, "required": [] }));
        }
    }
}
