//! Documents made from the schema.

use serde_json::{Map, Value, json};

/// Values that a definition describes: a full one, one of the required members alone, and for each
/// property one with each of its other values.
pub(crate) fn samples(name: &str, definitions: &Map<String, Value>) -> Vec<Value> {
    Sampler { definitions, nested: false }.of(&definitions[name])
}

struct Sampler<'a> {
    definitions: &'a Map<String, Value>,
    /// Inside another definition, where a full value will do: each has its own turn.
    nested: bool,
}

impl Sampler<'_> {
    /// At least one value.
    fn of(&self, schema: &Value) -> Vec<Value> {
        if let Some(name) = schema["$ref"].as_str() {
            let name = name.strip_prefix("#/$defs/").unwrap();
            // Any JSON would not end.
            return match name {
                "JSONValue" => vec![json!({ "any": [1, "x", { "y": true }] }), json!("x")],
                name => Sampler { nested: true, ..*self }.of(&self.definitions[name]),
            };
        }
        if let Some(constant) = schema.get("const") {
            return vec![constant.clone()];
        }
        if let Some(values) = schema["enum"].as_array() {
            return values.clone();
        }
        if let Some(alternatives) = schema["anyOf"].as_array() {
            return alternatives.iter().flat_map(|schema| self.of(schema)).collect();
        }
        if let Some(parts) = schema["allOf"].as_array() {
            return vec![self.all_of(parts)];
        }
        match &schema["type"] {
            Value::Array(types) => {
                types.iter().flat_map(|kind| self.of(&json!({ "type": kind }))).collect()
            }
            Value::String(kind) => self.of_type(kind, schema),
            _ => vec![json!({ "any": [1.5] }), json!(7), Value::Null],
        }
    }

    fn of_type(&self, kind: &str, schema: &Value) -> Vec<Value> {
        match kind {
            "object" => self.objects(schema),
            "array" => vec![Value::Array(self.of(&schema["items"]))],
            "string" if schema["format"] == "byte" => vec![json!("AAEC/w==")],
            "string" => vec![json!("text"), json!("")],
            "integer" => vec![json!(3), json!(0)],
            "number" => vec![json!(1), json!(0.5)],
            "boolean" => vec![json!(true), json!(false)],
            other => panic!("no sample of type {other}"),
        }
    }

    fn objects(&self, schema: &Value) -> Vec<Value> {
        let mut full = Map::new();
        let mut others = Vec::new();
        // Results may hold members that nobody knows, which are ignored.
        let is_result = schema["properties"].get("resultType").is_some();
        let is_map = schema.get("properties").is_none();
        if (schema.get("additionalProperties").is_some() || is_map) && !is_result {
            let values = self.of(&schema["additionalProperties"]).into_iter().enumerate();
            full.extend(values.map(|(n, value)| (format!("key{n}"), value)));
        }
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            let mut values = self.property(name, property, schema).into_iter();
            full.insert(name.clone(), values.next().unwrap());
            others.extend(values.map(|value| (name, value)));
        }
        if self.nested {
            return vec![Value::Object(full)];
        }
        let with = |(name, value): (&String, Value)| {
            let mut object = full.clone();
            object.insert(name.clone(), value);
            object
        };
        let others: Vec<_> = others.into_iter().map(with).collect();
        let mut required = full.clone();
        required.retain(|name, _| {
            schema["required"].as_array().into_iter().flatten().any(|required| required == name)
        });
        [full, required].into_iter().chain(others).map(Value::Object).collect()
    }

    fn property(&self, name: &str, property: &Value, object: &Value) -> Vec<Value> {
        match name {
            // The schema says any text, the specification says which.
            "resultType" if object["properties"].get("inputRequests").is_some() => {
                vec![json!("input_required")]
            }
            "resultType" => vec![json!("complete")],
            _ => self.of(property),
        }
    }

    /// The parts laid over each other, the later ones on top.
    fn all_of(&self, parts: &[Value]) -> Value {
        let mut whole = Map::new();
        for part in parts {
            match self.of(part).swap_remove(0) {
                Value::Object(members) => whole.extend(members),
                other => panic!("a part of an object is {other}"),
            }
        }
        Value::Object(whole)
    }
}
