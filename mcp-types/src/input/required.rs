//! What a client must have declared to be asked something.

use super::{ElicitParams, InputRequest, InputRequired};
use crate::{ClientCapabilities, JsonMap};

impl InputRequired {
    /// What a client must have declared to be sent this. A server answers one that did not with -32021
    /// instead. Specification: Multi Round-Trip Requests, Server Requirements.
    pub fn required_capabilities(&self) -> ClientCapabilities {
        let mut required = ClientCapabilities::default();
        for (_, request) in self.input_requests().iter() {
            request.require(&mut required);
        }
        required
    }
}

impl InputRequest {
    /// Adds what this request needs.
    fn require(&self, required: &mut ClientCapabilities) {
        match self {
            Self::Elicit(ElicitParams::Form(_)) => {
                required.elicitation.get_or_insert_default().form = Some(JsonMap::new());
            }
            Self::Elicit(ElicitParams::Url(_)) => {
                required.elicitation.get_or_insert_default().url = Some(JsonMap::new());
            }
            Self::CreateMessage(params) => {
                let sampling = required.sampling.get_or_insert_default();
                if params.tools.is_some() || params.tool_choice.is_some() {
                    sampling.tools = Some(JsonMap::new());
                }
            }
            Self::ListRoots(_) => required.roots = Some(JsonMap::new()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_request_needs_its_own() {
        let form = r#"{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{}}}}"#;
        let url = r#"{"method":"elicitation/create","params":{"mode":"url","message":"m","url":"https://a.example"}}"#;
        let sample =
            r#"{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}"#;
        let tools = r#"{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1,"tools":[]}}"#;
        let roots = r#"{"method":"roots/list"}"#;
        let table = [
            (vec![form], r#"{"elicitation":{"form":{}}}"#),
            (vec![url], r#"{"elicitation":{"url":{}}}"#),
            (vec![form, url], r#"{"elicitation":{"form":{},"url":{}}}"#),
            (vec![sample], r#"{"sampling":{}}"#),
            (vec![sample, tools, roots], r#"{"roots":{},"sampling":{"tools":{}}}"#),
        ];
        for (requests, required) in table {
            let members: Vec<_> = requests
                .iter()
                .enumerate()
                .map(|(n, request)| format!("\"{n}\":{request}"))
                .collect();
            let text = format!(r#"{{"inputRequests":{{{}}}}}"#, members.join(","));
            let input: InputRequired = serde_json::from_str(&text).unwrap();
            let found = serde_json::to_string(&input.required_capabilities()).unwrap();
            assert_eq!(found, required, "{text}");
        }
    }
}
