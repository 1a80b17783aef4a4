//! Which type stands for which definition of the schema.

use std::fmt::Debug;

use mcp_types::{
    Annotations, CallToolParams, CallToolResult, CancelledParams, ClientCapabilities,
    CompleteParams, CompleteResult, CompletionReference, ContentBlock, CreateMessageResult, Cursor,
    DiscoverResult, ElicitParams, ElicitResult, EmptyNotificationParams, EmptyParams, EmptyResult,
    ErrorCode, ErrorMessage, ErrorObject, GetPromptParams, GetPromptResult, Icon, Implementation,
    InputRequest, InputRequests, InputResponses, JsonMap, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListRootsResult, ListToolsResult,
    ListenParams, ListenResult, LogMessageParams, LoggingLevel, Meta, ModelHint, ModelPreferences,
    Notification, NotificationMessage, NotificationMeta, Outcome, PaginatedParams, PrimitiveSchema,
    ProgressParams, ProgressToken, Prompt, PromptArgument, PromptMessage, RawJson,
    ReadResourceParams, ReadResourceResult, Request, RequestId, RequestMessage, RequestMeta,
    Resource, ResourceContents, ResourceTemplate, ResourceUpdatedParams, ResultMessage, ResultMeta,
    Role, Root, SamplingContent, SamplingMessage, ServerCapabilities, SubscriptionFilter, Tool,
    ToolAnnotations, ToolChoice, notification, request,
};
use serde::{Serialize, de::DeserializeOwned};

/// Decodes a document and encodes it again.
pub(crate) type RoundTrip = fn(&str) -> Result<String, String>;

pub(crate) struct Binding {
    /// The name of the definition.
    pub(crate) name: &'static str,
    /// Through the type that stands for it.
    pub(crate) round_trip: RoundTrip,
}

/// The binding of a definition.
pub(crate) fn binding(name: &str) -> Option<&'static Binding> {
    BINDINGS.iter().find(|binding| binding.name == name)
}

fn read<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

fn write<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap()
}

fn same<T: PartialEq + Debug>(found: &T, expected: &T) -> Result<(), String> {
    if found == expected { Ok(()) } else { Err(format!("{found:?} is not {expected:?}")) }
}

fn typed<T: Serialize + DeserializeOwned>(text: &str) -> Result<String, String> {
    Ok(write(&read::<T>(text)?))
}

/// A union with a place for what is unknown: nothing in the schema may end there.
fn known<T: Serialize + DeserializeOwned + Debug>(text: &str) -> Result<String, String> {
    let value: T = read(text)?;
    match format!("{value:?}") {
        debug if debug.contains("Other") => Err(format!("not known: {debug}")),
        _ => Ok(write(&value)),
    }
}

fn requested<R: Request>(text: &str) -> Result<String, String> {
    let message: RequestMessage<R::Params> = read(text)?;
    same(&&*message.method, &R::METHOD)?;
    Ok(write(&message))
}

fn notified<N: Notification>(text: &str) -> Result<String, String> {
    let message: NotificationMessage<N::Params> = read(text)?;
    same(&&*message.method, &N::METHOD)?;
    Ok(write(&message))
}

fn answered<R: Request>(text: &str) -> Result<String, String> {
    typed::<ResultMessage<Outcome<R::Result>>>(text)
}

fn error_of(text: &str, code: ErrorCode) -> Result<String, String> {
    let error: ErrorObject = read(text)?;
    same(&error.code, &code)?;
    Ok(write(&error))
}

/// Through the typed data of the error, and what makes an error of it.
fn error_with_data<T>(
    text: &str,
    data: fn(&ErrorObject) -> Option<T>,
    again: fn(T) -> ErrorObject,
) -> Result<String, String> {
    let message: ErrorMessage = read(text)?;
    let data = data(&message.error).ok_or("no typed data")?;
    let error = ErrorObject { message: message.error.message, ..again(data) };
    Ok(write(&ErrorMessage { error, ..message }))
}

macro_rules! bindings {
    ($($name:ident: $round_trip:expr,)+) => {
        &[$( Binding { name: stringify!($name), round_trip: $round_trip } ),+]
    };
}

