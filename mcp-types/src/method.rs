//! Methods: one table for requests and one for notifications, from which everything else follows.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::meta::has_meta;
use crate::{
    AcknowledgedParams, CallToolParams, CallToolResult, CancelledParams, CompleteParams,
    CompleteResult, DiscoverResult, GetPromptParams, GetPromptResult, HasMeta, InputResponses,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    ListenParams, ListenResult, LogMessageParams, NotificationMeta, PaginatedParams,
    ProgressParams, ReadResourceParams, ReadResourceResult, RequestMeta, RequestState,
    ResourceUpdatedParams, ResultMeta,
};

/// A method that a client can call, with what it takes and gives.
///
/// The methods of the revision are in [`request`]; an extension implements the trait for its own, and server and
/// client share it:
///
/// ```
/// use mcp_types::{Request, RequestMeta, ResultMeta, has_meta};
/// use serde::{Deserialize, Serialize};
///
/// enum Search {}
///
/// impl Request for Search {
///     const METHOD: &'static str = "com.example/search";
///     type Params = Query;
///     type Result = Found;
/// }
///
/// #[derive(Serialize, Deserialize)]
/// struct Query {
///     text: String,
///     #[serde(rename = "_meta", default, skip_serializing_if = "RequestMeta::is_empty")]
///     meta: RequestMeta,
/// }
///
/// #[derive(Serialize, Deserialize)]
/// struct Found {
///     hits: Vec<String>,
///     #[serde(rename = "_meta", default, skip_serializing_if = "ResultMeta::is_empty")]
///     meta: ResultMeta,
/// }
///
/// has_meta!(RequestMeta: Query);
/// has_meta!(ResultMeta: Found);
/// ```
pub trait Request {
    /// The name on the wire.
    const METHOD: &'static str;
    /// Whether a server may answer with [`InputRequired`](crate::InputRequired). Specification: Multi
    /// Round-Trip Requests, Supported Requests.
    const MAY_NEED_INPUT: bool = false;
    /// Whether the result says how long it stays fresh. Specification: Caching, Cacheable Results.
    const CACHEABLE: bool = false;
    /// The member of the parameters that the header `Mcp-Name` repeats, for a server to check; what
    /// [`mcp_name`](Self::mcp_name) gives. Specification: Streamable HTTP, Standard Request Headers.
    const NAME_MEMBER: Option<&'static str> = None;

    /// What it takes.
    type Params: Serialize + DeserializeOwned + HasMeta<Meta = RequestMeta> + Send + Sync + 'static;
    /// What it gives.
    type Result: Serialize + DeserializeOwned + HasMeta<Meta = ResultMeta> + Send + Sync + 'static;

    /// What the header `Mcp-Name` says for these parameters; `None` for a method without one.
    /// Specification: Streamable HTTP, Standard Request Headers.
    fn mcp_name(params: &Self::Params) -> Option<&str> {
        let _ = params;
        None
    }

    /// Puts into the parameters of a retry what the client brings back: the answers to what the server asked
    /// for, and the state it gave. Both replace what was there. Returns whether the parameters have a place for
    /// them. Specification: Multi Round-Trip Requests, Client Requirements.
    fn set_input(
        params: &mut Self::Params,
        responses: Option<InputResponses>,
        state: Option<RequestState>,
    ) -> bool {
        let _ = (params, responses, state);
        false
    }

    /// Whether the parameters bring back answers or a state. The result then depends on more than what is asked
    /// for, and must not be cached. Specification: Caching, Cache Key.
    fn has_input(params: &Self::Params) -> bool {
        let _ = params;
        false
    }
}

/// A notification, with what it carries. Those of the revision are in [`notification`].
pub trait Notification {
    /// The name on the wire.
    const METHOD: &'static str;

    /// What it carries.
    type Params: Serialize
        + DeserializeOwned
        + HasMeta<Meta = NotificationMeta>
        + Send
        + Sync
        + 'static;
}

