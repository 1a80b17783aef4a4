//! Calls that become tasks. Extension `io.modelcontextprotocol/tasks`.

pub(super) const CHECKS: &[crate::check::Check] = &[];
