use proptest::prelude::*;
use serde_json::Value;

use super::cursor::Cursor;
use super::envelope::fuzz_scan;
use super::*;
use crate::limits::{MAX_DEPTH, MAX_ID};

/// One line that says all about a message, for tables.
fn show(body: impl AsRef<[u8]>) -> String {
    let id =
        |id: Option<mcp_types::RequestId>| id.map_or_else(|| "-".to_owned(), |id| id.to_string());
    match scan(body.as_ref()) {
        Ok(Message::Request(Request { id, method, params, .. })) => {
            format!("request {id} {method} {}", params.raw())
        }
        Ok(Message::Notification(Notification { method, params })) => {
            format!("notification {method} {}", params.raw())
        }
        Ok(Message::Response(Response { id: of, outcome: Outcome::Result(result) })) => {
            format!("result {} {}", id(of), result.raw())
        }
        Ok(Message::Response(Response { id: of, outcome: Outcome::Error(error) })) => {
            format!("error {} {error}", id(of))
        }
        Err(error) if error.is_parse() => format!("-32700 {} {error}", id(error.id.clone())),
        Err(error) => format!("-32600 {} {error}", id(error.id.clone())),
    }
}

#[test]
fn messages_by_kind() {
    let rows = [
        (r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":[1]}}"#, r#"request 1 m {"a":[1]}"#),
        (
            r#" { "params" : { } , "method" : "m" , "id" : "1" , "jsonrpc" : "2.0" } "#,
            r#"request "1" m { }"#,
        ),
        (r#"{"jsonrpc":"2.0","id":0,"method":"m"}"#, "request 0 m {}"),
        (r#"{"jsonrpc":"2.0","id":-1,"method":"m","params":null}"#, "request -1 m {}"),
        (r#"{"jsonrpc":"2.0","id":"","method":"m","other":[{}]}"#, r#"request "" m {}"#),
        (
            r#"{"jsonrpc":"2.0","id":18446744073709551615,"method":"m"}"#,
            "request 18446744073709551615 m {}",
        ),
        (r#"{"jsonrpc":"2.0","id":"☃","method":"m\u00e4\n"}"#, "request \"☃\" mä\n {}"),
        (r#"{"json\u0072pc":"2\u002e0","i\u0064":1,"method":"m"}"#, "request 1 m {}"),
        (r#"{"jsonrpc":"2.0","method":"m"}"#, "notification m {}"),
        (r#"{"jsonrpc":"2.0","method":"m","params":{"a":1}}"#, r#"notification m {"a":1}"#),
        (r#"{"jsonrpc":"2.0","id":1,"result":{"a":1}}"#, r#"result 1 {"a":1}"#),
        (r#"{"jsonrpc":"2.0","id":1,"error":{"code":1}}"#, r#"error 1 {"code":1}"#),
        (r#"{"jsonrpc":"2.0","id":null,"error":{}}"#, "error - {}"),
        (r#"{"jsonrpc":"2.0","error":{}}"#, "error - {}"),
    ];
    for (body, expected) in rows {
        assert_eq!(show(body), expected);
        fuzz_scan(body.as_bytes());
    }
}

/// The id of a request comes back with all that is said about it.
#[test]
fn ids_are_short() {
    for (length, fits) in [(MAX_ID, true), (MAX_ID + 1, false)] {
        let id = "\\n".repeat(length);
        let request = show(format!(r#"{{"jsonrpc":"2.0","id":"{id}","method":"m"}}"#));
        assert_eq!(request.starts_with("request"), fits);
        let refused = request.starts_with("-32600 \"\\n") && request.contains("longer than 1024");
        assert_eq!(refused, !fits, "{request}");
        let response = show(format!(r#"{{"jsonrpc":"2.0","id":"{id}","result":{{}}}}"#));
        assert!(response.starts_with("result"));
    }
}

const NO_MESSAGES: &[(&str, &str)] = &[
    ("[]", "-32600 - a batch is not a message"),
    (r#"[{"jsonrpc":"2.0","id":1,"method":"m"}]"#, "-32600 - a batch is not a message"),
    ("42", "-32600 - a message must be an object"),
    (" null ", "-32600 - a message must be an object"),
    ("{}", "-32600 - jsonrpc must be \"2.0\""),
    (r#"{"id":1,"method":"m"}"#, "-32600 1 jsonrpc must be \"2.0\""),
    (r#"{"jsonrpc":2.0,"id":1,"method":"m"}"#, "-32600 1 jsonrpc must be \"2.0\""),
    (r#"{"jsonrpc":"1.0","id":"a","method":"m"}"#, "-32600 \"a\" jsonrpc must be \"2.0\""),
    (
        r#"{"jsonrpc":"2.0","id":null,"method":"m"}"#,
        "-32600 - the id must be a string or an integer",
    ),
    (
        r#"{"jsonrpc":"2.0","id":1.0,"method":"m"}"#,
        "-32600 - the id must be a string or an integer",
    ),
    (
        r#"{"jsonrpc":"2.0","id":1e2,"method":"m"}"#,
        "-32600 - the id must be a string or an integer",
    ),
    (
        r#"{"jsonrpc":"2.0","id":18446744073709551616,"method":"m"}"#,
        "-32600 - the id must be a string or an integer",
    ),
    (
        r#"{"jsonrpc":"2.0","id":[1],"method":"m"}"#,
        "-32600 - the id must be a string or an integer",
    ),
    (
        r#"{"jsonrpc":"2.0","id":true,"result":{}}"#,
        "-32600 - the id must be a string or an integer",
    ),
    (r#"{"jsonrpc":"2.0","result":{}}"#, "-32600 - the id must be a string or an integer"),
    (
        r#"{"jsonrpc":"2.0","id":false,"error":{}}"#,
        "-32600 - the id must be a string or an integer",
    ),
    (r#"{"jsonrpc":"2.0","id":1}"#, "-32600 1 there is no method, result or error"),
    (
        r#"{"jsonrpc":"2.0","id":1,"method":""}"#,
        "-32600 1 the method must be a string that is not empty",
    ),
    (
        r#"{"jsonrpc":"2.0","id":1,"method":null}"#,
        "-32600 1 the method must be a string that is not empty",
    ),
    (
        r#"{"jsonrpc":"2.0","id":1,"method":7}"#,
        "-32600 1 the method must be a string that is not empty",
    ),
    (
        r#"{"jsonrpc":"2.0","id":1,"method":"m","params":[1]}"#,
        "-32600 1 the params must be an object",
    ),
    (
        r#"{"jsonrpc":"2.0","id":1,"method":"m","params":"a"}"#,
        "-32600 1 the params must be an object",
    ),
    (
        r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{}}"#,
        "-32600 1 there is more than one of method, result and error",
    ),
    (
        r#"{"jsonrpc":"2.0","id":1,"method":"m","result":{}}"#,
        "-32600 1 there is more than one of method, result and error",
    ),
    (r#"{"jsonrpc":"2.0","id":1,"result":null}"#, "-32600 1 the result must be an object"),
    (r#"{"jsonrpc":"2.0","id":1,"error":null}"#, "-32600 1 the error must be an object"),
    (r#"{"jsonrpc":"2.0","id":1,"id":1,"method":"m"}"#, "-32600 - the key \"id\" is there twice"),
    (
        r#"{"jsonrpc":"2.0","id":1,"method":"m","method":"n"}"#,
        "-32600 1 the key \"method\" is there twice",
    ),
    (
        r#"{"jsonrpc":"2.0","id":1,"method":"m","metho\u0064":"n"}"#,
        "-32600 1 the key \"method\" is there twice",
    ),
    (
        r#"{"jsonrpc":"2.0","id":1,"method":"m","x":1,"x":2}"#,
        "-32600 1 the key \"x\" is there twice",
    ),
    (
        r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{},"params":{}}"#,
        "-32600 1 the key \"params\" is there twice",
    ),
    (
        r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":1,"\u0061":2}}"#,
        "-32600 1 the key \"a\" is there twice",
    ),
    (
        r#"{"jsonrpc":"2.0","id":1,"result":{"a":1,"b":2,"a":3}}"#,
        "-32600 1 the key \"a\" is there twice",
    ),
];

#[test]
fn json_that_is_no_message() {
    for (body, expected) in NO_MESSAGES {
        assert_eq!(show(body), *expected, "{body}");
        fuzz_scan(body.as_bytes());
    }
}
const NO_JSON: &[(&[u8], &str)] = &[
    (b"", "-32700 - expected a value at byte 0"),
    (b" \n", "-32700 - expected a value at byte 2"),
    (b"\xef\xbb\xbf{}", "-32700 - expected a value at byte 0"),
    (b"garbage", "-32700 - expected a value at byte 0"),
    (b"[1,]", "-32700 - expected a value at byte 3"),
    (b"{\"a\":\"\xff\"}", "-32700 - not UTF-8 at byte 6"),
    (b"{\"a\":\"\xc3", "-32700 - not UTF-8 at byte 6"),
    (b"{} {}", "-32700 - expected nothing more at byte 3"),
    (b"{}\0", "-32700 - expected nothing more at byte 2"),
    (b"{\"a\" 1}", "-32700 - expected a colon at byte 5"),
    (b"{a:1}", "-32700 - expected a key at byte 1"),
    (b"{'a':1}", "-32700 - expected a key at byte 1"),
    (b"{\"a\":1,}", "-32700 - expected a key at byte 7"),
    (b"{\"a\":[1 2]}", "-32700 - expected a comma or the end of the array at byte 8"),
    (b"{\"a\":{\"b\":1]}", "-32700 - expected a comma or the end of the object at byte 11"),
    (b"{\"a\":\"\x01\"}", "-32700 - expected an escape instead of a control character at byte 6"),
    (b"{\"a\":\"\\x\"}", "-32700 - expected an escape at byte 7"),
    (b"{\"a\":\"\\u12g4\"}", "-32700 - expected four hexadecimal digits at byte 8"),
    (b"{\"a\":\"\\ud800\"}", "-32700 - expected the other half of a surrogate pair at byte 12"),
    (b"{\"a\":\"\\udc00\"}", "-32700 - expected a whole surrogate pair at byte 12"),
    (b"{\"a\":NaN}", "-32700 - expected a value at byte 5"),
    (b"{\"a\":nul}", "-32700 - expected a value at byte 5"),
    (b"{\"a\":01}", "-32700 - expected a comma or the end of the object at byte 6"),
    (b"{\"a\":+1}", "-32700 - expected a value at byte 5"),
    (b"{\"a\":1.}", "-32700 - expected a digit at byte 7"),
    (b"{\"a\":1e}", "-32700 - expected a digit at byte 7"),
    (b"{\"a\":-}", "-32700 - expected a digit at byte 6"),
    (b"{\"a\":\"open", "-32700 - expected the end of the string at byte 10"),
    // An id that was read whole is given back, one that may be cut off is not.
    (b"{\"id\":12,\"a\":", "-32700 12 expected a value at byte 13"),
    (b"{\"id\":12", "-32700 - expected a comma or the end of the object at byte 8"),
    (b"{\"id\":1,\"id\":2,!", "-32700 - expected a key at byte 15"),
];

#[test]
fn no_json() {
    for (body, expected) in NO_JSON {
        assert_eq!(show(body), *expected, "{:?}", String::from_utf8_lossy(body));
        fuzz_scan(body);
    }
}

#[test]
fn depth_is_bounded_and_needs_no_stack() {
    let nest = |levels: usize| {
        format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"m","params":{{"a":{}{}}}}}"#,
            "[".repeat(levels),
            "]".repeat(levels)
        )
    };
    assert!(show(nest(MAX_DEPTH - 2)).starts_with("request 7"));
    assert!(show(nest(MAX_DEPTH - 1)).starts_with("-32700 7 nested more than 128 deep"));

    // What is admitted decodes: the deepest params, taken on their own.
    let body = nest(MAX_DEPTH - 2);
    let Ok(Message::Request(request)) = scan(body.as_bytes()) else { panic!() };
    assert!(serde_json::from_str::<Value>(request.params.raw()).is_ok());

    for open in ["[", "{\"a\":", "[{\"a\":"] {
        let bomb = open.repeat(100_000);
        assert!(show(&bomb).starts_with("-32700 - nested"), "{open}");
        assert!(show(format!("{{\"params\":{bomb}")).starts_with("-32700 - nested"), "{open}");
        assert!(matches!(Object::parse(&bomb), Err(InvalidObject::Syntax(_))));
    }
}

#[test]
fn members_of_an_object() {
    let text = r#" {"a":1, "b\n" : [ 2 ] ,"":null} "#;
    let object = Object::parse(text).unwrap();
    assert_eq!(object.raw(), text.trim());
    assert_eq!(object.get("b\n"), Some("[ 2 ]"));
    assert_eq!(object.get("c"), None);
    assert_eq!(object.iter().collect::<Vec<_>>(), [("a", "1"), ("b\n", "[ 2 ]"), ("", "null")]);
    assert_eq!((object.len(), object.is_empty()), (3, false));
    assert_eq!((Object::default().raw(), Object::default().is_empty()), ("{}", true));

    assert_eq!(Object::parse("[]").err(), Some(InvalidObject::NotAnObject));
    assert_eq!(
        Object::parse(r#"{"a":1,"a":1}"#).err(),
        Some(InvalidObject::RepeatedKey("\"a\"".into()))
    );
    assert!(matches!(Object::parse("{}x"), Err(InvalidObject::Syntax(_))));
}

/// Quadratic work would take minutes here.
#[test]
fn many_members_stay_linear() {
    let members: Vec<String> = (0..100_000).map(|n| format!("\"key{n}\":{n}")).collect();
    let object = format!("{{{}}}", members.join(","));
    assert_eq!(Object::parse(&object).unwrap().len(), 100_000);
    let envelope = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m",{}}}"#, members.join(","));
    assert!(show(envelope).starts_with("request 1 m"));
    let repeated = format!(r#"{{{},"key7":1}}"#, members.join(","));
    assert_eq!(Object::parse(&repeated).err(), Some(InvalidObject::RepeatedKey("\"key7\"".into())));
}

#[test]
fn strings_decode() {
    let rows = [
        (r#""""#, Some("")),
        (r#""a""#, Some("a")),
        (r#""\ud83d\ude00\"\\\/\b\f\n\r\t""#, Some("😀\"\\/\u{8}\u{c}\n\r\t")),
        (r#""\ud83d""#, None),
        (r#""a"b""#, None),
        (r#" "a""#, None),
        ("a", None),
        ("\"a", None),
        ("", None),
    ];
    for (raw, expected) in rows {
        assert_eq!(decode_string(raw).as_deref(), expected, "{raw}");
    }
}

/// The end of a string is found wherever it lies within a block.
#[test]
fn string_ends_at_any_offset() {
    for length in 0..100 {
        for special in ["\"", "\\\"", "\u{1}", "é"] {
            let text = format!("\"{}{special}", "x".repeat(length));
            let whole = format!("{text}\"");
            assert_eq!(accepts(&text), special == "\"");
            assert_eq!(accepts(&whole), matches!(special, "\\\"" | "é"), "{whole}");
        }
    }
}

fn accepts(text: &str) -> bool {
    let mut cursor = Cursor::new(text);
    cursor.whitespace();
    cursor.value(0).and_then(|_| cursor.end()).is_ok()
}

/// serde_json is right about the grammar, except that it wants numbers to fit a double.
fn agrees(text: &str) {
    match serde_json::from_str::<Value>(text) {
        Err(error) if error.to_string().contains("out of range") => {}
        oracle => assert_eq!(accepts(text), oracle.is_ok(), "{text:?}"),
    }
}

fn agrees_if_text(bytes: &[u8]) {
    if let Ok(text) = str::from_utf8(bytes) {
        agrees(text);
    }
}

const CORPUS: &[&str] = &[
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":-0.5e+10,"b":[]},"_meta":{}}}"#,
    r#"{"jsonrpc":"2.0","id":"x\ud83d\ude00","result":{"content":[{"type":"text","text":"ä\u00e4\\\n"}],"isError":false}}"#,
    r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m","data":[true,false,null,0,1e5,{"a":{}}]}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":0.5}}"#,
    r#"[0,-1,1.5,1E-2,"",[[],{}],"\b\f\n\r\t\/\"\\"]"#,
    "\"a long string, longer than one block of bytes, with ä in it and an \\u0041 escape\"",
];

#[test]
fn agrees_with_serde_json_on_every_cut_and_change() {
    const BYTES: &[u8] = b"\"\\{}[]:,-+.eE019tfnu \n\t\0\x1fA";
    for text in CORPUS {
        for at in 0..=text.len() {
            if let Some(cut) = text.get(..at) {
                agrees(cut);
                fuzz_scan(cut.as_bytes());
            }
            for byte in BYTES {
                let mut changed = text.as_bytes().to_vec();
                changed.insert(at, *byte);
                agrees_if_text(&changed);
                fuzz_scan(&changed);
                if at < text.len() {
                    changed.remove(at + 1);
                    agrees_if_text(&changed);
                    fuzz_scan(&changed);
                }
            }
        }
    }
}

/// Any JSON value, as text with white space in it.
fn any_json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        any::<bool>().prop_map(|b| b.to_string()),
        any::<f64>()
            .prop_filter("JSON has no such numbers", |n| n.is_finite())
            .prop_map(|n| n.to_string()),
        any::<i64>().prop_map(|n| n.to_string()),
        any::<String>().prop_map(|s| Value::from(s).to_string()),
    ];
    leaf.prop_recursive(6, 64, 6, |inner| {
        let key = any::<String>().prop_map(|s| Value::from(s).to_string());
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6)
                .prop_map(|items| format!("[ {}]", items.join(" ,"))),
            prop::collection::vec((key, inner), 0..6).prop_map(|members| {
                let members: Vec<_> =
                    members.iter().map(|(key, value)| format!("{key} :\n{value}")).collect();
                format!("{{{}\t}}", members.join(","))
            }),
        ]
    })
}

proptest! {
    #[test]
    fn accepts_all_json(text in any_json()) {
        prop_assert!(accepts(&text));
        prop_assert!(serde_json::from_str::<Value>(&text).is_ok());
    }

    #[test]
    fn agrees_with_serde_json(
        text in any_json(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        remove in any::<bool>(),
    ) {
        let mut bytes = text.into_bytes();
        let at = at.index(bytes.len());
        if remove { bytes.remove(at); } else { bytes[at] = byte; }
        agrees_if_text(&bytes);
    }

    #[test]
    fn spans_are_right(params in any_json(), id in any::<i64>()) {
        let request = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m","params":{params}}}"#);
        fuzz_scan(request.as_bytes());
        let result = format!(r#"{{"result" : {{"a":{params}}} ,"id": {id}, "jsonrpc":"2.0"}}"#);
        fuzz_scan(result.as_bytes());
    }

    #[test]
    fn no_bytes_panic(bytes in any::<Vec<u8>>()) {
        fuzz_scan(&bytes);
    }
}

#[test]
fn the_meta_of_a_request_is_found_in_the_same_pass() {
    let request = |params: &str| {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{params}}}"#);
        match scan(body.as_bytes()) {
            Ok(Message::Request(request)) => Ok((
                request.params.get("_meta").map(str::to_owned),
                request.meta.map(|meta| (meta.raw().to_owned(), meta.len())),
            )),
            Ok(_) => panic!("a request"),
            Err(error) => Err(error.is_parse()),
        }
    };
    let table = [
        ("{}", Ok((None, None))),
        (r#"{"_meta":null}"#, Ok((Some("null"), None))),
        (r#"{"_meta":[{}]}"#, Ok((Some("[{}]"), None))),
        (r#"{"_meta":{}}"#, Ok((Some("{}"), Some(("{}", 0))))),
        (r#"{"a":1,"_meta": {"b":{"b":2,"b":2}} }"#, {
            let meta = r#"{"b":{"b":2,"b":2}}"#;
            Ok((Some(meta), Some((meta, 1))))
        }),
        (r#"{"\u005fmeta":{"a":1}}"#, Ok((Some(r#"{"a":1}"#), Some((r#"{"a":1}"#, 1))))),
        (r#"{"_meta":{"a":1,"a":2}}"#, Err(false)),
        (r#"{"_meta":{"a":1,"\u0061":2}}"#, Err(false)),
        (r#"{"_meta":{},"_meta":{}}"#, Err(false)),
        (r#"{"_meta":{"a"}}"#, Err(true)),
    ];
    for (params, expected) in table {
        let expected = expected.map(|(raw, meta)| {
            (raw.map(str::to_owned), meta.map(|(raw, len)| (raw.to_owned(), len)))
        });
        assert_eq!(request(params), expected, "{params}");
    }
}
