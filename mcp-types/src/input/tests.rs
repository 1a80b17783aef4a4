use super::*;
use crate::{ContentBlock, Number, Tool};

fn round<T: Serialize + DeserializeOwned>(text: &str) -> T {
    let value: T = serde_json::from_str(text).unwrap();
    assert_eq!(serde_json::to_string(&value).unwrap(), text);
    value
}

#[test]
fn nothing_required_cannot_be_said() {
    assert_eq!(InputRequired::new(InputRequests::new(), None), Err(NothingRequired));
    for text in [
        "{}",
        r#"{"inputRequests":{}}"#,
        r#"{"inputRequests":null,"requestState":null}"#,
        r#"{"_meta":{}}"#,
    ] {
        assert!(serde_json::from_str::<InputRequired>(text).is_err(), "{text}");
    }
}

#[test]
fn either_of_the_two_is_enough() {
    let state: InputRequired = round(r#"{"requestState":"s"}"#);
    assert_eq!(state, InputRequired::retry("s".into()));
    let both: InputRequired = round(
        r#"{"_meta":{"a":1},"inputRequests":{"b":{"method":"roots/list"},"a":{"method":"roots/list"}},"requestState":""}"#,
    );
    assert_eq!(both.input_requests().iter().map(|(key, _)| key).collect::<Vec<_>>(), ["b", "a"]);
    assert_eq!(both.into_parts().1.unwrap().as_str(), "");
}

#[test]
fn a_state_stays_out_of_logs() {
    let input = InputRequired::retry("secret".into());
    assert!(!format!("{input:?}").contains("secret"), "{input:?}");
}

#[test]
fn a_request_goes_by_its_method() {
    let form = r#"{"method":"elicitation/create","params":{"mode":"form","message":"m","requestedSchema":{"type":"object","properties":{}}}}"#;
    assert_eq!(round::<InputRequest>(form).method(), "elicitation/create");
    let url = r#"{"method":"elicitation/create","params":{"mode":"url","message":"m","url":"https://a.b/"}}"#;
    assert!(matches!(round(url), InputRequest::Elicit(ElicitParams::Url(_))));
    let sampling = r#"{"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"x"}}],"maxTokens":5}}"#;
    assert_eq!(round::<InputRequest>(sampling).method(), "sampling/createMessage");
    let roots = r#"{"method":"roots/list","params":{"_meta":{"a":{"n": 50}}}}"#;
    assert_eq!(round::<InputRequest>(roots).method(), "roots/list");
}

#[test]
fn what_is_no_request_is_refused() {
    for text in [
        "{}",
        r#"{"method":"tools/call","params":{}}"#,
        r#"{"method":"elicitation/create"}"#,
        r#"{"method":"elicitation/create","params":{"mode":"voice","message":"m"}}"#,
        r#"{"method":"elicitation/create","params":{"message":"m"}}"#,
        r#"{"params":{"message":"m"}}"#,
        r#"{"method":7}"#,
    ] {
        assert!(serde_json::from_str::<InputRequest>(text).is_err(), "{text}");
    }
}

#[test]
fn a_mode_may_be_absent_or_late() {
    let schema = r#""requestedSchema":{"type":"object","properties":{}}"#;
    for mode in ["", r#","mode":"form""#] {
        let text = format!(r#"{{"message":"m",{schema}{mode}}}"#);
        assert!(matches!(serde_json::from_str(&text).unwrap(), ElicitParams::Form(_)), "{text}");
    }
    let url = r#"{"url":"a:b","message":"m","mode":"url"}"#;
    assert!(matches!(serde_json::from_str(url).unwrap(), ElicitParams::Url(_)));
}

#[test]
fn an_answer_is_read_as_what_was_asked() {
    let text = r#"{"e":{"action":"accept","content":{"n": 1.0}},"s":{"role":"assistant","content":{"type":"text","text":"x"},"model":"m"},"r":{"roots":[]}}"#;
    let answers: InputResponses = round(text);
    let content = answers.elicitation("e").unwrap().unwrap().content.unwrap();
    assert_eq!(content.get(), r#"{"n": 1.0}"#);
    assert_eq!(answers.sampling("s").unwrap().unwrap().model, "m");
    assert!(answers.roots("r").unwrap().unwrap().roots.is_empty());
    assert!(answers.elicitation("x").is_none());
    assert!(answers.elicitation("r").unwrap().is_err());
    assert!(answers.roots("e").unwrap().is_err());
}

#[test]
fn an_answer_is_an_object() {
    let mut answers = InputResponses::new();
    answers.insert("a", &ElicitResult::of(ElicitAction::Decline)).unwrap();
    assert!(answers.insert("b", "text").is_err());
    assert!(answers.insert("c", &()).is_err());
    assert_eq!(serde_json::to_string(&answers).unwrap(), r#"{"a":{"action":"decline"}}"#);
    assert!(ElicitResult::accept(&[1]).is_err());
    for text in [r#"{"action":"accept","content":null}"#, r#"{"action":"ok"}"#, "{}"] {
        assert!(serde_json::from_str::<ElicitResult>(text).is_err(), "{text}");
    }
}

#[test]
fn a_form_is_built_and_written() {
    let form = ElicitationSchema::new()
        .required("mail", StringSchema::default().title("E-mail").format(StringFormat::Email))
        .optional("age", PrimitiveSchema::Integer(NumberSchema::default().minimum(0)))
        .optional("news", BooleanSchema::default().default_value(false))
        .optional("color", SingleSelectSchema::new(["red", "blue"]))
        .optional(
            "size",
            SingleSelectSchema::new([("s", "Small"), ("l", "Large")]).default_value("s"),
        )
        .optional("days", MultiSelectSchema::new(["mon", "tue"]).max_items(1_u64));
    let text = serde_json::to_string(&form).unwrap();
    assert_eq!(
        text,
        concat!(
            r#"{"type":"object","properties":{"#,
            r#""mail":{"type":"string","title":"E-mail","format":"email"},"#,
            r#""age":{"type":"integer","minimum":0},"#,
            r#""news":{"type":"boolean","default":false},"#,
            r#""color":{"type":"string","enum":["red","blue"]},"#,
            r#""size":{"type":"string","oneOf":[{"const":"s","title":"Small"},{"const":"l","title":"Large"}],"default":"s"},"#,
            r#""days":{"type":"array","maxItems":1,"items":{"type":"string","enum":["mon","tue"]}}"#,
            r#"},"required":["mail"]}"#,
        )
    );
    assert_eq!(serde_json::from_str::<ElicitationSchema>(&text).unwrap(), form);
}

#[test]
fn a_field_is_what_its_type_says() {
    use PrimitiveSchema::{Integer, MultiSelect, Number, SingleSelect, String};
    let read = |text: &str| serde_json::from_str::<PrimitiveSchema>(text).unwrap();
    assert!(matches!(read(r#"{"type":"string"}"#), String(_)));
    assert!(matches!(read(r#"{"type":"string","pattern":"a"}"#), String(_)));
    assert!(matches!(read(r#"{"enum":["a"],"type":"string"}"#), SingleSelect(_)));
    assert!(matches!(read(r#"{"type":"number","default":0.5}"#), Number(_)));
    assert!(matches!(read(r#"{"type":"integer"}"#), Integer(_)));
    assert!(matches!(read(r#"{"type":"array","items":{"anyOf":[]}}"#), MultiSelect(_)));
    for text in [r#"{"type":"object"}"#, r#"{"type":"array"}"#, r#"{"title":"t"}"#, "{}", "true"] {
        assert!(serde_json::from_str::<PrimitiveSchema>(text).is_err(), "{text}");
    }
    let odd: StringFormat = round(r#""hostname""#);
    assert_eq!(odd, StringFormat::Other("hostname".into()));
}

#[test]
fn one_or_many_stays_what_it_was() {
    let one: SamplingMessage = round(r#"{"role":"user","content":{"type":"text","text":"x"}}"#);
    assert_eq!(one, SamplingMessage::user("x"));
    let many: SamplingMessage = round(
        r#"{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"n","input":{"a": [1.0]}}]}"#,
    );
    let [SamplingContent::ToolUse(tool_use)] = many.content.as_slice() else { panic!("{many:?}") };
    assert_eq!(tool_use.input.get(), r#"{"a": [1.0]}"#);
    let none: SamplingMessage = round(r#"{"role":"user","content":[]}"#);
    assert!(none.content.as_slice().is_empty());
    for content in ["null", r#""x""#, "7", "[[]]"] {
        let text = format!(r#"{{"role":"user","content":{content}}}"#);
        assert!(serde_json::from_str::<SamplingMessage>(&text).is_err(), "{text}");
    }
}

#[test]
fn what_a_model_is_asked() {
    let params = CreateMessageParams::new([SamplingMessage::user("x")], 10)
        .temperature(Number::from(0.5))
        .tools([Tool::new("t", serde_json::json!({"type":"object"}))])
        .tool_choice(ToolChoice { mode: Some(ToolChoiceMode::Required) });
    assert_eq!(
        serde_json::to_string(&params).unwrap(),
        r#"{"messages":[{"role":"user","content":{"type":"text","text":"x"}}],"temperature":0.5,"maxTokens":10,"tools":[{"name":"t","inputSchema":{"type":"object"}}],"toolChoice":{"mode":"required"}}"#
    );
    let own: StopReason = round(r#""refusal""#);
    assert_eq!(own, StopReason::Other("refusal".into()));
    assert_eq!(round::<StopReason>(r#""endTurn""#), StopReason::EndTurn);
}

#[test]
fn a_tool_result_holds_content_of_tools() {
    let text = r#"{"type":"tool_result","toolUseId":"1","content":[{"type":"resource_link","uri":"a:b","name":"n"}],"structuredContent":null,"isError":false}"#;
    let SamplingContent::ToolResult(result) = round(text) else { panic!("not a result") };
    assert!(matches!(result.content[..], [ContentBlock::ResourceLink(_)]));
    assert_eq!(result.structured_content.unwrap().get(), "null");
}
