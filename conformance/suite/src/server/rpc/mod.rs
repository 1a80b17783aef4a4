//! JSON-RPC: messages that are none, ids, error codes, and what every message of the server has in common.

pub(super) mod body;
pub(super) mod code;
pub(super) mod keys;
pub(super) mod notification;
pub(super) mod record;
pub(super) mod schema;
pub(super) mod text;

use serde_json::Value;

use super::Cx;
use crate::wire::json::at;
use crate::wire::message::Message;

/// A discover, whose `params` go into bodies that are written by hand.
fn discover(cx: &Cx) -> (Message, Value) {
    let discover = cx.request("server/discover");
    let params = serde_json::from_str::<Value>(&discover.text()).unwrap_or_default();
    let params = at(&params, "/params").clone();
    (discover, params)
}
