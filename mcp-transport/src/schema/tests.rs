use std::thread;

use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_oneof, proptest};
use serde_json::{Value, json};

use super::*;

fn compile(schema: &Value) -> Result<Validator, SchemaFault> {
    Validator::compile(&RawJson::from(schema.clone()))
}

/// The faults as text, empty if there are none.
fn faults(schema: &Value, instance: &Value) -> String {
    let validator = compile(schema).unwrap();
    validator
        .validate(&instance.to_string())
        .err()
        .map(|faults| faults.to_string())
        .unwrap_or_default()
}

#[test]
fn types_members_and_choices_are_said_with_their_path() {
    for (schema, instance, expected) in [
        (json!({"type": "object", "properties": {"a": {"type": "integer"}}}), json!({"a": 1}), ""),
        (
            json!({"properties": {"a": {"type": "integer"}}}),
            json!({"a": "four"}),
            "/a: must be an integer, is \"four\"",
        ),
        (
            json!({"properties": {"a": {"type": ["null", "string"]}}}),
            json!({"a": {}}),
            "/a: must be null or a string, is an object",
        ),
        (
            json!({"properties": {"a/b~": {"items": {"type": "number"}}}, "required": ["z"],
                "additionalProperties": false}),
            json!({"a/b~": [1, true], "y": 1}),
            "/a~1b~0/1: must be a number, is true\n(root): must not have the members \"y\"\n\
             (root): lacks the required member \"z\"",
        ),
        (json!({"enum": ["x", 1]}), json!("y"), "(root): must be one of \"x\", 1, is \"y\""),
        (json!({"const": {"a": 1}}), json!(2), "(root): must be {\"a\":1}, is 2"),
    ] {
        assert_eq!(faults(&schema, &instance), expected, "{schema} {instance}");
    }
}

#[test]
fn sizes_and_ranges_are_said_with_their_limits() {
    for (schema, instance, expected) in [
        (json!({"minimum": 3}), json!(2), "(root): must be at least 3, is 2"),
        (json!({"maximum": 3}), json!(3.5), "(root): must be at most 3, is 3.5"),
        (json!({"exclusiveMinimum": 3}), json!(3), "(root): must be more than 3, is 3"),
        (json!({"exclusiveMaximum": 3}), json!(3), "(root): must be less than 3, is 3"),
        (json!({"multipleOf": 2}), json!(3), "(root): must be a multiple of 2, is 3"),
        (json!({"minLength": 2}), json!("ä"), "(root): must have at least 2 characters, is \"ä\""),
        (json!({"maxLength": 2}), json!("äöü"), "(root): must have at most 2 characters"),
        (json!({"minItems": 1}), json!([]), "(root): must have at least 1 elements"),
        (json!({"maxItems": 1}), json!([1, 2]), "(root): must have at most 1 elements"),
        (json!({"minProperties": 1}), json!({}), "(root): must have at least 1 members"),
        (json!({"maxProperties": 0}), json!({"a": 1}), "(root): must have at most 0 members"),
        (
            json!({"uniqueItems": true}),
            json!([1, {"a": [2]}, {"a": [2.0]}]),
            "(root): must not have an element twice",
        ),
        (
            json!({"contains": {"type": "null"}}),
            json!([1]),
            "(root): has not as many elements of the required form as it must",
        ),
    ] {
        assert_eq!(faults(&schema, &instance), expected, "{schema} {instance}");
    }
}

