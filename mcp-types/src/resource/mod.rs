//! Resources: `resources/list`, `resources/templates/list`, `resources/read` and their updates.
//! Specification: Resources.

mod contents;

use serde::{Deserialize, Serialize};

pub use contents::{ResourceBody, ResourceContents};

use crate::cache::{self, cacheable};
use crate::meta::has_meta;
use crate::setters::setters;
use crate::{
    Annotations, CacheScope, Cursor, Icon, InputResponses, Meta, NotificationMeta, RequestMeta,
    RequestState, ResultMeta, raw,
};

/// Something a server can be asked to read. Schemas `Resource` and `ResourceLink`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Resource {
    /// Where it is, in a scheme that the server understands.
    pub uri: String,
    /// Its identifier.
    pub name: String,
    /// What to call it before people; the name when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it holds, for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Its media type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Whom it is for and how much it matters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// Its size in bytes, before any encoding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Pictures to show for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icons: Option<Vec<Icon>>,
    /// What travels beside it.
    #[serde(rename = "_meta", default, skip_serializing_if = "Meta::is_empty")]
    pub meta: Meta,
}

impl Resource {
    /// The resource `name` at `uri`.
    pub fn new(uri: impl Into<String>, name: impl Into<String>) -> Self {
        Self { uri: uri.into(), name: name.into(), ..Self::default() }
    }
}

setters! { Resource {
    /// Sets what to call it before people.
    title: String,
    /// Sets what it holds, for the model.
    description: String,
    /// Sets its media type.
    mime_type: String,
    /// Sets whom it is for and how much it matters.
    annotations: Annotations,
    /// Sets its size in bytes, before any encoding.
    size: u64,
    /// Sets the pictures to show for it.
    icons: Vec<Icon>,
} }

/// A family of resources whose URIs follow a template. Schema `ResourceTemplate`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceTemplate {
    /// The template, as RFC 6570 has them.
    pub uri_template: String,
    /// Its identifier.
    pub name: String,
    /// What to call it before people; the name when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it is for, for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The media type, if all its resources have the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Whom it is for and how much it matters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// Pictures to show for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icons: Option<Vec<Icon>>,
    /// What travels beside it.
    #[serde(rename = "_meta", default, skip_serializing_if = "Meta::is_empty")]
    pub meta: Meta,
}

impl ResourceTemplate {
    /// The resources `name`, whose URIs follow `uri_template`.
    pub fn new(uri_template: impl Into<String>, name: impl Into<String>) -> Self {
        Self { uri_template: uri_template.into(), name: name.into(), ..Self::default() }
    }
}

setters! { ResourceTemplate {
    /// Sets what to call it before people.
    title: String,
    /// Sets what it is for, for the model.
    description: String,
    /// Sets the media type that all its resources have.
    mime_type: String,
    /// Sets whom it is for and how much it matters.
    annotations: Annotations,
    /// Sets the pictures to show for it.
    icons: Vec<Icon>,
} }

/// One page of the resources that a server lists. Schema `ListResourcesResult`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListResourcesResult {
    /// What travels beside the payload.
    #[serde(rename = "_meta", default, skip_serializing_if = "ResultMeta::is_empty")]
    pub meta: ResultMeta,
    /// The resources, in the server's order.
    pub resources: Vec<Resource>,
    /// Where the next page begins; absent on the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<Cursor>,
    /// For how many milliseconds after its arrival the page is fresh.
    #[serde(default, deserialize_with = "cache::ttl_ms")]
    pub ttl_ms: u64,
    /// Who may be served from a cache.
    #[serde(default, deserialize_with = "cache::cache_scope")]
    pub cache_scope: CacheScope,
}

/// One page of the resource templates that a server offers. Schema `ListResourceTemplatesResult`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListResourceTemplatesResult {
    /// What travels beside the payload.
    #[serde(rename = "_meta", default, skip_serializing_if = "ResultMeta::is_empty")]
    pub meta: ResultMeta,
    /// The templates, in the server's order.
    pub resource_templates: Vec<ResourceTemplate>,
    /// Where the next page begins; absent on the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<Cursor>,
    /// For how many milliseconds after its arrival the page is fresh.
    #[serde(default, deserialize_with = "cache::ttl_ms")]
    pub ttl_ms: u64,
    /// Who may be served from a cache.
    #[serde(default, deserialize_with = "cache::cache_scope")]
    pub cache_scope: CacheScope,
}

/// The parameters of `resources/read`. Schema `ReadResourceRequestParams`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReadResourceParams {
    /// What travels beside the payload.
    #[serde(rename = "_meta", default, skip_serializing_if = "RequestMeta::is_empty")]
    pub meta: RequestMeta,
    /// The resource to read.
    pub uri: String,
    /// Answers to what the server asked for in the round before.
    #[serde(default, deserialize_with = "raw::present", skip_serializing_if = "Option::is_none")]
    pub input_responses: Option<InputResponses>,
    /// What the server gave the client to bring back.
    #[serde(default, deserialize_with = "raw::present", skip_serializing_if = "Option::is_none")]
    pub request_state: Option<RequestState>,
}

impl ReadResourceParams {
    /// A read of the resource at `uri`.
    pub fn new(uri: impl Into<String>) -> Self {
        Self { uri: uri.into(), ..Self::default() }
    }
}

/// What a resource holds, possibly in several parts. Schema `ReadResourceResult`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReadResourceResult {
    /// What travels beside the payload.
    #[serde(rename = "_meta", default, skip_serializing_if = "ResultMeta::is_empty")]
    pub meta: ResultMeta,
    /// The parts.
    pub contents: Vec<ResourceContents>,
    /// For how many milliseconds after its arrival the result is fresh.
    #[serde(default, deserialize_with = "cache::ttl_ms")]
    pub ttl_ms: u64,
    /// Who may be served from a cache.
    #[serde(default, deserialize_with = "cache::cache_scope")]
    pub cache_scope: CacheScope,
}

/// The parameters of `notifications/resources/updated`. Schema `ResourceUpdatedNotificationParams`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceUpdatedParams {
    /// What travels beside the payload.
    #[serde(rename = "_meta", default, skip_serializing_if = "NotificationMeta::is_empty")]
    pub meta: NotificationMeta,
    /// The resource that changed; may be a part of the one subscribed to.
    pub uri: String,
}

has_meta!(RequestMeta: ReadResourceParams);
has_meta!(ResultMeta: ListResourcesResult, ListResourceTemplatesResult, ReadResourceResult);
has_meta!(NotificationMeta: ResourceUpdatedParams);
cacheable!(ListResourcesResult, ListResourceTemplatesResult, ReadResourceResult);
