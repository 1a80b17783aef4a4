//! Servers made of registries: merged, mounted under a prefix, with shared values of their own.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mcp_server::layer::RateLimit;
use mcp_server::{
    BuildError, Context, Prompt, Registry, Resource, ResourceTemplate, Server, ServerBuilder, Tool,
};
use serde_json::{Value, json};

use crate::support::{Post, Running, builder};

struct Name(&'static str);

async fn name(name: Arc<Name>) -> String {
    name.0.to_owned()
}

async fn told(context: Context) -> String {
    context.target().to_owned()
}

/// One of each kind, under names that end with `suffix`.
fn registry(suffix: &str) -> Registry {
    Registry::new()
        .tool(Tool::new(format!("tool{suffix}"), told))
        .prompt(Prompt::new(format!("prompt{suffix}"), told).arguments([]))
        .resource(Resource::text(format!("a:{suffix}"), "r", "read"))
        .resource_template(ResourceTemplate::new(format!("t{suffix}:{{a}}"), "t", told))
}

async fn keys(running: &Running, method: &str, member: &str, key: &str) -> Vec<String> {
    let result = running.ask(&Post::rpc(method, json!({}))).await.result();
    let entries = result[member].as_array().unwrap();
    entries.iter().map(|entry| entry[key].as_str().unwrap().to_owned()).collect()
}

async fn everything(running: &Running) -> [Vec<String>; 4] {
    [
        keys(running, "tools/list", "tools", "name").await,
        keys(running, "prompts/list", "prompts", "name").await,
        keys(running, "resources/list", "resources", "uri").await,
        keys(running, "resources/templates/list", "resourceTemplates", "uriTemplate").await,
    ]
}

async fn call(running: &Running, tool: &str) -> String {
    running.ask(&Post::call(tool, json!({}))).await.tool_text()
}

async fn result(running: &Running, method: &str, params: Value) -> Value {
    running.ask(&Post::rpc(method, params)).await.result()
}

/// Tools and prompts get the prefix as it is, resources keep what they refer to each other by, and everything
/// stands behind what was there before.
#[tokio::test]
async fn a_mounted_registry_is_reached_under_its_prefix() {
    let inner = registry("1").mount("x.", registry("2"));
    let running = Running::build(builder().merge(registry("0")).mount("git_", inner)).await;
    let expected = [
        ["tool0", "git_tool1", "git_x.tool2"],
        ["prompt0", "git_prompt1", "git_x.prompt2"],
        ["a:0", "a:1", "a:2"],
        ["t0:{a}", "t1:{a}", "t2:{a}"],
    ];
    assert_eq!(everything(&running).await, expected);
    for tool in expected[0] {
        assert_eq!(call(&running, tool).await, tool);
    }
    for prompt in expected[1] {
        let got = result(&running, "prompts/get", json!({ "name": prompt })).await;
        assert_eq!(got["messages"][0]["content"]["text"], prompt);
    }
    for uri in ["t0:x", "t1:x", "t2:x"] {
        let read = result(&running, "resources/read", json!({ "uri": uri })).await;
        assert_eq!(read["contents"][0]["text"], uri);
    }
    for unknown in ["tool1", "x.tool2", "git_tool0", "git_git_tool1"] {
        assert_eq!(running.ask(&Post::call(unknown, json!({}))).await.code(), Some(-32602));
    }
}

/// What a library would serve by itself is mounted as well; how it would be served is not.
#[tokio::test]
async fn a_whole_server_can_be_mounted() {
    let library =
        Server::builder("library", "0.1.0").instructions("Not these").merge(registry("1"));
    let running = Running::build(builder().mount("lib_", library)).await;
    assert_eq!(call(&running, "lib_tool1").await, "lib_tool1");
    let discovered = result(&running, "server/discover", json!({})).await;
    assert_eq!(discovered.get("instructions"), None);
    assert_eq!(discovered["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "test");
}

/// Each handler gets the value that is nearest to it.
#[tokio::test]
async fn shared_values_belong_to_their_registry() {
    let named = |own: Option<&'static str>| {
        let registry = Registry::new()
            .tool(Tool::new("name", name))
            .prompt(Prompt::new("name", name))
            .resource_template(ResourceTemplate::new(
                format!("{}:{{a}}", own.unwrap_or("none")),
                "t",
                name,
            ));
        match own {
            Some(own) => registry.state(Arc::new(Name(own))),
            None => registry,
        }
    };
    let composed = builder()
        .mount("a_", named(Some("a")).mount("b_", named(Some("b"))))
        .mount("c_", named(Some("c")).mount("d_", named(None)))
        .state(Arc::new(Name("server")))
        .merge(Registry::new().tool(Tool::new("name", name)));
    let running = Running::build(composed).await;
    for (prefix, expected) in
        [("a_", "a"), ("a_b_", "b"), ("c_", "c"), ("c_d_", "c"), ("", "server")]
    {
        assert_eq!(call(&running, &format!("{prefix}name")).await, expected);
    }
    let got = result(&running, "prompts/get", json!({ "name": "a_b_name" })).await;
    assert_eq!(got["messages"][0]["content"]["text"], "b");
    for (uri, expected) in [("a:x", "a"), ("b:x", "b"), ("none:x", "c")] {
        let read = result(&running, "resources/read", json!({ "uri": uri })).await;
        assert_eq!(read["contents"][0]["text"], expected);
    }
}

#[test]
fn what_two_registries_have_cannot_be_merged() {
    type Compose = fn() -> ServerBuilder;
    let table: [(Compose, &str); 4] = [
        (|| builder().merge(registry("1")).merge(registry("1")), "tool1"),
        // The names differ then, the URIs do not.
        (|| builder().merge(registry("1")).mount("x_", registry("1")), "a:1"),
        (
            || {
                let prompt = || Registry::new().prompt(Prompt::new("p", async || ""));
                builder().mount("x_", prompt()).mount("x_", prompt())
            },
            "x_p",
        ),
        (
            || {
                let template = || ResourceTemplate::new("t:{a}", "t", async || "");
                let other = Registry::new().resource_template(template());
                builder().resource_template(template()).mount("x_", other)
            },
            "t:{a}",
        ),
    ];
    for (compose, twice) in table {
        let error = compose().build().unwrap_err();
        assert!(matches!(&error, BuildError::DuplicateName(name) if name == twice), "{error}");
    }
    let missing = builder().mount("x_", Registry::new().tool(Tool::new("name", name))).build();
    let error = missing.unwrap_err();
    assert!(matches!(&error, BuildError::MissingState { handler, .. } if handler == "x_name"));
    // A value of a registry is not one of the server around it.
    let inner = Registry::new().state(Arc::new(Name("inner")));
    let around = builder().mount("x_", inner).tool(Tool::new("name", name)).build();
    assert!(matches!(around, Err(BuildError::MissingState { .. })));
}

/// Whatever is reached only through a registry is declared like everything else.
#[tokio::test]
async fn what_is_mounted_is_declared() {
    let completed = Prompt::new("p", async |_: mcp_server::Log| "")
        .arguments([mcp_server::types::PromptArgument::new("a")])
        .complete("a", async |_| ["x"]);
    let mounted = builder().mount("m_", Registry::new().prompt(completed));
    let running = Running::build(mounted).await;
    let discovered = result(&running, "server/discover", json!({})).await;
    let expected = json!({ "prompts": {}, "completions": {}, "logging": {} });
    assert_eq!(discovered["capabilities"], expected);
    let params = json!({
        "ref": { "type": "ref/prompt", "name": "m_p" },
        "argument": { "name": "a", "value": "" },
    });
    let completion = result(&running, "completion/complete", params).await;
    assert_eq!(completion["completion"]["values"], json!(["x"]));
}

/// What protects a server's tools is not lost in silence when another takes them over, however deep.
#[test]
fn what_is_protected_is_not_mounted_without() {
    let library = || Server::builder("library", "0.1.0").merge(registry("1"));
    let filtered = || library().visible(|_, _| false);
    #[cfg_attr(not(feature = "asking"), expect(unused_mut, reason = "there are no states then"))]
    let mut table = vec![
        (builder().mount("x_", filtered()), "visibility filter"),
        (builder().merge(filtered()).merge(registry("2")), "visibility filter"),
        (builder().mount("x_", Registry::new().merge(filtered())), "visibility filter"),
        (builder().mount("x_", builder().mount("y_", filtered())), "visibility filter"),
        (builder().mount("x_", filtered()).visible(|_, _| true), "visibility filter"),
        (builder().mount("x_", library().layer(RateLimit::default())), "layers"),
    ];
    #[cfg(feature = "asking")]
    {
        let store = Arc::new(mcp_server::ask::LocalSpentStates::new());
        table.push((builder().mount("x_", library().single_use_states(store)), "single-use"));
    }
    for (built, what) in table {
        let error = built.build().unwrap_err();
        assert!(matches!(error, BuildError::Unprotected(named) if named.contains(what)), "{error}");
    }
    assert!(builder().mount("x_", library()).visible(|_, _| true).build().is_ok());
}

/// Prefixes are what they are, in headers as well.
#[tokio::test]
async fn a_prefix_may_be_anything() {
    for prefix in ["", " ", "a/b:", "ü☃_", "=?base64?", "\u{1}\"\\"] {
        let running = Running::build(builder().mount(prefix, registry("1"))).await;
        let name = format!("{prefix}tool1");
        assert_eq!(keys(&running, "tools/list", "tools", "name").await, [&*name]);
        let header = format!("=?base64?{}?=", STANDARD.encode(&name));
        let post = Post::call(&name, json!({})).set("Mcp-Name", &header);
        assert_eq!(running.ask(&post).await.tool_text(), name);
    }
}

/// A mounted handler asks like any other, and its rounds belong to the name under which it was mounted.
#[cfg(feature = "asking")]
#[tokio::test]
async fn what_is_mounted_asks() {
    use crate::ask::{Name, accept, call};
    let asks = || {
        Registry::new().tool(Tool::new("asks", async |ask: mcp_server::Ask| {
            let kept = ask.remember("kept", async { 7 }).await;
            let name = ask.form::<Name>("name", "Who?").await.accepted().unwrap().name;
            format!("{name} {kept}")
        }))
    };
    let inner = Registry::new().mount("b_", asks());
    let running = Running::build(builder().mount("a_", inner).mount("c_", asks())).await;
    let asked = running.ask(&call("a_b_asks", json!({}))).await.result();
    let more = json!({
        "requestState": asked["requestState"],
        "inputResponses": { "name": accept(json!({ "name": "Ada" })) },
    });
    assert_eq!(running.ask(&call("c_asks", more.clone())).await.code(), Some(-32602));
    assert_eq!(running.ask(&call("a_b_asks", more)).await.tool_text(), "Ada 7");
}