#[test]
fn forms_are_said_as_far_as_they_can_be() {
    for (schema, instance, expected) in [
        (
            json!({"pattern": "^a+$"}),
            json!("b"),
            "(root): must match the pattern \"^a+$\", is \"b\"",
        ),
        (
            json!({"propertyNames": {"pattern": "^a"}}),
            json!({"b": 1}),
            "(root): has the member \"b\", whose name must match the pattern \"^a\", is \"b\"",
        ),
        (json!({"properties": {"a": false}}), json!({"a": 1}), "/a: must not be there"),
        (
            json!({"properties": {"a": {"additionalProperties": false}}}),
            json!({"a": {"b": 1}}),
            "/a: must have no members",
        ),
        (
            json!({"properties": {"additionalProperties": false}}),
            json!({"additionalProperties": 1}),
            "/additionalProperties: must not be there",
        ),
        (json!({"not": {"type": "null"}}), json!(null), "(root): has a form that is excluded"),
        (
            json!({"oneOf": [{"minimum": 1}, {"minimum": 2}]}),
            json!(3),
            "(root): fits several of the forms of which it must fit exactly one",
        ),
        (json!({"prefixItems": [{}], "items": false}), json!([1, 2]), "/1: must not be there"),
        (
            json!({"$schema": "http://json-schema.org/draft-07/schema#", "items": [{}],
                "additionalItems": false}),
            json!([1, 2]),
            "(root): must have at most 1 elements",
        ),
        (
            json!({"prefixItems": [{}], "unevaluatedItems": false}),
            json!([1, 2]),
            "(root): has elements that no part of the schema allows",
        ),
        (
            json!({"unevaluatedProperties": false}),
            json!({"a": 1}),
            "(root): must not have the members \"a\"",
        ),
        (
            json!({"dependentRequired": {"a": ["b"]}}),
            json!({"a": 1}),
            "(root): lacks the required member \"b\"",
        ),
        (
            json!({"if": {"required": ["a"]}, "then": {"required": ["b"]}}),
            json!({"a": 1}),
            "(root): lacks the required member \"b\"",
        ),
        (json!(false), json!(1), "(root): must not be there"),
    ] {
        assert_eq!(faults(&schema, &instance), expected, "{schema} {instance}");
    }
}

#[test]
fn of_alternatives_the_nearest_is_explained() {
    let tagged = |tag: &str, value: Value| {
        let properties = json!({"kind": {"const": tag}, "value": value});
        json!({"type": "object", "properties": properties, "required": ["kind", "value"]})
    };
    let number = tagged("number", json!({"type": "number"}));
    let schema = json!({"oneOf": [number, tagged("text", json!({"type": "string"}))]});
    assert_eq!(
        faults(&schema, &json!({"kind": "text", "value": 1})),
        "(root): fits none of the 2 forms allowed; for the nearest, /value must be a string, is 1"
    );
    assert_eq!(faults(&schema, &json!(7)), "(root): fits none of the 2 forms allowed, is 7");
    let optional = json!({"properties": {"a": {"anyOf": [{"type": "object", "required": ["b", "c"]},
        {"type": "null"}]}}});
    assert_eq!(
        faults(&optional, &json!({"a": {}})),
        "/a: fits none of the 2 forms allowed; for the nearest, it lacks the required member \"b\""
    );
}

#[test]
fn validators_are_shared_between_threads() {
    const fn shared<T: Send + Sync>() {}
    const { shared::<Validator>() };
}

#[test]
fn what_is_said_is_bounded() {
    let long = "x".repeat(100_000);
    let wrong: Vec<Value> = (0..100).map(|_| json!(long)).collect();
    let schema = json!({"items": {"type": "integer"}});
    let validator = compile(&schema).unwrap();
    let found = validator.validate(&json!(wrong).to_string()).unwrap_err();
    assert_eq!(found.faults.len(), fault::MAX_LISTED);
    assert!(found.more);
    assert!(found.to_string().ends_with("\nand more"));
    assert!(found.to_string().len() < 4096);

    let keys: Value =
        (0..1000).map(|n| (format!("{n}{long}"), json!(1))).collect::<Map<_, _>>().into();
    let text = faults(&json!({"additionalProperties": {"type": "null"}}), &keys);
    assert!(text.len() < 16 * 400, "{}", text.len());
    let text = faults(&json!({"additionalProperties": false}), &keys);
    assert!(text.len() < 1024, "{text}");
    assert!(faults(&json!({"enum": vec![long.clone(); 2]}), &json!(1)).len() < 1024);
    assert!(
        faults(&json!({"pattern": format!("^{}$", "a".repeat(10_000))}), &json!(long)).len() < 1024
    );
}

