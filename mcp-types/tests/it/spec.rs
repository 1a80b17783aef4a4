//! Where the revision's schema and examples are.

use std::path::{Path, PathBuf};

use serde_json::Value;

/// The folder of the revision, or `None` where it is not at hand, which CI does not accept.
///
/// `MCP_SPEC_DIR` names the folder above it; without it the folder is looked for beside the workspace.
pub(crate) fn folder() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/spec");
    let root = std::env::var_os("MCP_SPEC_DIR").map_or_else(beside, PathBuf::from);
    let folder = root.join("2026-07-28");
    if folder.is_dir() {
        return Some(folder);
    }
    let hint = "set MCP_SPEC_DIR to a folder that has `2026-07-28/schema.json` and its examples";
    assert!(std::env::var_os("CI").is_none(), "no specification at {}: {hint}", root.display());
    println!("skipped: {hint}");
    None
}

/// The definitions of the schema.
pub(crate) fn definitions() -> Option<serde_json::Map<String, Value>> {
    let text = std::fs::read_to_string(folder()?.join("schema.json")).unwrap();
    let mut schema: Value = serde_json::from_str(&text).unwrap();
    match schema["$defs"].take() {
        Value::Object(definitions) => Some(definitions),
        other => panic!("$defs is {other}"),
    }
}
