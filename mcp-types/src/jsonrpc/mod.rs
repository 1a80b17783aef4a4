//! JSON-RPC 2.0 as the protocol uses it: four message shapes, ids, and error objects.
//!
//! The shapes here are for building messages and for reading ones whose type is known. Reading
//! *any* message a peer may send, without decoding what it carries, is the envelope scan of
//! `mcp-transport`.

mod error;
mod id;
mod message;

pub use error::{
    ErrorCode, ErrorObject, MissingRequiredClientCapability, ResourceNotFound,
    UnsupportedProtocolVersion,
};
pub use id::{InvalidId, ProgressToken, RequestId};
pub use message::{ErrorMessage, JsonRpc, NotificationMessage, RequestMessage, ResultMessage};
