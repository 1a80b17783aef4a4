//! Calls of any method, and what is said of them.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mcp_client::types::{PageRequest, Request, request};
use mcp_client::{Call, Change, Client, End, Error};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::Step;

/// Calls the method of a step.
pub(super) async fn call(client: &Client, step: &Step) -> Value {
    match &*step.r#do {
        "server/discover" => one(client.discover(), step).await,
        "tools/list" => todo!(),
        _ => json!({}),
    }
}