#[test]
fn numbers_count_by_value() {
    for (schema, text, valid) in [
        (json!({"type": "integer"}), "1.0", true),
        (json!({"type": "integer"}), "1e2", true),
        (json!({"type": "integer"}), "1.5", false),
        (json!({"type": "integer"}), "100000000000000000000000", true),
        (json!({"const": 1}), "1.00", true),
        (json!({"const": {"a": [1, "b", null, true]}}), r#"{"a":[1e0,"b",null,true]}"#, true),
        (json!({"const": {"a": [1, "b", null, true]}}), r#"{"a":[1,"b",null]}"#, false),
        (json!({"enum": [[1], {"a": 1}]}), r#"{"a":1,"b":2}"#, false),
        (json!({"maximum": 1e300}), "1e400", false),
        (json!({"minimum": 18_446_744_073_709_551_615_u64}), "18446744073709551614", false),
        (json!({"minimum": -9_223_372_036_854_775_808_i64}), "-9223372036854775808", true),
        (json!({"multipleOf": 0.1}), "0.3", true),
        (
            json!({"$schema": "http://json-schema.org/draft-04/schema#", "type": "integer"}),
            "1.0",
            false,
        ),
        (json!({"properties": {"a": {"type": "null"}}}), r#"{"a":1,"a":null}"#, false),
        (json!({"properties": {"a": {"type": "null"}}}), r#"{"a":null,"a":1}"#, false),
    ] {
        assert_eq!(compile(&schema).unwrap().validate(text).is_ok(), valid, "{schema} {text}");
    }
}

#[test]
fn dialects() {
    for (dialect, valid) in [
        ("https://json-schema.org/draft/2020-12/schema", true),
        ("https://json-schema.org/draft/2020-12/schema#", true),
        ("https://json-schema.org/draft/2019-09/schema", true),
        ("http://json-schema.org/draft-07/schema#", true),
        ("https://json-schema.org/draft-07/schema", true),
        ("http://json-schema.org/draft-06/schema#", true),
        ("http://json-schema.org/draft-04/schema#", true),
        ("http://json-schema.org/draft-03/schema#", false),
        ("https://example.com/dialect", false),
    ] {
        let nested =
            json!({"properties": {"a": {"$id": "https://example.com/a", "$schema": dialect}}});
        for schema in [json!({"$schema": dialect, "type": "object", "minProperties": 1}), nested] {
            let result = compile(&schema);
            assert_eq!(result.is_ok(), valid, "{schema} {result:?}");
            if let Err(fault) = result {
                assert_eq!(fault, SchemaFault::Dialect(dialect.into()));
                assert!(
                    fault.to_string().contains(dialect) && fault.to_string().contains("2020-12"),
                    "{fault}"
                );
            }
        }
    }
    // What the keyword means depends on the dialect.
    let tuple = json!({"items": [{"type": "null"}]});
    assert!(matches!(compile(&tuple), Err(SchemaFault::Invalid { path, .. }) if path == "/items"));
    let mut draft_07 = tuple;
    draft_07["$schema"] = json!("http://json-schema.org/draft-07/schema#");
    assert_eq!(faults(&draft_07, &json!([1])), "/0: must be null, is 1");
    let format = |dialect: &str| json!({"$schema": dialect, "format": "ipv4"});
    assert_eq!(
        faults(&format("http://json-schema.org/draft-07/schema#"), &json!("x")),
        "(root): must be of the format \"ipv4\", is \"x\""
    );
    assert_eq!(faults(&format("https://json-schema.org/draft/2020-12/schema"), &json!("x")), "");
}

#[test]
fn references_stay_inside() {
    for reference in [
        "http://127.0.0.1:9/schema.json",
        "https://json-schema.org/draft/2020-12/schema",
        "file:///etc/passwd",
        "other.json",
        "other.json#/a",
        "//host/x",
        "urn:x",
        "",
    ] {
        for (schema, path) in [
            (json!({"$ref": reference}), "/$ref"),
            (
                json!({"properties": {"$ref": {"items": {"$ref": reference}}}}),
                "/properties/$ref/items/$ref",
            ),
            (json!({"$defs": {"unused": {"$dynamicRef": reference}}}), "/$defs/unused/$dynamicRef"),
            (json!({"$ref": "#/x-hidden", "x-hidden": {"$ref": reference}}), "/x-hidden/$ref"),
        ] {
            let expected =
                SchemaFault::ForeignReference { path: path.into(), reference: reference.into() };
            assert_eq!(compile(&schema).unwrap_err(), expected);
        }
        // Data is no schema.
        for keyword in ["enum", "const", "default", "examples"] {
            compile(&json!({keyword: [{"$ref": reference}]})).unwrap();
        }
        compile(&json!({"properties": {"$ref": {"const": reference}}})).unwrap();
    }
    for reference in ["#/$defs/none", "#none", "#/properties/0", "#/%ZZ", "#/%FF", "#/%4"] {
        for schema in [
            json!({"$ref": reference}),
            json!({"$defs": {"unused": {"items": {"$ref": reference}}}}),
        ] {
            let fault = compile(&schema).unwrap_err();
            assert!(
                matches!(&fault, SchemaFault::UnresolvedReference { reference: r, .. } if r == reference),
                "{fault:?}"
            );
        }
    }
}

#[test]
fn references_inside_are_followed() {
    for (schema, wrong) in [
        (json!({"$defs": {"a/b c": {"type": "null"}}, "$ref": "#/$defs/a~1b%20c"}), json!(1)),
        (json!({"$defs": {"a": {"$anchor": "here", "type": "null"}}, "$ref": "#here"}), json!(1)),
        (
            json!({"$defs": {"n": {"type": "null"}}, "properties": {"a": {"id": "A", "$ref": "#/$defs/n"}}}),
            json!({"a": 1}),
        ),
        (
            json!({"$schema": "http://json-schema.org/draft-04/schema#", "definitions": {"n": {"id": "#n",
                "type": "null"}}, "$ref": "#n"}),
            json!(1),
        ),
        (
            json!({"properties": {"next": {"$ref": "#"}, "v": {"type": "null"}}}),
            json!({"next": {"next": {"v": 1}}}),
        ),
        (
            json!({"properties": {"a": {"$id": "https://example.com/a",
                "$defs": {"x": {"type": "null"}}, "$ref": "#/$defs/x"}}}),
            json!({"a": 1}),
        ),
    ] {
        assert_ne!(faults(&schema, &wrong), "", "{schema}");
    }
}

#[test]
fn patterns_are_linear() {
    for pattern in [
        "(?=a)",
        "(?!a)",
        "(?<=a)b",
        "(?<!a)b",
        r"(a)\1",
        r"(?<x>a)\k<x>",
        "(",
        "[",
        "*",
        "(a{1000}){1000}",
    ] {
        for (schema, path) in [
            (json!({"properties": {"a": {"pattern": pattern}}}), "/properties/a/pattern"),
            (
                json!({"patternProperties": {pattern: {}}}),
                &*format!("/patternProperties/{pattern}"),
            ),
        ] {
            assert_eq!(
                compile(&schema).unwrap_err(),
                SchemaFault::Pattern { path: path.into(), pattern: pattern.into() }
            );
        }
    }
    for (pattern, text) in [
        (r"^\d{3}$", "123"),
        (r"^[\p{L}\p{M}' -]{1,200}$", "Zoë"),
        (r"\cA|\/|\-", "/"),
        ("^(a+)+$", "aaa"),
        (r"^[\s\S]*$", "\n"),
    ] {
        assert_eq!(faults(&json!({"pattern": pattern}), &json!(text)), "", "{pattern}");
    }
    assert_ne!(
        faults(&json!({"pattern": "^(a+)+$"}), &json!(format!("{}b", "a".repeat(100_000)))),
        ""
    );
}

#[test]
fn schemas_are_valid_in_their_dialect_and_bounded() {
    for (schema, path) in [
        (json!({"type": "objekt"}), "/type"),
        (json!({"properties": {"a": {"minimum": "x"}}}), "/properties/a/minimum"),
        (json!({"$schema": 5}), "/$schema"),
        (json!([]), ""),
        (json!(1), ""),
    ] {
        assert!(
            matches!(compile(&schema), Err(SchemaFault::Invalid { path: found, .. }) if found == path),
            "{schema}"
        );
    }
    let nested = |depth: usize| {
        (1..depth / 2).fold(json!({"type": "null"}), |inner, _| json!({"properties": {"a": inner}}))
    };
    assert!(compile(&nested(MAX_SCHEMA_DEPTH)).is_ok());
    assert_eq!(compile(&nested(MAX_SCHEMA_DEPTH + 4)).unwrap_err(), SchemaFault::TooDeep);
    assert_eq!(
        compile(&json!({"enum": vec![0; MAX_SCHEMA_BYTES]})).unwrap_err(),
        SchemaFault::TooLarge
    );
    let wide = |count: usize| json!({"anyOf": vec![json!({}); count - 1]});
    assert!(compile(&wide(MAX_SUBSCHEMAS)).is_ok());
    assert_eq!(compile(&wide(MAX_SUBSCHEMAS + 1)).unwrap_err(), SchemaFault::TooManySubschemas);
    let lone_surrogate = RawJson::from_text(r#"{"title":"\ud800"}"#).unwrap();
    assert!(matches!(Validator::compile(&lone_surrogate), Err(SchemaFault::Invalid { .. })));
    let billion = "[".repeat(100_000);
    assert!(
        RawJson::from_text(format!("{billion}{}", "]".repeat(100_000)))
            .is_ok_and(|raw| Validator::compile(&raw).is_err())
    );
    for circle in [
        json!({"$ref": "#"}),
        json!({"allOf": [{"$ref": "#"}]}),
        json!({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"not": {"$ref": "#/$defs/a"}}}}),
        chained(MAX_CHAIN),
    ] {
        assert!(matches!(compile(&circle), Err(SchemaFault::LongChain { .. })), "{circle}");
    }
}

/// A recursive schema that applies `chain` references more than it must for each level of `{"a": ..}`.
fn chained(chain: usize) -> Value {
    let mut defs: Map<_, _> = (0..chain)
        .map(|n| (format!("d{n}"), json!({"$ref": format!("#/$defs/d{}", n + 1)})))
        .collect();
    defs.insert(
        format!("d{chain}"),
        json!({"properties": {"a": {"$ref": "#"}, "b": {"type": "null"}},
        "additionalProperties": false}),
    );
    json!({"$ref": "#/$defs/d0", "$defs": defs})
}

fn deep(depth: usize) -> String {
    format!("{}{}{}", r#"{"a":"#.repeat(depth - 1), r#"{"b":1}"#, "}".repeat(depth - 1))
}

/// The same with `anyOf` in place of references.
fn composed(chain: usize) -> Value {
    (0..chain).fold(
        json!({"properties": {"a": {"$ref": "#"}, "b": {"type": "null"}}}),
        |inner, _| json!({"anyOf": [inner, false]}),
    )
}

#[test]
fn the_deepest_instance_under_the_longest_chain_fits_a_stack() {
    let cases = [
        chained(0),
        chained(1),
        chained(3),
        chained(MAX_CHAIN - 3),
        composed(2),
        composed(6),
        composed(13),
    ];
    for schema in cases {
        let validator = compile(&schema).unwrap();
        let Compiled::Schema { max_depth, .. } = validator.0 else { panic!("{schema}") };
        let judge = move || {
            let text = validator.validate(&deep(max_depth)).unwrap_err().to_string();
            assert!(
                validator
                    .validate(&deep(max_depth + 1))
                    .unwrap_err()
                    .to_string()
                    .contains("deeper")
            );
            text
        };
        let text =
            thread::Builder::new().stack_size(1024 * 1024).spawn(judge).unwrap().join().unwrap();
        assert!(text.contains("null") || text.contains("too large"), "{schema} {text}");
    }
    // Compiling what nests as deep as it may.
    let nested = (0..31).fold(json!({}), |inner, _| json!({"properties": {"a": inner}}));
    thread::Builder::new()
        .stack_size(1024 * 1024)
        .spawn(move || compile(&nested).map(drop))
        .unwrap()
        .join()
        .unwrap()
        .unwrap();
}

#[test]
fn work_is_bounded() {
    // Two alternatives that both go into the same member double the faults with each level.
    let arm = |op: &str| {
        json!({"type": "object", "properties": {"op": {"const": op},
        "arg": {"$ref": "#"}}, "required": ["arg"]})
    };
    let schema = json!({"anyOf": [arm("neg"), arm("not"), {"type": "null"}]});
    let text = format!("{}1{}", r#"{"op":"neg","arg":"#.repeat(100), "}".repeat(100));
    let found = compile(&schema).unwrap().validate(&text).unwrap_err();
    assert_eq!(
        found.to_string(),
        "(root): does not match the schema, and is too large to say where"
    );
    // Many faults in a long list: the first is found again.
    let text = format!("[0{}]", ",\"x\"".repeat(100_000));
    let found =
        compile(&json!({"items": {"type": "integer"}})).unwrap().validate(&text).unwrap_err();
    assert_eq!(found.to_string(), "/1: must be an integer, is \"x\"");
    // Much that is right is no trouble.
    let text = format!("[{}0]", r#"{"a":1,"b":"x"},"#.repeat(30_000));
    let object = json!({"type": ["object", "integer"], "properties": {"a": {"type": "integer"},
        "b": {"type": "string"}}, "additionalProperties": false, "required": []});
    compile(&json!({"items": object})).unwrap().validate(&text).unwrap();
}

#[test]
fn what_is_no_json_or_too_large_is_a_fault() {
    let validator = compile(&json!({"type": "array"})).unwrap();
    for (text, expected) in [
        (String::new(), "(root): must be JSON"),
        ("[1,]".into(), "(root): must be JSON"),
        ("[".repeat(1_000_000), "(root): must not nest deeper than 128"),
        (format!("[{}1]", "1,".repeat(MAX_VALUES)), "(root): must have at most 200000 values"),
        (
            format!("[\"{}\"]", "x".repeat(MAX_INSTANCE_BYTES)),
            "(root): must have at most 16777216 bytes",
        ),
    ] {
        assert_eq!(validator.validate(&text).unwrap_err().to_string(), expected);
    }
}

/// Our view of a text against jsonschema's own of a `Value`: the same verdict and the same faults.
fn judged_alike(schema: &Value, instance: &Value) {
    let options = |pattern| jsonschema::options().with_pattern_options(pattern);
    let theirs = options(PatternOptions::regex()).build(schema).unwrap();
    let ours = jsonschema::options_for::<TapeJson>()
        .with_pattern_options(PatternOptions::regex())
        .build(schema)
        .unwrap();
    let text = instance.to_string();
    let tape = Tape::parse(&text).unwrap();
    let view = Instance::new(&tape, Prices::new(1, 0, 0), MAX_STEPS);
    let faults = |errors: jsonschema::ErrorIterator<'_>| -> Vec<String> {
        errors.map(|error| format!("{} {}", error.instance_path(), error.schema_path())).collect()
    };
    assert_eq!(theirs.is_valid(instance), ours.is_valid(view.root()), "{schema} {instance}");
    assert_eq!(
        faults(theirs.iter_errors(instance)),
        faults(ours.iter_errors(view.root())),
        "{schema} {instance}"
    );
}

proptest! {
    #[test]
    fn a_text_is_judged_as_its_value_is(instance in value()) {
        for schema in [
            json!({"type": ["object", "array", "integer"]}),
            json!({"uniqueItems": true, "minItems": 1, "maxItems": 3, "contains": {"type": "string"},
                "maxContains": 1}),
            json!({"properties": {"a": {"type": "number", "multipleOf": 2}, "b": {"minLength": 1,
                "maxLength": 2}}, "required": ["a", "b"], "minProperties": 1}),
            json!({"properties": {"a": true}, "patternProperties": {"^b": {"type": "string"}},
                "additionalProperties": {"type": "null"}}),
            json!({"properties": {"a": true}, "anyOf": [{"properties": {"b": true}},
                {"required": ["c"]}], "unevaluatedProperties": false}),
            json!({"prefixItems": [{"type": "null"}], "unevaluatedItems": false}),
            json!({"propertyNames": {"enum": ["a", "c"]}, "dependentRequired": {"a": ["c"]},
                "maxProperties": 2}),
            json!({"enum": [null, 0, 1, "a", [], [0], {}, {"a": 0}, {"a": [0, "a"]}, true]}),
            json!({"items": {"$ref": "#"}, "additionalProperties": {"$ref": "#"}, "not": {"const": 1}}),
            json!({"oneOf": [{"type": "number", "minimum": 0}, {"type": "integer"}, {"type": "string",
                "pattern": "^a"}]}),
            json!({"if": {"type": "object"}, "then": {"required": ["a"]}, "else": {"exclusiveMaximum": 1}}),
        ] {
            judged_alike(&schema, &instance);
        }
    }
}

fn value() -> impl Strategy<Value = Value> {
    let number = prop_oneof![
        (-2..4_i64).prop_map(Value::from),
        Just(json!(0.5)),
        Just(json!(1.0)),
        any::<u64>().prop_map(Value::from)
    ];
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        number,
        "[ab\"é]{0,3}".prop_map(Value::from)
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec(("[a-d]", inner), 0..4).prop_map(|members| members.into_iter().collect())
        ]
    })
}

#[test]
fn schemas_that_say_nothing_cost_nothing() {
    let described = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "title": "t",
        "description": "d",
        "properties": {}, "required": [], "additionalProperties": true,
        "$defs": {"a": {"type": "null"}}, "x-note": 1,
    });
    for schema in [json!({"type": "object"}), described] {
        assert!(matches!(compile(&schema).unwrap().0, Compiled::AnyObject));
        assert_eq!(faults(&schema, &json!({"a": 1})), "");
        assert_eq!(faults(&schema, &json!([])), "(root): must be an object");
    }
    for schema in [json!({}), json!(true)] {
        assert!(matches!(compile(&schema).unwrap().0, Compiled::Anything));
    }
    for schema in [
        json!({"type": "object", "minProperties": 1}),
        json!({"type": ["object"]}),
        json!({"type": "object", "unknown": 1}),
        json!(false),
        json!({"type": "object", "$ref": "#/$defs/a", "$defs": {"a": {}}}),
        json!({"type": "object", "additionalProperties": false}),
    ] {
        assert!(matches!(compile(&schema).unwrap().0, Compiled::Schema { .. }), "{schema}");
    }
    assert!(compile(&json!({"type": "object", "title": 5})).is_err());
}

#[test]
fn the_patterns_of_a_peer_share_what_there_is() {
    let many = |count: usize, pattern: &str| {
        let any: Vec<_> = (0..count).map(|_| json!({ "pattern": pattern })).collect();
        RawJson::from(json!({ "anyOf": any }))
    };
    // Each would be let through alone.
    for pattern in [r"^\w+@[\w-]+\.[a-z]{2,63}$", r"^\S.{0,200}\S$", "^[a-z]{1,1000}$"] {
        Validator::compile_foreign(&many(1, pattern)).unwrap();
    }
    for (count, pattern) in [(2000, r"\w{200}"), (1, r"\p{L}{500}")] {
        let fault = Validator::compile_foreign(&many(count, pattern)).unwrap_err();
        assert!(matches!(fault, SchemaFault::Pattern { .. }), "{fault}");
    }
    Validator::compile_foreign(&many(500, "^[a-z]{1,8}$")).unwrap();
    let named = json!({ "patternProperties": { "^a": {}, "^b": { "pattern": "c" } } });
    assert_eq!(patterns(&named), 3);
}

/// A schema under `keyword` of which one value meets two to the power of `doublings` subschemas, the last of them `last`.
fn doubling(keyword: &str, doublings: usize, last: &Value) -> Value {
    let next = |nth: usize| json!({ "$ref": format!("#/$defs/d{nth}") });
    let mut defs: Map<String, Value> = (0..doublings)
        .map(|nth| (format!("d{nth}"), json!({ "allOf": [next(nth + 1), next(nth + 1)] })))
        .collect();
    defs.insert(format!("d{doublings}"), last.clone());
    json!({ keyword: next(0), "$defs": defs })
}

// A few lines can make more ways to one subschema than can be gone, whether that looks at the value or not.
#[test]
fn ways_that_double_are_refused() {
    for keyword in ["propertyNames", "items", "additionalProperties", "not", "then"] {
        for last in [json!({}), json!(true), json!({ "minLength": 1 }), json!({ "pattern": "a" })] {
            let fault = compile(&doubling(keyword, 15, &last)).unwrap_err();
            assert!(matches!(fault, SchemaFault::TooManyJudgements { .. }), "{keyword}: {fault}");
            compile(&doubling(keyword, 10, &last)).unwrap();
        }
    }
}

// What is done without a look at a value is paid for as well: idle subschemas, names, long texts.
#[test]
fn what_takes_long_is_too_much_work() {
    let idle = doubling("items", 12, &json!({}));
    let list = format!("[{}0]", "0,".repeat(150_000));
    let names = doubling("propertyNames", 10, &json!({ "pattern": "a.*b" }));
    let many: Vec<_> = (0..1000).map(|nth| json!({ "pattern": format!("^a*(b{nth})?") })).collect();
    let named: Map<String, Value> =
        (0..1000).map(|nth| (format!("a.*b{nth}c"), json!(true))).collect();
    let long = "a".repeat(1 << 18);
    for (schema, text) in [
        (idle, list),
        (names, format!("{{\"{long}\":1}}")),
        (json!({ "allOf": many }), format!("\"{long}\"")),
        (json!({ "patternProperties": named }), format!("{{\"{long}\":1}}")),
    ] {
        let fault = compile(&schema).unwrap().validate(&text).unwrap_err();
        assert!(fault.to_string().contains("is too much work"), "{fault}");
    }
    // A few long texts are no trouble.
    let pattern = json!({ "items": { "pattern": "^[a-z]+$", "minLength": 1 } });
    let text = format!("[\"{long}\",\"{long}\"]");
    compile(&pattern).unwrap().validate(&text).unwrap();
}

// Linear in the text, but for every byte of it in the size of the expression as well.
#[test]
fn large_patterns_of_a_peer_judge_little_text() {
    let text = |bytes: usize| format!("\"{}\"", "ab".repeat(bytes / 2));
    for (times, fits) in [(50, 1_000_000), (500, 100_000), (3000, 20_000)] {
        let schema = RawJson::from(json!({ "pattern": format!("^[ab]*$|a[ab]{{{times}}}c") }));
        let validator = Validator::compile_foreign(&schema).unwrap();
        validator.validate(&text(fits)).unwrap();
        let fault = validator.validate(&text(MAX_INSTANCE_BYTES - 8)).unwrap_err();
        assert!(fault.to_string().contains("is too much work"), "{fault}");
    }
}

#[test]
fn debug_shows_no_values() {
    let schema = json!({ "properties": { "a": { "type": "integer" } } });
    let faults = compile(&schema).unwrap().validate(r#"{"a":"s3cret"}"#).unwrap_err();
    let shown = format!("{faults:?}");
    assert!(!shown.contains("s3cret") && shown.contains("/properties/a/type"), "{shown}");
    let found: Vec<_> = faults.iter().map(|fault| (fault.path(), fault.message())).collect();
    assert_eq!(found, [("/a", "must be an integer, is \"s3cret\"")]);
}
