//! `notifications/message`: what a server logs. Specification: Logging, which this revision
//! deprecates.

use serde::{Deserialize, Serialize};

use crate::meta::has_meta;
use crate::{NotificationMeta, RawJson};

/// How severe a log message is, in the order of RFC 5424. Schema `LoggingLevel`. Deprecated by this
/// revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(clippy::exhaustive_enums, reason = "the schema closes it")]
pub enum LoggingLevel {
    /// Details for finding faults.
    Debug,
    /// What happens in the normal course.
    Info,
    /// Normal, but worth a look.
    Notice,
    /// Something may go wrong.
    Warning,
    /// Something went wrong.
    Error,
    /// A part has failed.
    Critical,
    /// Somebody has to act at once.
    Alert,
    /// Nothing works.
    Emergency,
}

/// A log message. Schema `LoggingMessageNotificationParams`. Deprecated by this revision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogMessageParams {
    /// What travels beside the payload.
    #[serde(rename = "_meta", default, skip_serializing_if = "NotificationMeta::is_empty")]
    pub meta: NotificationMeta,
    /// How severe it is.
    pub level: LoggingLevel,
    /// Which part of the server speaks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logger: Option<String>,
    /// What is said: a text, or any other JSON value.
    pub data: RawJson,
}

impl LogMessageParams {
    /// A message of `level` that says `data`.
    pub fn new(level: LoggingLevel, data: impl Into<RawJson>) -> Self {
        Self { meta: NotificationMeta::default(), level, logger: None, data: data.into() }
    }
}

has_meta!(NotificationMeta: LogMessageParams);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_ordered_by_severity() {
        use LoggingLevel::{Alert, Critical, Debug, Emergency, Error, Info, Notice, Warning};
        let levels = [Debug, Info, Notice, Warning, Error, Critical, Alert, Emergency];
        assert!(levels.is_sorted());
        for (level, name) in levels.into_iter().zip([
            "debug",
            "info",
            "notice",
            "warning",
            "error",
            "critical",
            "alert",
            "emergency",
        ]) {
            assert_eq!(serde_json::to_string(&level).unwrap(), format!("{name:?}"));
        }
        assert!(serde_json::from_str::<LoggingLevel>(r#""Debug""#).is_err());
    }
}
