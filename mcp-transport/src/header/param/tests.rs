use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::*;
use crate::limits::{MAX_PARAM_HEADER_NAME, MAX_PARAM_HEADERS};

fn compile(schema: &Json) -> Result<ParamHeaders, InvalidAnnotation> {
    ParamHeaders::compile(&schema.to_string())
}

/// A schema whose one property `p` is `property`.
fn of(property: &Json) -> Result<ParamHeaders, InvalidAnnotation> {
    compile(&json!({ "type": "object", "properties": { "p": property } }))
}

/// Header lines by name and value.
type Lines = &'static [(&'static str, &'static str)];

fn headers(lines: &[(&str, &str)]) -> HeaderMap {
    let line = |(name, value): &(&str, &str)| {
        (
            HeaderName::from_bytes(name.as_bytes()).unwrap(),
            HeaderValue::from_bytes(value.as_bytes()).unwrap(),
        )
    };
    lines.iter().map(line).collect()
}

fn mirrored(
    plan: &ParamHeaders,
    arguments: Option<&str>,
) -> Result<Vec<(String, String)>, MirrorError> {
    let mut map = HeaderMap::new();
    plan.mirror(arguments, &mut map)?;
    assert_eq!(plan.verify(arguments, &map), Ok(()), "what is mirrored verifies");
    let text = |value: &HeaderValue| value.to_str().unwrap().to_owned();
    let mut lines: Vec<_> =
        map.iter().map(|(name, value)| (name.to_string(), text(value))).collect();
    lines.sort();
    Ok(lines)
}

fn plan() -> ParamHeaders {
    compile(&json!({
        "type": "object",
        "properties": {
            "region": { "type": "string", "x-mcp-header": "Region" },
            "limit": { "type": "integer", "x-mcp-header": "Limit" },
            "dry": { "type": "boolean", "x-mcp-header": "Dry-Run" },
            "query": { "type": "string" },
            "where": { "type": "object", "properties": {
                "zone": { "type": "string", "x-mcp-header": "Zone" },
                "deep": { "properties": { "er": { "type": "integer", "x-mcp-header": "Deeper" } } }
            } }
        },
        "required": ["region"]
    }))
    .unwrap()
}

#[test]
fn names_are_tokens() {
    for name in
        ["Region", "x", "a-b_c.d", "!#$%&'*+-.^_`|~09aZ", &"n".repeat(MAX_PARAM_HEADER_NAME)]
    {
        assert!(
            !of(&json!({ "type": "string", "x-mcp-header": name })).unwrap().is_empty(),
            "{name}"
        );
    }
    let long = "n".repeat(MAX_PARAM_HEADER_NAME + 1);
    let bad = [
        "",
        "My Region",
        "a:b",
        "ä",
        "a\r\nb",
        "a\u{0}",
        "a\tb",
        "a/b",
        "a\"b",
        "(a)",
        "a,b",
        "a@b",
        "a[b]",
        &long,
    ];
    for name in bad.map(Json::from).into_iter().chain([
        json!(1),
        json!(null),
        json!(["a"]),
        json!({}),
        json!(true),
    ]) {
        let error = of(&json!({ "type": "string", "x-mcp-header": name })).unwrap_err();
        assert!(
            matches!(&error, InvalidAnnotation::Name { property } if **property == *"\"p\""),
            "{name}: {error}"
        );
    }
}

#[test]
fn types_are_primitive() {
    for kind in ["string", "integer", "boolean"] {
        assert!(of(&json!({ "type": kind, "x-mcp-header": "A" })).is_ok(), "{kind}");
    }
    let bad = [
        json!("number"),
        json!("null"),
        json!("object"),
        json!("array"),
        json!("String"),
        json!(""),
        json!(1),
        json!(["string"]),
        json!(["string", "null"]),
        json!(null),
    ];
    for kind in bad {
        let error = of(&json!({ "type": kind, "x-mcp-header": "A" })).unwrap_err();
        assert!(matches!(error, InvalidAnnotation::Type { .. }), "{kind}: {error}");
    }
    assert!(matches!(of(&json!({ "x-mcp-header": "A" })), Err(InvalidAnnotation::Type { .. })));
    assert!(matches!(
        of(&json!({ "enum": ["a"], "x-mcp-header": "A" })),
        Err(InvalidAnnotation::Type { .. })
    ));
}

