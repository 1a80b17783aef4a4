//! What holds for every message: JSON-RPC, `_meta`, and versions.

mod meta;
mod results;
mod rpc;
mod schemas;
mod version;

pub(super) use meta::CHECKS as META_CHECKS;
pub(super) use results::CHECKS as RESULT_CHECKS;
pub(super) use rpc::{CHECKS as RPC_CHECKS, at_once, is_message};
pub(super) use schemas::CHECKS as SCHEMA_CHECKS;
pub(super) use version::CHECKS as VERSION_CHECKS;
