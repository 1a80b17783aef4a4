//! Every example of the specification, decoded and encoded again.

use serde_json::{Value, json};

use crate::bindings::binding;
use crate::spec;

/// How many files the revision has.
const FILES: usize = 129;

#[test]
fn every_example_round_trips() {
    let Some(folder) = spec::folder() else { return };
    let mut faults = Vec::new();
    let mut files = 0;
    for entry in std::fs::read_dir(folder.join("examples")).unwrap() {
        let folder = entry.unwrap();
        let name = folder.file_name().into_string().unwrap();
        let Some(binding) = binding(&name) else {
            faults.push(format!("{name}: no type is bound to this folder"));
            continue;
        };
        let before = files;
        for file in std::fs::read_dir(folder.path()).unwrap() {
            let path = file.unwrap().path();
            files += 1;
            let text = std::fs::read_to_string(&path).unwrap();
            let place = format!("{name}/{}", path.file_name().unwrap().display());
            match (binding.round_trip)(&text) {
                Err(error) => faults.push(format!("{place}: {error}")),
                Ok(again) if value(&again) != expected(&place, &text) => {
                    faults.push(format!("{place}: became {again}"));
                }
                Ok(_) => {}
            }
        }
        if files == before {
            faults.push(format!("{name}: no files"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert_eq!(files, FILES);
}

fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// What is written for an example: the same, with few exceptions.
fn expected(place: &str, text: &str) -> Value {
    let mut value = value(text);
    for exception in EXCEPTIONS.iter().filter(|exception| exception.place == place) {
        let before = value.clone();
        (exception.change)(&mut value);
        assert_ne!(value, before, "{place}: no exception any more: {}", exception.reason);
    }
    value
}

struct Exception {
    place: &'static str,
    reason: &'static str,
    change: fn(&mut Value),
}

const EXCEPTIONS: &[Exception] = &[
    Exception {
        place: "ListRootsRequest/list-roots-request.json",
        reason: "it has an id, which the schema does not give it since it is no message any more",
        change: |request| {
            request.as_object_mut().unwrap().remove("id");
        },
    },
    Exception {
        place: "ReadResourceResultResponse/read-resource-result-response.json",
        reason: "it has none of the caching hints that the schema requires; they are always written",
        change: |response| {
            response["result"]["ttlMs"] = json!(0);
            response["result"]["cacheScope"] = json!("private");
        },
    },
    Exception {
        place: "InputRequiredResult/\
            input-required-result-with-elicitation-and-sampling-and-request-state.json",
        reason: "the mode of a form may be absent and is always written",
        change: |result| {
            result["inputRequests"]["github_login"]["params"]["mode"] = json!("form");
        },
    },
];
