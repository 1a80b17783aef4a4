//! `notifications/progress`. Specification: Progress.

use serde::{Deserialize, Serialize};

use crate::meta::has_meta;
use crate::{NotificationMeta, Number, ProgressToken};

/// How far a request has got. Schema `ProgressNotificationParams`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProgressParams {
    /// What travels beside the payload.
    #[serde(rename = "_meta", default, skip_serializing_if = "NotificationMeta::is_empty")]
    pub meta: NotificationMeta,
    /// The token that the request gave.
    pub progress_token: ProgressToken,
    /// How much is done; grows from one notification to the next.
    pub progress: Number,
    /// How much there is to do, in the same unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<Number>,
    /// What is being done, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

impl ProgressParams {
    /// `progress` of the request that gave the token.
    pub fn new(progress_token: ProgressToken, progress: impl Into<Number>) -> Self {
        Self {
            meta: NotificationMeta::default(),
            progress_token,
            progress: progress.into(),
            total: None,
            message: None,
        }
    }
}

has_meta!(NotificationMeta: ProgressParams);
