//! Everything that is said in the Model Context Protocol, revision 2026-07-28, as plain data: no
//! I/O, no HTTP, no runtime.
//!
//! # The nouns
//!
//! A message is one of four shapes of JSON-RPC: a [`RequestMessage`], a [`NotificationMessage`], and
//! the two answers [`ResultMessage`] and [`ErrorMessage`].
//!
//! What a request carries follows from its method. Each method is a type in [`request`] that
//! implements [`Request`], and so names its parameters and its result: [`request::CallTool`] takes
//! [`CallToolParams`] and gives a [`CallToolResult`]. [`Method`] lists them all, and a function over
//! `R: Request` is a function over any of them. Notifications have the same in [`notification`] and
//! [`Notification`].
//!
//! A request is answered by an [`Outcome`]: the result, or an [`InputRequired`] by which the server
//! asks the client for something first.
//!
//! Beside its payload a message carries a `_meta`: [`RequestMeta`] says in each request which
//! revision it follows and what the client can do, since nothing is remembered between requests.
//!
//! # How the types behave
//!
//! - Structs are to be built as literals and taken apart by their fields. What was absent on the
//!   wire is absent when written again; `false` stays `false`, and numbers keep their form.
//! - JSON that belongs to somebody else, such as schemas, arguments and structured content, stays
//!   text: [`RawJson`] for a value, [`JsonMap`] for an object.
//! - Reading takes `null` for absent where an optional member describes something; where it would
//!   change what happens (`arguments`, `inputResponses`, `requestState`) `null` is an error. Members
//!   that are not known are kept in `_meta`, capabilities and content of unknown type, and ignored elsewhere.
//! - What the revision deprecates (sampling, roots, logging, including context) is here and says so
//!   in its documentation.
//!
//! # Example
//!
//! ```
//! use mcp_types::{CallToolParams, ContentBlock, Outcome, RequestMessage, ResultMessage};
//! use mcp_types::{CallToolResult, RawJson, Request, request::CallTool};
//!
//! let params = CallToolParams {
//!     arguments: Some(RawJson::from_text(r#"{"city":"Oslo"}"#)?),
//!     ..CallToolParams::new("weather")
//! };
//! let request = RequestMessage::new(1.into(), CallTool::METHOD, params);
//! assert_eq!(
//!     serde_json::to_string(&request)?,
//!     r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"weather","arguments":{"city":"Oslo"}}}"#,
//! );
//!
//! let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[{"type":"text","text":"rain"}]}}"#;
//! let answer: ResultMessage<Outcome<CallToolResult>> = serde_json::from_str(answer)?;
//! let result = answer.result.complete().expect("nothing was asked");
//! assert_eq!(result.content, [ContentBlock::text("rain")]);
//! # Ok::<(), serde_json::Error>(())
//! ```

mod annotations;
mod base64;
mod cache;
mod cancelled;
mod capabilities;
mod completion;
mod content;
mod discover;
mod implementation;
mod input;
mod jsonrpc;
mod logging;
mod meta;
mod method;
mod number;
mod object;
mod outcome;
mod pagination;
mod progress;
mod prompt;
mod raw;
mod resource;
mod setters;
mod subscription;
mod tagged;
mod tool;
mod version;

// Messages.
pub use jsonrpc::{
    ErrorCode, ErrorMessage, ErrorObject, InvalidId, JsonRpc, MissingRequiredClientCapability,
    NotificationMessage, ProgressToken, RequestId, RequestMessage, ResourceNotFound, ResultMessage,
    UnsupportedProtocolVersion,
};
pub use method::{
    EmptyNotificationParams, EmptyParams, EmptyResult, Method, Notification, NotificationMethod,
    Request, notification, request,
};
pub use outcome::Outcome;
pub use version::ProtocolVersion;

// What travels beside the payload.
pub use cache::{CacheHint, CacheScope, Cacheable};
pub use capabilities::{
    ClientCapabilities, ElicitationCapability, InvalidExtensionId, ListChangedCapability,
    ResourcesCapability, SamplingCapability, ServerCapabilities,
};
pub use implementation::{Icon, IconTheme, Implementation};
pub use meta::{
    HasMeta, InvalidMetaKey, Meta, MetaKey, NotificationMeta, RequestMeta, ResultMeta, TraceContext,
};
pub use pagination::{Cursor, Page, PaginatedParams};

// What a server offers.
pub use completion::{
    CompleteParams, CompleteResult, Completion, CompletionArgument, CompletionContext,
    CompletionReference, PromptReference, ResourceTemplateReference,
};
pub use discover::DiscoverResult;
pub use prompt::{
    GetPromptParams, GetPromptResult, ListPromptsResult, Prompt, PromptArgument, PromptMessage,
};
pub use resource::{
    ListResourceTemplatesResult, ListResourcesResult, ReadResourceParams, ReadResourceResult,
    Resource, ResourceBody, ResourceContents, ResourceTemplate,
};
pub use tool::{CallToolParams, CallToolResult, ListToolsResult, Tool, ToolAnnotations};

// Content.
pub use annotations::{Annotations, Role};
pub use base64::Base64;
pub use content::{
    AudioContent, ContentBlock, EmbeddedResource, ImageContent, OtherContent, TextContent,
};

// What a server asks of the client.
pub use input::{
    BooleanSchema, CreateMessageParams, CreateMessageResult, ElicitAction, ElicitFormParams,
    ElicitParams, ElicitResult, ElicitUrlParams, ElicitationSchema, FormError, IncludeContext,
    InputRequest, InputRequests, InputRequired, InputResponses, ListRootsParams, ListRootsResult,
    ModelHint, ModelPreferences, MultiSelectSchema, NothingRequired, NumberSchema, OneOrMany,
    PrimitiveSchema, RequestState, Root, SamplingContent, SamplingMessage, SelectOption,
    SelectOptions, SingleSelectSchema, StopReason, StringFormat, StringSchema, ToolChoice,
    ToolChoiceMode, ToolResultContent, ToolUseContent,
};

// Notifications.
pub use cancelled::CancelledParams;
pub use logging::{LogMessageParams, LoggingLevel};
pub use progress::ProgressParams;
pub use resource::ResourceUpdatedParams;
pub use subscription::{AcknowledgedParams, ListenParams, ListenResult, SubscriptionFilter};

// JSON.
pub use number::Number;
pub use object::{JsonMap, Map};
pub use raw::RawJson;