#[test]
fn names_are_unique_whatever_their_case() {
    for (first, second) in [("Region", "Region"), ("Region", "REGION"), ("a", "A")] {
        let one = json!({ "type": "string", "x-mcp-header": first });
        let two = json!({ "type": "string", "x-mcp-header": second });
        let flat = json!({ "properties": { "a": one, "b": two } });
        let nested = json!({ "properties": { "a": one, "b": { "properties": { "c": two } } } });
        for schema in [flat, nested] {
            assert!(
                matches!(compile(&schema), Err(InvalidAnnotation::Repeated { .. })),
                "{schema}"
            );
        }
    }
}

#[test]
fn annotations_are_reachable_through_properties_alone() {
    let good = json!({ "type": "string", "x-mcp-header": "A" });
    let object = json!({ "type": "object", "properties": { "q": good } });
    for schema in [
        json!({ "items": good }),
        json!({ "items": object }),
        json!({ "prefixItems": [good] }),
        json!({ "contains": good }),
        json!({ "additionalItems": good }),
        json!({ "unevaluatedItems": good }),
        json!({ "additionalProperties": good }),
        json!({ "unevaluatedProperties": good }),
        json!({ "patternProperties": { "^a": good } }),
        json!({ "propertyNames": good }),
        json!({ "dependentSchemas": { "a": object } }),
        json!({ "dependencies": { "a": object } }),
        json!({ "oneOf": [object, {}] }),
        json!({ "anyOf": [{}, object] }),
        json!({ "allOf": [object] }),
        json!({ "not": object }),
        json!({ "if": object }),
        json!({ "then": object }),
        json!({ "else": object }),
        json!({ "$ref": "#/$defs/a", "$defs": { "a": good } }),
        json!({ "$defs": { "a": object } }),
        json!({ "definitions": { "a": good } }),
        json!({ "contentSchema": good }),
        json!({ "unknown": good }),
        json!({ "unknown": [[{ "deep": good }]] }),
        json!({ "$defs": { "const": good } }),
        json!({ "$defs": { "a": { "properties": { "default": good } } } }),
    ] {
        // At the root, in a property, and deep down where it is no longer reachable anyway.
        let with_type = json!({ "type": "object", "properties": { "p": schema } });
        for schema in [&schema, &with_type, &json!({ "allOf": [with_type] })] {
            let error = compile(schema).unwrap_err();
            assert!(matches!(error, InvalidAnnotation::Unreachable { .. }), "{schema}: {error}");
        }
    }
    assert!(
        matches!(compile(&good), Err(InvalidAnnotation::Unreachable { .. })),
        "the root is no property"
    );
}

