//! `Listener`: the progress and the log messages of one call.

use std::sync::PoisonError;

use bytes::Bytes;
use mcp_transport::json::{Message, Notification};
use mcp_types::{LogMessageParams, NotificationMethod, ProgressParams, ProgressToken};

use crate::call::{LogCallback, ProgressCallback};
use crate::error::excerpt;
use crate::receive::Observer;

/// Hands the notifications of one round to the caller.
pub(crate) struct Listener<'a> {
    pub(crate) token: Option<&'a ProgressToken>,
    pub(crate) resets: bool,
    pub(crate) on_progress: Option<&'a ProgressCallback>,
    pub(crate) on_log: Option<&'a LogCallback>,
}

impl Observer for Listener<'_> {
    fn see(&mut self, _raw: &Bytes, message: &Message<'_>) -> bool {
        let Message::Notification(notification) = message else {
            return false;
        };
        match NotificationMethod::from_name(&notification.method) {
            Some(NotificationMethod::Progress) => self.progress(notification),
            Some(NotificationMethod::LogMessage) => {
                self.log(notification);
                false
            }
            _ => {
                let method = excerpt(notification.method.as_bytes());
                tracing::debug!(method, "a notification nobody waits for");
                false
            }
        }
    }
}

impl Listener<'_> {
    fn progress(&self, notification: &Notification<'_>) -> bool {
        if self.on_progress.is_none() && !self.resets {
            return false;
        }
        match serde_json::from_str::<ProgressParams>(notification.params.raw()) {
            // A token of another type, or of another call, is none of ours.
            Ok(progress) if Some(&progress.progress_token) == self.token => {
                if let Some(callback) = self.on_progress {
                    // One that panicked once may be called again.
                    callback.lock().unwrap_or_else(PoisonError::into_inner)(progress);
                }
                self.resets
            }
            Ok(_) => {
                tracing::debug!("progress of something else");
                false
            }
            Err(error) => {
                tracing::trace!(%error, "progress that cannot be read");
                false
            }
        }
    }

    fn log(&self, notification: &Notification<'_>) {
        let Some(callback) = self.on_log else {
            return;
        };
        match serde_json::from_str::<LogMessageParams>(notification.params.raw()) {
            Ok(message) => callback.lock().unwrap_or_else(PoisonError::into_inner)(message),
            Err(error) => tracing::trace!(%error, "a log message that cannot be read"),
        }
    }
}

/// Hears nothing.
pub(crate) struct Nobody;

impl Observer for Nobody {
    fn see(&mut self, _raw: &Bytes, _message: &Message<'_>) -> bool {
        false
    }
}
