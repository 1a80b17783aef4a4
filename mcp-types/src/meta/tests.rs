use super::*;

const REQUEST: &str = r#"{"progressToken":50,"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"roots":{}},"io.modelcontextprotocol/logLevel":"warning","traceparent":"00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01","com.example/x":{"n": 50}}"#;

#[test]
fn a_request_meta_survives_whole() {
    let meta: RequestMeta = serde_json::from_str(REQUEST).unwrap();
    assert_eq!(meta.progress_token, Some(50.into()));
    assert_eq!(meta.protocol_version, Some(ProtocolVersion::LATEST));
    assert_eq!(meta.client_info.as_ref().unwrap().name, "c");
    assert!(meta.client_capabilities.as_ref().unwrap().roots.is_some());
    assert_eq!(meta.log_level, Some(LoggingLevel::Warning));
    assert_eq!(meta.trace_context().traceparent.unwrap().len(), 55);
    assert_eq!(serde_json::to_string(&meta).unwrap(), REQUEST);
}

#[test]
fn identity_is_tolerated_and_the_rest_is_not() {
    let ignored = r#"{"io.modelcontextprotocol/clientInfo":7}"#;
    assert_eq!(serde_json::from_str::<RequestMeta>(ignored).unwrap().client_info, None);
    let ignored = r#"{"io.modelcontextprotocol/serverInfo":{"name":1}}"#;
    assert_eq!(serde_json::from_str::<ResultMeta>(ignored).unwrap().server_info, None);
    for refused in [
        r#"{"progressToken":1.5}"#,
        r#"{"progressToken":null}"#,
        r#"{"io.modelcontextprotocol/protocolVersion":1}"#,
        r#"{"io.modelcontextprotocol/clientCapabilities":[]}"#,
        r#"{"io.modelcontextprotocol/logLevel":"loud"}"#,
        r#"{"a":1,"a":2}"#,
        "[]",
        "null",
    ] {
        assert!(serde_json::from_str::<RequestMeta>(refused).is_err(), "{refused}");
    }
}

#[test]
fn reading_is_lenient_about_names_and_writing_is_not() {
    let odd = r#"{"-odd name-":1}"#;
    let mut meta: RequestMeta = serde_json::from_str(odd).unwrap();
    assert_eq!(serde_json::to_string(&meta).unwrap(), odd);
    assert_eq!(meta.insert("-odd name-", &1), Err(InvalidMetaKey::Name));
    assert_eq!(meta.insert("progressToken", &1), Err(InvalidMetaKey::Typed));
    meta.insert("com.example/ok", &[1, 2]).unwrap();
    assert_eq!(meta.other.decode::<Vec<u8>>("com.example/ok"), Some(vec![1, 2]));
}

#[test]
fn a_trace_context_goes_round() {
    let trace = TraceContext {
        traceparent: Some("00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01".into()),
        tracestate: Some("vendor=1".into()),
        baggage: None,
    };
    let mut meta = NotificationMeta::default();
    meta.set_trace_context(&trace);
    assert_eq!(meta.trace_context(), trace);
}
