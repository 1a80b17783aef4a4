//! What travels in `_meta`: versions, capabilities, and that nothing else is remembered of a client.

pub(super) mod capability;
pub(super) mod key;
pub(super) mod required;
pub(super) mod said;
pub(super) mod state;
pub(super) mod version;
