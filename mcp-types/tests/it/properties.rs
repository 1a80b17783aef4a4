//! What holds of all values, not only of the ones somebody thought of.

use mcp_types::{
    Base64, ContentBlock, JsonMap, MetaKey, Number, ProgressToken, ProtocolVersion, RawJson,
    RequestId, RequestMeta,
};
use proptest::prelude::*;
use serde_json::Value;

use crate::bindings::BINDINGS;

/// Any JSON, a few levels deep.
fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".*".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((".*", inner), 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Any JSON object with these members, in any order among others.
fn object_with(known: &'static [(&'static str, &'static str)]) -> impl Strategy<Value = String> {
    let others = prop::collection::btree_map("[a-z]{3}[0-9]", json(), 0..4);
    others.prop_flat_map(move |others| {
        let mut members: Vec<String> =
            others.iter().map(|(key, value)| format!("{key:?}:{value}")).collect();
        members.extend(known.iter().map(|(key, value)| format!("{key:?}:{value}")));
        Just(members).prop_shuffle().prop_map(|members| format!("{{{}}}", members.join(",")))
    })
}

proptest! {
    #[test]
    fn an_id_comes_back_as_it_came(value in json()) {
        let text = value.to_string();
        let decoded = serde_json::from_str::<RequestId>(&text);
        prop_assert_eq!(decoded.is_ok(), value.is_string() || value.is_i64() || value.is_u64());
        prop_assert_eq!(RequestId::from_json(&text).ok(), decoded.as_ref().ok().cloned());
        if let Ok(id) = decoded {
            let token: ProgressToken = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(serde_json::to_string(&token).unwrap(), serde_json::to_string(&id).unwrap());
            prop_assert_eq!(serde_json::to_string(&id).unwrap(), text);
        }
    }

    #[test]
    fn no_text_breaks_the_reading_of_ids(text in r#"[-+0-9eE.\\"a]{0,12}"#) {
        let ours = RequestId::from_json(&text).ok();
        prop_assert_eq!(ours, serde_json::from_str(&text).ok());
    }

    #[test]
    fn a_version_comes_back_as_it_came(text in ".*") {
        let version = ProtocolVersion::from(text.as_str());
        let json = serde_json::to_string(&version).unwrap();
        prop_assert_eq!(serde_json::from_str::<ProtocolVersion>(&json).unwrap(), version);
    }

    #[test]
    fn a_number_keeps_its_value(n in any::<f64>(), m in any::<i64>()) {
        let text = serde_json::to_string(&Number::from(n)).unwrap();
        prop_assert_eq!(serde_json::from_str::<Number>(&text).unwrap(), Number::from(n));
        prop_assert_eq!(serde_json::to_string(&Number::from(m)).unwrap(), m.to_string());
    }

    #[test]
    fn bytes_come_back(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let json = serde_json::to_string(&Base64::from(bytes.clone())).unwrap();
        prop_assert_eq!(serde_json::from_str::<Base64>(&json).unwrap().into_bytes(), bytes);
    }

    #[test]
    fn base64_has_one_spelling(text in "[A-D/+=-]{0,9}") {
        let json = format!("{text:?}");
        if let Ok(bytes) = serde_json::from_str::<Base64>(&json) {
            prop_assert_eq!(serde_json::to_string(&bytes).unwrap(), json);
        }
    }

    #[test]
    fn a_key_is_its_prefix_and_its_name(text in "[a-z0-9./_-]{0,12}") {
        if let Ok(key) = MetaKey::new(&text) {
            let slash = if key.prefix().is_some() { "/" } else { "" };
            prop_assert_eq!(format!("{}{slash}{}", key.prefix().unwrap_or(""), key.name()), text);
        }
    }

    #[test]
    fn raw_json_is_untouched(value in json()) {
        let text = format!(" {value:#} ");
        let raw: RawJson = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(raw.get(), text.trim());
    }

    #[test]
    fn no_key_occurs_twice(keys in prop::collection::vec("[ab]{1,5}", 0..40)) {
        let members: Vec<String> = keys.iter().map(|key| format!("{key:?}:1")).collect();
        let text = format!("{{{}}}", members.join(","));
        let unique = keys.iter().collect::<std::collections::HashSet<_>>().len() == keys.len();
        prop_assert_eq!(serde_json::from_str::<JsonMap>(&text).is_ok(), unique);
        prop_assert_eq!(serde_json::from_str::<RequestMeta>(&text).is_ok(), unique);
    }

    #[test]
    fn a_request_meta_keeps_every_member(text in object_with(&[
        ("io.modelcontextprotocol/protocolVersion", r#""2026-07-28""#),
        ("io.modelcontextprotocol/clientCapabilities", r#"{"x":{},"sampling":{"y":1}}"#),
        ("progressToken", "50"),
        ("traceparent", "7"),
    ])) {
        let meta: RequestMeta = serde_json::from_str(&text).unwrap();
        let again = serde_json::to_string(&meta).unwrap();
        prop_assert_eq!(
            serde_json::from_str::<Value>(&again).unwrap(),
            serde_json::from_str::<Value>(&text).unwrap()
        );
    }

    #[test]
    fn the_members_of_content_come_in_any_order(text in object_with(&[
        ("type", r#""text""#),
        ("text", r#""x""#),
        ("_meta", r#"{"k":{"n":1}}"#),
    ])) {
        let block: ContentBlock = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(block.as_text(), Some("x"));
        let kept = serde_json::to_string(&block).unwrap().contains(r#""_meta":{"k":{"n":1}}"#);
        prop_assert!(kept);
    }

    #[test]
    fn content_of_unknown_type_is_kept_whole(text in object_with(&[("type", r#""video""#)])) {
        let block: ContentBlock = serde_json::from_str(&text).unwrap();
        let again = serde_json::to_string(&block).unwrap();
        prop_assert_eq!(
            serde_json::from_str::<Value>(&again).unwrap(),
            serde_json::from_str::<Value>(&text).unwrap()
        );
    }

    #[test]
    fn no_json_panics(value in json()) {
        let text = value.to_string();
        for binding in BINDINGS {
            let _ = (binding.round_trip)(&text);
        }
    }
}
