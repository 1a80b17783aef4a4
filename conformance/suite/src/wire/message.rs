//! `Message`: a JSON-RPC message, right unless a check bends it.

use serde_json::{Map, Value, json};

/// The revision that is tested.
pub(crate) const VERSION: &str = "2026-07-28";

/// Keys of `_meta`.
pub(crate) const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
pub(crate) const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
pub(crate) const META_INFO: &str = "io.modelcontextprotocol/clientInfo";
pub(crate) const META_LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
pub(crate) const META_SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// A message about to be sent. Each method takes it and gives it back changed.
#[derive(Clone, Debug)]
pub(crate) struct Message(Map<String, Value>);

impl Message {
    /// A request that says all that it has to. It declares elicitation, sampling and roots.
    pub(crate) fn request(id: impl Into<Value>, method: &str) -> Self {
        let meta = json!({
            META_VERSION: VERSION,
            META_CAPABILITIES: { "elicitation": { "form": {}, "url": {} }, "sampling": {}, "roots": {} },
            META_INFO: { "name": "mcp-conformance", "version": env!("CARGO_PKG_VERSION") },
        });
        let mut members = Map::new();
        members.insert("jsonrpc".into(), "2.0".into());
        members.insert("id".into(), id.into());
        members.insert("method".into(), method.into());
        members.insert("params".into(), json!({ "_meta": meta }));
        Self(members)
    }

    /// A notification that says all that it has to.
    pub(crate) fn notification(method: &str) -> Self {
        Self::request(0, method).without("id")
    }

    /// A member of the message itself.
    pub(crate) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.insert(name.into(), value.into());
        self
    }

    /// The message without a member.
    pub(crate) fn without(mut self, name: &str) -> Self {
        self.0.remove(name);
        self
    }

    /// A member of the params.
    pub(crate) fn param(mut self, name: &str, value: impl Into<Value>) -> Self {
        if let Some(params) = self.0.get_mut("params").and_then(Value::as_object_mut) {
            params.insert(name.into(), value.into());
        }
        self
    }

    /// The params without a member.
    pub(crate) fn without_param(mut self, name: &str) -> Self {
        if let Some(params) = self.0.get_mut("params").and_then(Value::as_object_mut) {
            params.remove(name);
        }
        self
    }

    /// A member of `_meta`.
    pub(crate) fn meta(mut self, name: &str, value: impl Into<Value>) -> Self {
        let meta = self.0.get_mut("params").and_then(|params| params.get_mut("_meta"));
        if let Some(meta) = meta.and_then(Value::as_object_mut) {
            meta.insert(name.into(), value.into());
        }
        self
    }

    /// `_meta` without a member.
    pub(crate) fn without_meta(mut self, name: &str) -> Self {
        let meta = self.0.get_mut("params").and_then(|params| params.get_mut("_meta"));
        if let Some(meta) = meta.and_then(Value::as_object_mut) {
            meta.remove(name);
        }
        self
    }

    /// What the client says that it can do.
    pub(crate) fn capabilities(self, capabilities: impl Into<Value>) -> Self {
        self.meta(META_CAPABILITIES, capabilities)
    }

    pub(crate) fn id(&self) -> &Value {
        self.0.get("id").unwrap_or(&Value::Null)
    }

    pub(crate) fn method(&self) -> &str {
        self.0.get("method").and_then(Value::as_str).unwrap_or_default()
    }

    /// A member of the params, if there.
    pub(crate) fn get(&self, param: &str) -> Option<&Value> {
        self.0.get("params")?.get(param)
    }

    /// What `Mcp-Name` repeats of the message, if anything.
    pub(crate) fn name(&self) -> Option<&str> {
        let member = match self.method() {
            "tools/call" | "prompts/get" => "name",
            "resources/read" => "uri",
            "tasks/get" | "tasks/update" | "tasks/cancel" => "taskId",
            _ => return None,
        };
        self.get(member)?.as_str()
    }

    /// The version that the message names.
    pub(crate) fn version(&self) -> Option<&str> {
        self.get("_meta")?.get(META_VERSION)?.as_str()
    }

    /// The message on one line.
    pub(crate) fn text(&self) -> String {
        Value::Object(self.0.clone()).to_string()
    }
}
