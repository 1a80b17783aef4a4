//! Every definition of the schema has a type that loses nothing of it, or a reason to have none.

use serde_json::{Value, json};

use crate::bindings::{BINDINGS, UNBOUND, binding};
use crate::sample::samples;
use crate::spec;

#[test]
fn every_definition_is_bound_once() {
    let Some(definitions) = spec::definitions() else {
        return;
    };
    for name in definitions.keys() {
        let bound = BINDINGS.iter().filter(|binding| binding.name == name).count();
        let unbound = UNBOUND.iter().filter(|(unbound, _)| unbound == name).count();
        assert_eq!(bound + unbound, 1, "{name}");
    }
    assert_eq!(BINDINGS.len() + UNBOUND.len(), definitions.len(), "a binding without definition");
}

#[test]
fn whatever_the_schema_allows_round_trips() {
    let Some(definitions) = spec::definitions() else {
        return;
    };
    for name in definitions.keys() {
        let Some(binding) = binding(name) else {
            continue;
        };
        for sample in samples(name, &definitions) {
            let again = (binding.round_trip)(&sample.to_string());
            // That one of two optional members must be there, no schema says.
            if sample == json!({ "resultType": "input_required" }) {
                assert!(again.is_err());
                continue;
            }
            let again = again.unwrap_or_else(|error| panic!("{name}: {error}\n{sample}"));
            let again: Value = serde_json::from_str(&again).unwrap();
            let (again, sample) = (normal(again), normal(sample));
            assert!(again == sample, "{name}\n{again}\n{sample}");
        }
    }
}

/// Whatever a peer writes in the wrong place is refused, or read as something that is then written and
/// read alike.
#[test]
fn a_wrong_value_anywhere_is_refused_or_settles() {
    let Some(definitions) = spec::definitions() else {
        return;
    };
    // Messages hold what has its own turn.
    let is_message = |name: &str| name.ends_with("Response") || name.ends_with("Request");
    for binding in BINDINGS.iter().filter(|binding| !is_message(binding.name)) {
        let full = samples(binding.name, &definitions).swap_remove(0);
        for wrong in with_each_value_replaced(&full) {
            let Ok(once) = (binding.round_trip)(&wrong.to_string()) else {
                continue;
            };
            assert_eq!((binding.round_trip)(&once), Ok(once.clone()), "{}\n{wrong}", binding.name);
        }
    }
}

/// The document with one of its values replaced, for each of them and each kind of JSON.
fn with_each_value_replaced(value: &Value) -> Vec<Value> {
    let wrong = [json!(null), json!(true), json!(-1), json!(1.5), json!("x"), json!([]), json!({})];
    let mut documents = wrong.to_vec();
    match value {
        Value::Array(values) => {
            for (n, inner) in values.iter().enumerate() {
                documents.extend(with_each_value_replaced(inner).into_iter().map(|wrong| {
                    let mut values = values.clone();
                    values[n] = wrong;
                    Value::Array(values)
                }));
            }
        }
        Value::Object(members) => {
            for (key, inner) in members {
                documents.extend(with_each_value_replaced(inner).into_iter().map(|wrong| {
                    let mut members = members.clone();
                    members[key] = wrong;
                    Value::Object(members)
                }));
            }
        }
        _ => {}
    }
    documents
}

/// Without an empty `_meta` or `params`, which may go unwritten, and with the mode of a form, which is
/// always written.
fn normal(value: Value) -> Value {
    match value {
        Value::Array(values) => values.into_iter().map(normal).collect(),
        Value::Object(mut members) => {
            if members.contains_key("requestedSchema") {
                members.entry("mode").or_insert(json!("form"));
            }
            members
                .into_iter()
                .map(|(key, value)| (key, normal(value)))
                .filter(|(key, value)| {
                    !(matches!(&**key, "_meta" | "params") && *value == json!({}))
                })
                .collect()
        }
        other => other,
    }
}