#[test]
fn what_only_looks_like_an_annotation() {
    let data = json!({ "x-mcp-header": "A" });
    for schema in [
        json!({ "properties": { "p": { "const": data, "default": data, "enum": [data], "examples": [data] } } }),
        json!({ "items": { "default": data, "required": ["x-mcp-header"] } }),
        json!({ "dependentRequired": { "x-mcp-header": ["a"] } }),
        json!({ "$defs": { "x-mcp-header": { "type": "string" } } }),
        json!({ "properties": { "x-mcp-header": { "type": "string" } } }),
        json!({ "anyOf": [{ "properties": { "x-mcp-header": { "type": "string" } } }] }),
        json!({ "properties": { "p": true, "q": false } }),
        json!({ "description": "x-mcp-header" }),
        json!(true),
        json!({}),
    ] {
        assert!(compile(&schema).unwrap().is_empty(), "{schema}");
    }
    // A property of that name can itself be annotated.
    let plan =
        of(&json!({ "properties": { "x-mcp-header": { "type": "string", "x-mcp-header": "A" } } }))
            .unwrap();
    let lines = mirrored(&plan, Some(r#"{"p":{"x-mcp-header":"v"}}"#)).unwrap();
    assert_eq!(lines, [("mcp-param-a".to_owned(), "v".to_owned())]);
}

#[test]
fn the_keyword_may_be_escaped() {
    let schema = r#"{"properties":{"p":{"type":"string","x-mcp-h\u0065ader":"A"}}}"#;
    assert!(!ParamHeaders::compile(schema).unwrap().is_empty());
    assert!(matches!(ParamHeaders::compile("x-mcp-header"), Err(InvalidAnnotation::NotJson(_))));
    let deep = format!("{}\"x-mcp-header\"", "[".repeat(100_000));
    assert!(matches!(ParamHeaders::compile(&deep), Err(InvalidAnnotation::NotJson(_))));
}

#[test]
fn their_number_is_limited() {
    let schema = |count: usize| {
        let property =
            |n| (format!("p{n}"), json!({ "type": "string", "x-mcp-header": format!("H{n}") }));
        json!({ "properties": (0..count).map(property).collect::<serde_json::Map<_, _>>() })
    };
    assert!(compile(&schema(MAX_PARAM_HEADERS)).is_ok());
    assert!(matches!(compile(&schema(MAX_PARAM_HEADERS + 1)), Err(InvalidAnnotation::TooMany)));
}

#[test]
fn mirrors_by_the_value_found() {
    // The specification's table of encoding examples, then its type conversions.
    let rows = [
        (r#""us-west1""#, Some("us-west1")),
        (r#""Hello, 世界""#, Some("=?base64?SGVsbG8sIOS4lueVjA==?=")),
        (r#"" padded ""#, Some("=?base64?IHBhZGRlZCA=?=")),
        (r#""line1\nline2""#, Some("=?base64?bGluZTEKbGluZTI=?=")),
        (r#""=?base64?literal?=""#, Some("=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=")),
        (r#""""#, Some("")),
        ("true", Some("true")),
        ("false", Some("false")),
        ("42", Some("42")),
        ("-7", Some("-7")),
        ("42.0", Some("42")),
        ("4.2e1", Some("42")),
        ("-0", Some("0")),
        ("9007199254740991", Some("9007199254740991")),
        ("-9007199254740991", Some("-9007199254740991")),
        ("null", None),
        ("1.5", None),
        ("[1]", None),
        ("{}", None),
    ];
    for (value, expected) in rows {
        for plan in [
            of(&json!({ "type": "string", "x-mcp-header": "A" })),
            of(&json!({ "type": "integer", "x-mcp-header": "A" })),
        ] {
            let arguments = format!(r#"{{"other":0,"p":{value}}}"#);
            let lines = mirrored(&plan.unwrap(), Some(&arguments)).unwrap();
            let expected = expected.map(|value| ("mcp-param-a".to_owned(), value.to_owned()));
            assert_eq!(lines, Vec::from_iter(expected), "{value}");
        }
    }
}

#[test]
fn mirrors_along_the_exact_path() {
    let rows: &[(Option<&str>, Lines)] = &[
        (None, &[]),
        (Some("null"), &[]),
        (Some("{}"), &[]),
        (Some(r#"{"query":"q","zone":"no"}"#), &[]),
        (
            Some(r#"{"region":"r","limit":1,"dry":false,"query":"q"}"#),
            &[("dry-run", "false"), ("limit", "1"), ("region", "r")],
        ),
        (Some(r#"{"where":{"zone":"z","deep":{"er":3}}}"#), &[("deeper", "3"), ("zone", "z")]),
        (Some(r#" {"where" : {"deep":{"er":3}} } "#), &[("deeper", "3")]),
        (Some(r#"{"where":null}"#), &[]),
        (Some(r#"{"where":[{"zone":"z"}]}"#), &[]),
        (Some(r#"{"where":"zone"}"#), &[]),
        (Some(r#"{"where.zone":"z"}"#), &[]),
        (Some(r#"{"where":{"zone":null,"deep":{"er":null}}}"#), &[]),
        (Some(r#"{"r\u0065gion":"r"}"#), &[("region", "r")]),
    ];
    for (arguments, expected) in rows {
        let expected: Vec<_> = expected
            .iter()
            .map(|(name, value)| (format!("mcp-param-{name}"), (*value).to_owned()))
            .collect();
        assert_eq!(mirrored(&plan(), *arguments).unwrap(), expected, "{arguments:?}");
    }
    let mut stale = headers(&[("mcp-param-region", "old"), ("mcp-param-other", "kept")]);
    plan().mirror(None, &mut stale).unwrap();
    assert_eq!(stale, headers(&[("mcp-param-other", "kept")]));
}

#[test]
fn what_cannot_be_mirrored_is_an_error() {
    for integer in [
        "9007199254740992",
        "9007199254740993",
        "-9007199254740992",
        "1e16",
        "1e400",
        "123456789012345678901234567890",
    ] {
        let arguments = format!(r#"{{"where":{{"deep":{{"er":{integer}}}}}}}"#);
        let error = plan().mirror(Some(&arguments), &mut HeaderMap::new());
        assert_eq!(
            error,
            Err(MirrorError::UnsafeInteger { property: "\"where.deep.er\"".into() }),
            "{integer}"
        );
        for lines in [&[][..], &[("mcp-param-deeper", integer)]] {
            assert!(plan().verify(Some(&arguments), &headers(lines)).is_err(), "{integer}");
        }
    }
    let long = format!(r#"{{"region":"{}"}}"#, "r".repeat(MAX_HEADER_VALUE + 1));
    let error = plan().mirror(Some(&long), &mut HeaderMap::new());
    assert_eq!(error, Err(MirrorError::TooLong { property: "\"region\"".into() }));
    for arguments in [
        "{",
        r#"{"region":1,"region":1}"#,
        r#"{"where":{"zone":"a","zone":"a"}}"#,
        r#"{"region":"\ud800"}"#,
    ] {
        assert_eq!(
            plan().mirror(Some(arguments), &mut HeaderMap::new()),
            Err(MirrorError::Arguments),
            "{arguments}"
        );
        assert!(plan().verify(Some(arguments), &HeaderMap::new()).is_err(), "{arguments}");
    }
}
const REGION: Option<&str> = Some(r#"{"region":"Hello"}"#);
const LIMIT: Option<&str> = Some(r#"{"limit":42}"#);
const DRY: Option<&str> = Some(r#"{"dry":true}"#);

const VERIFIED: &[(Option<&str>, Lines, bool)] = &[
    (REGION, &[("Mcp-Param-Region", "Hello")], true),
    (REGION, &[("MCP-PARAM-REGION", " Hello\t")], true),
    (REGION, &[("mcp-param-region", "=?base64?SGVsbG8=?=")], true),
    (Some(r#"{"region":"SGVsbG8="}"#), &[("mcp-param-region", "SGVsbG8=")], true),
    (Some(r#"{"region":"=?base64?SGVsbG8="}"#), &[("mcp-param-region", "=?base64?SGVsbG8=")], true),
    (Some(r#"{"region":"ä"}"#), &[("mcp-param-region", "ä")], false),
    (REGION, &[("mcp-param-region", "=?base64?SGVsbG8?=")], false),
    (REGION, &[("mcp-param-region", "=?base64?SGVs!!!bG8=?=")], false),
    (REGION, &[("mcp-param-region", "hello")], false),
    (REGION, &[], false),
    (REGION, &[("mcp-param-region", "Hello"), ("mcp-param-region", "Hello")], false),
    (
        REGION,
        &[("mcp-param-region", "Hello"), ("mcp-param-query", "x"), ("mcp-param-unknown", "\u{e4}")],
        true,
    ),
    (LIMIT, &[("mcp-param-limit", "42")], true),
    (LIMIT, &[("mcp-param-limit", "42.0")], true),
    (LIMIT, &[("mcp-param-limit", "42.000")], true),
    (LIMIT, &[("mcp-param-limit", "042")], true),
    (LIMIT, &[("mcp-param-limit", "=?base64?NDI=?=")], true),
    (LIMIT, &[("mcp-param-limit", "42.")], false),
    (LIMIT, &[("mcp-param-limit", "42.5")], false),
    (LIMIT, &[("mcp-param-limit", "+42")], false),
    (LIMIT, &[("mcp-param-limit", "4.2e1")], false),
    (LIMIT, &[("mcp-param-limit", "0x2a")], false),
    (LIMIT, &[("mcp-param-limit", "4 2")], false),
    (LIMIT, &[("mcp-param-limit", "-42")], false),
    (LIMIT, &[("mcp-param-limit", "")], false),
    (LIMIT, &[("mcp-param-limit", "99999999999999999999999")], false),
    (Some(r#"{"limit":42.0}"#), &[("mcp-param-limit", "42")], true),
    (Some(r#"{"limit":0}"#), &[("mcp-param-limit", "-0")], true),
    (Some(r#"{"limit":9007199254740991}"#), &[("mcp-param-limit", "9007199254740991")], true),
    (Some(r#"{"limit":9007199254740991}"#), &[("mcp-param-limit", "9007199254740992")], false),
    // A string of digits is a string.
    (Some(r#"{"region":"42"}"#), &[("mcp-param-region", "42.0")], false),
    (DRY, &[("mcp-param-dry-run", "true")], true),
    (DRY, &[("mcp-param-dry-run", "True")], false),
    (DRY, &[("mcp-param-dry-run", "1")], false),
    (DRY, &[("mcp-param-dry-run", "false")], false),
    // What the body lacks must not be in a header, as it would be believed on the way.
    (None, &[], true),
    (None, &[("mcp-param-region", "x")], false),
    (Some("{}"), &[("mcp-param-region", "")], false),
    (Some(r#"{"region":null}"#), &[], true),
    (Some(r#"{"region":null}"#), &[("mcp-param-region", "null")], false),
    (Some(r#"{"limit":1.5}"#), &[], true),
    (Some(r#"{"limit":1.5}"#), &[("mcp-param-limit", "1.5")], false),
    (Some(r#"{"region":["Hello"]}"#), &[("mcp-param-region", "Hello")], false),
    (Some(r#"{"where":{"zone":"z"}}"#), &[("mcp-param-zone", "z")], true),
    (Some(r#"{"where":{"zone":"z"}}"#), &[], false),
    (Some(r#"{"zone":"z"}"#), &[], true),
    (Some(r#"{"region":"a","region":"Hello"}"#), &[("mcp-param-region", "Hello")], false),
    (Some(r#"{"x":1,"x":1}"#), &[], false),
    (Some(r#"{"where":{"x":1,"x":1}}"#), &[], false),
    (Some(r#"{"query":{"x":1,"x":1}}"#), &[], true),
];

#[test]
fn verifies_against_the_arguments() {
    for (arguments, lines, expected) in VERIFIED {
        let result = plan().verify(*arguments, &headers(lines));
        assert_eq!(result.is_ok(), *expected, "{arguments:?} {lines:?}: {result:?}");
    }
}

#[test]
fn messages_name_the_header_and_both_values() {
    let error = plan()
        .verify(Some(r#"{"region":"a"}"#), &headers(&[("mcp-param-region", "b")]))
        .unwrap_err();
    assert_eq!(error.to_string(), r#"the header Mcp-Param-Region says "b" but the body says "a""#);
    let error = plan().verify(Some(r#"{"region":"a"}"#), &HeaderMap::new()).unwrap_err();
    assert_eq!(error.to_string(), "the header Mcp-Param-Region is missing");
    assert_eq!(error.header(), "Mcp-Param-Region");
}

#[test]
fn an_empty_plan_looks_at_nothing() {
    let plan = ParamHeaders::compile("{}").unwrap();
    assert_eq!(plan.verify(Some("not json"), &headers(&[("mcp-param-region", "x")])), Ok(()));
    assert_eq!(plan.mirror(Some("not json"), &mut HeaderMap::new()), Ok(()));
}

proptest! {
    #[test]
    fn any_string_verifies(text in any::<String>()) {
        mirrored(&plan(), Some(&json!({ "region": text }).to_string())).unwrap();
    }

    #[test]
    fn any_integer_verifies_or_is_refused(integer in any::<i64>()) {
        let result = mirrored(&plan(), Some(&json!({ "limit": integer }).to_string()));
        prop_assert_eq!(result.is_ok(), integer.unsigned_abs() < 1 << 53);
    }

    #[test]
    fn any_number_is_taken_as_one(number in any::<f64>()) {
        let schema = r#"{"properties":{"p":{"type":"integer","x-mcp-header":"A"}}}"#;
        fuzz_params(format!("{schema}\n{}", json!({ "p": number })).as_bytes());
    }

    #[test]
    fn header_numbers_are_read_or_refused(text in "[-+]?[0-9]{0,18}[.]?[0-9e]{0,3}") {
        let expected = text.parse::<f64>().ok().filter(|n| n.fract() == 0.0 && n.abs() < 9.1e15);
        if let Some(integer) = header_integer(&text) {
            prop_assert_eq!(Some(integer as f64), expected);
        }
    }

    #[test]
    fn near_misses_do_not_panic(
        schema in r#"[{]"properties":[{]"(p|type)":[{]"(type|x-mcp-header)":"(string|a)","x-mcp-header":"[a: ]"[}]{2,3}"#,
        arguments in ".{0,20}",
    ) {
        fuzz_params(format!("{schema}\n{arguments}").as_bytes());
    }
}