macro_rules! requests {
    ($(
        $(#[$attr:meta])*
        $name:ident = $method:literal: $params:ty => $result:ty
            $([name: $source:ident])? $([input: $input:literal])? $([cacheable: $cacheable:literal])?;
    )+) => {
        /// A request method of the revision.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[expect(clippy::exhaustive_enums, reason = "a server that misses a method should not build")]
        pub enum Method {
            $( $(#[$attr])* $name, )+
        }

        impl Method {
            /// All of them.
            pub const ALL: &[Self] = &[$( Self::$name ),+];

            /// The name on the wire.
            pub const fn as_str(self) -> &'static str {
                match self { $( Self::$name => $method, )+ }
            }

            /// The method with this name, if the revision has it.
            pub fn from_name(name: &str) -> Option<Self> {
                match name { $( $method => Some(Self::$name), )+ _ => None }
            }

            /// [`Request::NAME_MEMBER`] of the method.
            pub const fn name_member(self) -> Option<&'static str> {
                match self { $( Self::$name => <request::$name as Request>::NAME_MEMBER, )+ }
            }

            /// [`Request::MAY_NEED_INPUT`] of the method.
            pub const fn may_need_input(self) -> bool {
                match self { $( Self::$name => <request::$name as Request>::MAY_NEED_INPUT, )+ }
            }

            /// [`Request::CACHEABLE`] of the method.
            pub const fn is_cacheable(self) -> bool {
                match self { $( Self::$name => <request::$name as Request>::CACHEABLE, )+ }
            }
        }

        /// The request methods of the revision, one type each. They have no values.
        pub mod request {
            $(
                $(#[$attr])*
                #[derive(Debug)]
                #[expect(clippy::exhaustive_enums, reason = "stands for a method, has no values")]
                pub enum $name {}
            )+
        }

        $(
            impl Request for request::$name {
                const METHOD: &'static str = $method;
                $(
                    const MAY_NEED_INPUT: bool = $input;

                    fn set_input(
                        params: &mut $params,
                        responses: Option<InputResponses>,
                        state: Option<RequestState>,
                    ) -> bool {
                        params.input_responses = responses;
                        params.request_state = state;
                        $input
                    }

                    fn has_input(params: &$params) -> bool {
                        params.input_responses.is_some() || params.request_state.is_some()
                    }
                )?
                $( const CACHEABLE: bool = $cacheable; )?
                $( const NAME_MEMBER: Option<&'static str> = Some(stringify!($source)); )?
                type Params = $params;
                type Result = $result;
                $( fn mcp_name(params: &$params) -> Option<&str> {
                    Some(&params.$source)
                } )?
            }
        )+

        #[cfg(test)]
        const REQUEST_TYPES: &[(Method, &str)] =
            &[$( (Method::$name, <request::$name as Request>::METHOD) ),+];
    };
}

requests! {
    /// What the server is and can do.
    Discover = "server/discover": EmptyParams => DiscoverResult [cacheable: true];
    /// The tools it offers, page by page.
    ListTools = "tools/list": PaginatedParams => ListToolsResult [cacheable: true];
    /// Calls a tool.
    CallTool = "tools/call": CallToolParams => CallToolResult [name: name] [input: true];
    /// The resources it lists, page by page.
    ListResources = "resources/list": PaginatedParams => ListResourcesResult [cacheable: true];
    /// The resource templates it offers, page by page.
    ListResourceTemplates = "resources/templates/list":
        PaginatedParams => ListResourceTemplatesResult [cacheable: true];
    /// Reads a resource.
    ReadResource = "resources/read":
        ReadResourceParams => ReadResourceResult [name: uri] [input: true] [cacheable: true];
    /// The prompts it offers, page by page.
    ListPrompts = "prompts/list": PaginatedParams => ListPromptsResult [cacheable: true];
    /// Gets a prompt.
    GetPrompt = "prompts/get": GetPromptParams => GetPromptResult [name: name] [input: true];
    /// Suggests values for an argument.
    Complete = "completion/complete": CompleteParams => CompleteResult;
    /// Opens a stream of notifications.
    Listen = "subscriptions/listen": ListenParams => ListenResult;
}

macro_rules! notifications {
    ($( $(#[$attr:meta])* $name:ident = $method:literal: $params:ty; )+) => {
        /// A notification of the revision.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[expect(clippy::exhaustive_enums, reason = "a client that misses one should not build")]
        pub enum NotificationMethod {
            $( $(#[$attr])* $name, )+
        }

        impl NotificationMethod {
            /// All of them.
            pub const ALL: &[Self] = &[$( Self::$name ),+];

            /// The name on the wire.
            pub const fn as_str(self) -> &'static str {
                match self { $( Self::$name => $method, )+ }
            }

            /// The notification with this name, if the revision has it.
            pub fn from_name(name: &str) -> Option<Self> {
                match name { $( $method => Some(Self::$name), )+ _ => None }
            }
        }

        /// The notifications of the revision, one type each. They have no values.
        pub mod notification {
            $(
                $(#[$attr])*
                #[derive(Debug)]
                #[expect(clippy::exhaustive_enums, reason = "stands for a method, has no values")]
                pub enum $name {}
            )+
        }

        $(
            impl Notification for notification::$name {
                const METHOD: &'static str = $method;
                type Params = $params;
            }
        )+

        #[cfg(test)]
        const NOTIFICATION_TYPES: &[(NotificationMethod, &str)] =
            &[$( (NotificationMethod::$name, <notification::$name as Notification>::METHOD) ),+];
    };
}

notifications! {
    /// A request is no longer wanted.
    Cancelled = "notifications/cancelled": CancelledParams;
    /// How far a request has got.
    Progress = "notifications/progress": ProgressParams;
    /// What the server logs. Deprecated by this revision.
    LogMessage = "notifications/message": LogMessageParams;
    /// A resource changed.
    ResourceUpdated = "notifications/resources/updated": ResourceUpdatedParams;
    /// The list of resources changed.
    ResourceListChanged = "notifications/resources/list_changed": EmptyNotificationParams;
    /// The list of tools changed.
    ToolListChanged = "notifications/tools/list_changed": EmptyNotificationParams;
    /// The list of prompts changed.
    PromptListChanged = "notifications/prompts/list_changed": EmptyNotificationParams;
    /// What a server grants of a subscription.
    SubscriptionsAcknowledged = "notifications/subscriptions/acknowledged": AcknowledgedParams;
}

/// The parameters of a request that needs nothing else. Schema `RequestParams`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EmptyParams {
    /// What travels beside the payload, here the whole of it.
    #[serde(rename = "_meta", default, skip_serializing_if = "RequestMeta::is_empty")]
    pub meta: RequestMeta,
}

/// The parameters of a notification that says all by its name. Schema `NotificationParams`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EmptyNotificationParams {
    /// What travels beside the payload, here the whole of it.
    #[serde(rename = "_meta", default, skip_serializing_if = "NotificationMeta::is_empty")]
    pub meta: NotificationMeta,
}

/// A result that says no more than that the request succeeded. Schema `EmptyResult`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EmptyResult {
    /// What travels beside the payload, here the whole of it.
    #[serde(rename = "_meta", default, skip_serializing_if = "ResultMeta::is_empty")]
    pub meta: ResultMeta,
}

has_meta!(RequestMeta: EmptyParams);
has_meta!(NotificationMeta: EmptyNotificationParams);
has_meta!(ResultMeta: EmptyResult);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_method_and_back() {
        for (n, &(method, name)) in REQUEST_TYPES.iter().enumerate() {
            assert_eq!(method.as_str(), name);
            assert_eq!(Method::from_name(name), Some(method));
            assert_eq!(Method::ALL[n], method);
            assert_eq!(NotificationMethod::from_name(name), None);
        }
        for (n, &(method, name)) in NOTIFICATION_TYPES.iter().enumerate() {
            assert!(name.starts_with("notifications/"));
            assert_eq!(method.as_str(), name);
            assert_eq!(NotificationMethod::from_name(name), Some(method));
            assert_eq!(NotificationMethod::ALL[n], method);
            assert_eq!(Method::from_name(name), None);
        }
        for unknown in ["", "initialize", "ping", "Tools/list", "tools/list ", "tools"] {
            assert_eq!(Method::from_name(unknown), None);
        }
    }

    #[test]
    fn what_the_specification_says_of_methods() {
        let with = |property: fn(Method) -> bool| -> Vec<&str> {
            Method::ALL.iter().filter(|m| property(**m)).map(|m| m.as_str()).collect()
        };
        assert_eq!(with(Method::may_need_input), ["tools/call", "resources/read", "prompts/get"]);
        assert_eq!(
            with(|method| !method.is_cacheable()),
            ["tools/call", "prompts/get", "completion/complete", "subscriptions/listen"]
        );
        assert_eq!(
            with(|method| method.name_member().is_some()),
            ["tools/call", "resources/read", "prompts/get"]
        );
        assert_eq!(Method::ReadResource.name_member(), Some("uri"));
        assert_eq!(request::CallTool::mcp_name(&CallToolParams::new("t")), Some("t"));
        assert_eq!(request::ReadResource::mcp_name(&ReadResourceParams::new("a:b")), Some("a:b"));
        assert_eq!(request::Discover::mcp_name(&EmptyParams::default()), None);
    }

    #[test]
    fn a_retry_brings_back_what_was_given_last() {
        fn retried<R: Request>(mut params: R::Params) -> (bool, String) {
            let mut answers = InputResponses::new();
            answers.insert("k", &EmptyParams::default()).unwrap();
            assert!(!R::has_input(&params));
            let first = R::set_input(&mut params, None, Some("old".into()));
            assert_eq!((first, R::has_input(&params)), (R::MAY_NEED_INPUT, R::MAY_NEED_INPUT));
            let has_place = R::set_input(&mut params, Some(answers), None);
            (has_place, serde_json::to_string(&params).unwrap())
        }
        let answers = r#""inputResponses":{"k":{}}"#;
        for (has_place, text) in [
            retried::<request::CallTool>(CallToolParams::new("t")),
            retried::<request::ReadResource>(ReadResourceParams::new("a:b")),
            retried::<request::GetPrompt>(GetPromptParams::new("p")),
        ] {
            assert!(has_place && text.contains(answers) && !text.contains("old"), "{text}");
        }
        assert_eq!(
            retried::<request::ListTools>(PaginatedParams::default()),
            (false, "{}".to_owned())
        );
    }
}