pub(crate) const BINDINGS: &[Binding] = bindings! {
    Annotations: typed::<Annotations>,
    AudioContent: known::<ContentBlock>,
    BlobResourceContents: typed::<ResourceContents>,
    BooleanSchema: typed::<PrimitiveSchema>,
    CallToolRequest: requested::<request::CallTool>,
    CallToolRequestParams: typed::<CallToolParams>,
    CallToolResult: typed::<Outcome<CallToolResult>>,
    CallToolResultResponse: answered::<request::CallTool>,
    CancelledNotification: notified::<notification::Cancelled>,
    CancelledNotificationParams: typed::<CancelledParams>,
    ClientCapabilities: typed::<ClientCapabilities>,
    CompleteRequest: requested::<request::Complete>,
    CompleteRequestParams: typed::<CompleteParams>,
    CompleteResult: typed::<Outcome<CompleteResult>>,
    CompleteResultResponse: answered::<request::Complete>,
    ContentBlock: known::<ContentBlock>,
    CreateMessageRequest: typed::<InputRequest>,
    CreateMessageRequestParams: typed::<mcp_types::CreateMessageParams>,
    CreateMessageResult: typed::<CreateMessageResult>,
    Cursor: typed::<Cursor>,
    DiscoverRequest: requested::<request::Discover>,
    DiscoverResult: typed::<Outcome<DiscoverResult>>,
    DiscoverResultResponse: answered::<request::Discover>,
    ElicitRequest: typed::<InputRequest>,
    ElicitRequestFormParams: typed::<ElicitParams>,
    ElicitRequestParams: typed::<ElicitParams>,
    ElicitRequestURLParams: typed::<ElicitParams>,
    ElicitResult: typed::<ElicitResult>,
    EmbeddedResource: known::<ContentBlock>,
    EmptyResult: typed::<Outcome<EmptyResult>>,
    EnumSchema: typed::<PrimitiveSchema>,
    Error: typed::<ErrorObject>,
    GetPromptRequest: requested::<request::GetPrompt>,
    GetPromptRequestParams: typed::<GetPromptParams>,
    GetPromptResult: typed::<Outcome<GetPromptResult>>,
    GetPromptResultResponse: answered::<request::GetPrompt>,
    HeaderMismatchError: |text| {
        let message: ErrorMessage = read(text)?;
        same(&message.error.code, &ErrorCode::HEADER_MISMATCH)?;
        Ok(write(&message))
    },
    Icon: typed::<Icon>,
    ImageContent: known::<ContentBlock>,
    Implementation: typed::<Implementation>,
    InputRequest: typed::<InputRequest>,
    InputRequests: typed::<InputRequests>,
    InputRequiredResult: typed::<Outcome<EmptyResult>>,
    InputResponses: typed::<InputResponses>,
    InternalError: |text| error_of(text, ErrorCode::INTERNAL_ERROR),
    InvalidParamsError: |text| error_of(text, ErrorCode::INVALID_PARAMS),
    InvalidRequestError: |text| error_of(text, ErrorCode::INVALID_REQUEST),
    JSONObject: typed::<JsonMap>,
    JSONRPCErrorResponse: typed::<ErrorMessage>,
    JSONRPCNotification: typed::<NotificationMessage<JsonMap>>,
    JSONRPCResultResponse: typed::<ResultMessage<Outcome<EmptyResult>>>,
    JSONValue: typed::<RawJson>,
    LegacyTitledEnumSchema: typed::<PrimitiveSchema>,
    ListPromptsRequest: requested::<request::ListPrompts>,
    ListPromptsResult: typed::<Outcome<ListPromptsResult>>,
    ListPromptsResultResponse: answered::<request::ListPrompts>,
    ListResourceTemplatesRequest: requested::<request::ListResourceTemplates>,
    ListResourceTemplatesResult: typed::<Outcome<ListResourceTemplatesResult>>,
    ListResourceTemplatesResultResponse: answered::<request::ListResourceTemplates>,
    ListResourcesRequest: requested::<request::ListResources>,
    ListResourcesResult: typed::<Outcome<ListResourcesResult>>,
    ListResourcesResultResponse: answered::<request::ListResources>,
    ListRootsRequest: typed::<InputRequest>,
    ListRootsResult: typed::<ListRootsResult>,
    ListToolsRequest: requested::<request::ListTools>,
    ListToolsResult: typed::<Outcome<ListToolsResult>>,
    ListToolsResultResponse: answered::<request::ListTools>,
    LoggingLevel: typed::<LoggingLevel>,
    LoggingMessageNotification: notified::<notification::LogMessage>,
    LoggingMessageNotificationParams: typed::<LogMessageParams>,
    MetaObject: typed::<Meta>,
    MethodNotFoundError: |text| error_of(text, ErrorCode::METHOD_NOT_FOUND),
    MissingRequiredClientCapabilityError: |text| {
        error_with_data(text, ErrorObject::as_missing_capability, |data| {
            ErrorObject::missing_capability(data.required_capabilities)
        })
    },
    ModelHint: typed::<ModelHint>,
    ModelPreferences: typed::<ModelPreferences>,
    MultiSelectEnumSchema: typed::<PrimitiveSchema>,
    NotificationMetaObject: typed::<NotificationMeta>,
    NotificationParams: typed::<EmptyNotificationParams>,
    NumberSchema: typed::<PrimitiveSchema>,
    PaginatedRequestParams: typed::<PaginatedParams>,
    ParseError: |text| error_of(text, ErrorCode::PARSE_ERROR),
    PrimitiveSchemaDefinition: typed::<PrimitiveSchema>,
    ProgressNotification: notified::<notification::Progress>,
    ProgressNotificationParams: typed::<ProgressParams>,
    ProgressToken: typed::<ProgressToken>,
    Prompt: typed::<Prompt>,
    PromptArgument: typed::<PromptArgument>,
    PromptListChangedNotification: notified::<notification::PromptListChanged>,
    PromptMessage: typed::<PromptMessage>,
    PromptReference: typed::<CompletionReference>,
    ReadResourceRequest: requested::<request::ReadResource>,
    ReadResourceRequestParams: typed::<ReadResourceParams>,
    ReadResourceResult: typed::<Outcome<ReadResourceResult>>,
    ReadResourceResultResponse: answered::<request::ReadResource>,
    RequestId: typed::<RequestId>,
    RequestMetaObject: typed::<RequestMeta>,
    RequestParams: typed::<EmptyParams>,
    Resource: typed::<Resource>,
    ResourceLink: known::<ContentBlock>,
    ResourceListChangedNotification: notified::<notification::ResourceListChanged>,
    ResourceTemplate: typed::<ResourceTemplate>,
    ResourceTemplateReference: typed::<CompletionReference>,
    ResourceUpdatedNotification: notified::<notification::ResourceUpdated>,
    ResourceUpdatedNotificationParams: typed::<ResourceUpdatedParams>,
    ResultMetaObject: typed::<ResultMeta>,
    Role: typed::<Role>,
    Root: typed::<Root>,
    SamplingMessage: typed::<SamplingMessage>,
    SamplingMessageContentBlock: known::<SamplingContent>,
    ServerCapabilities: typed::<ServerCapabilities>,
    SingleSelectEnumSchema: typed::<PrimitiveSchema>,
    StringSchema: typed::<PrimitiveSchema>,
    SubscriptionFilter: typed::<SubscriptionFilter>,
    SubscriptionsAcknowledgedNotification: notified::<notification::SubscriptionsAcknowledged>,
    SubscriptionsAcknowledgedNotificationParams: typed::<mcp_types::AcknowledgedParams>,
    SubscriptionsListenRequest: requested::<request::Listen>,
    SubscriptionsListenRequestParams: typed::<ListenParams>,
    SubscriptionsListenResult: typed::<Outcome<ListenResult>>,
    SubscriptionsListenResultMetaObject: typed::<ResultMeta>,
    SubscriptionsListenResultResponse: answered::<request::Listen>,
    TextContent: known::<ContentBlock>,
    TextResourceContents: typed::<ResourceContents>,
    TitledMultiSelectEnumSchema: typed::<PrimitiveSchema>,
    TitledSingleSelectEnumSchema: typed::<PrimitiveSchema>,
    Tool: typed::<Tool>,
    ToolAnnotations: typed::<ToolAnnotations>,
    ToolChoice: typed::<ToolChoice>,
    ToolListChangedNotification: notified::<notification::ToolListChanged>,
    ToolResultContent: known::<SamplingContent>,
    ToolUseContent: known::<SamplingContent>,
    UnsupportedProtocolVersionError: |text| {
        error_with_data(text, ErrorObject::as_unsupported_version, |data| {
            ErrorObject::unsupported_version(&data.supported, data.requested.as_str())
        })
    },
    UntitledMultiSelectEnumSchema: typed::<PrimitiveSchema>,
    UntitledSingleSelectEnumSchema: typed::<PrimitiveSchema>,
};

