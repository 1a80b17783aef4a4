//! `notifications/cancelled`. Specification: Cancellation.

use serde::{Deserialize, Serialize};

use crate::meta::has_meta;
use crate::{NotificationMeta, RequestId};

/// Which request is no longer wanted. Schema `CancelledNotificationParams`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CancelledParams {
    /// What travels beside the payload.
    #[serde(rename = "_meta", default, skip_serializing_if = "NotificationMeta::is_empty")]
    pub meta: NotificationMeta,
    /// The request.
    pub request_id: RequestId,
    /// Why, for logs and people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl CancelledParams {
    /// Cancels the request `id`.
    pub fn new(id: RequestId) -> Self {
        Self { meta: NotificationMeta::default(), request_id: id, reason: None }
    }
}

has_meta!(NotificationMeta: CancelledParams);
