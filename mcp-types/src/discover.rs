//! `server/discover`: what a server is and can do. Specification: Discovery.

use serde::{Deserialize, Serialize};

use crate::cache::{self, cacheable};
use crate::meta::has_meta;
use crate::{CacheScope, ProtocolVersion, ResultMeta, ServerCapabilities};

/// What a server says about itself. Who it is stands in `meta.server_info`. Schema `DiscoverResult`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DiscoverResult {
    /// What travels beside the payload.
    #[serde(rename = "_meta", default, skip_serializing_if = "ResultMeta::is_empty")]
    pub meta: ResultMeta,
    /// The revisions it serves, for the client to choose from.
    pub supported_versions: Vec<ProtocolVersion>,
    /// What it offers.
    pub capabilities: ServerCapabilities,
    /// How to make good use of it, for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// For how many milliseconds after its arrival the result is fresh.
    #[serde(default, deserialize_with = "cache::ttl_ms")]
    pub ttl_ms: u64,
    /// Who may be served from a cache.
    #[serde(default, deserialize_with = "cache::cache_scope")]
    pub cache_scope: CacheScope,
}

has_meta!(ResultMeta: DiscoverResult);
cacheable!(DiscoverResult);