/// Definitions that no type stands for, and why.
pub(crate) const UNBOUND: &[(&str, &str)] = &[
    ("BaseMetadata", "a part of others: their fields `name` and `title`"),
    (
        "CacheableResult",
        "a part of others: the trait `Cacheable`, and `CacheHint` to read it alone",
    ),
    ("ClientNotification", "a union by direction: one type per notification"),
    ("ClientRequest", "a union by direction: one type per method, and `Method`"),
    ("ClientResult", "a union by direction: the request names its result"),
    ("Icons", "a part of others: their field `icons`"),
    ("InputResponse", "a union without a tag: `InputResponses` decodes by what was asked"),
    ("InputResponseRequestParams", "a part of others: the fields of what may need input"),
    ("JSONArray", "a `RawJson` like any JSON value"),
    ("JSONRPCMessage", "a union that reading tells apart: the envelope of the transport"),
    ("JSONRPCRequest", "`RequestMessage`, whose params are never absent in this revision"),
    ("JSONRPCResponse", "a union that reading tells apart: `ResultMessage` or `ErrorMessage`"),
    ("Notification", "`NotificationMessage` without the version of JSON-RPC"),
    ("PaginatedRequest", "a part of others: a request of `PaginatedParams`"),
    ("PaginatedResult", "a part of others: their field `next_cursor`"),
    ("Request", "`RequestMessage` without id and version of JSON-RPC"),
    ("ResourceContents", "a part of others: `ResourceContents` has the text or blob besides"),
    ("ResourceRequestParams", "a part of others: the fields of `ReadResourceParams`"),
    ("Result", "a part of others: `Outcome` has its tag, each result its `_meta`"),
    ("ResultType", "an open text: `Outcome` alone reads and writes it"),
    ("ServerNotification", "a union by direction: one type per notification"),
    ("ServerResult", "a union by direction: the request names its result"),
];
