//! `Catalog`: which tools mirror parameters into headers, and which promise what of their results, as far as lists have
//! told.
//!
//! Specification: Streamable HTTP, Custom Headers from Tool Parameters; Tools, Output Schema.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mcp_transport::header::{InvalidAnnotation, ParamHeaders};
use mcp_types::{ListToolsResult, Tool};

use crate::error::excerpt;
use crate::limits::Limits;
use crate::promise::Promise;

/// The header plans and promises of the tools seen, whatever the lists said about their freshness: an old plan is better
/// than none, and a server that changed it says so. Tools that have neither are not in it.
pub(crate) struct Catalog {
    seen: Mutex<Seen>,
    tools: usize,
    bytes: usize,
}

#[derive(Default)]
struct Seen {
    tools: HashMap<Arc<str>, Entry>,
    /// The same names by the time they were seen last, oldest first.
    order: BTreeMap<u64, Arc<str>>,
    clock: u64,
    bytes: usize,
}

struct Entry {
    /// Empty when it mirrors nothing.
    plan: Arc<ParamHeaders>,
    promise: Option<Arc<Promise>>,
    seen_at: u64,
    bytes: usize,
}

impl Catalog {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self { seen: Mutex::default(), tools: limits.catalog_tools, bytes: limits.catalog_bytes }
    }

    /// Remembers the tools of a page, and takes those out of it that break the rules for mirrored
    /// parameters.
    pub(crate) fn admit(&self, page: &mut ListToolsResult) {
        let mut broken = 0;
        page.tools.retain(|tool| match self.admit_tool(tool) {
            Ok(()) => true,
            Err(error) => {
                broken += 1;
                if broken <= Limits::LIST_WARNINGS {
                    let (name, reason) = (excerpt(tool.name.as_bytes()), error.to_string());
                    tracing::warn!(tool = name, reason, "a tool is left out of the list");
                }
                self.seen().forget(&tool.name);
                false
            }
        });
    }

    /// The plan of a tool; `None` when it mirrors nothing or was not seen.
    pub(crate) fn plan(&self, tool: &str) -> Option<Arc<ParamHeaders>> {
        let seen = self.seen();
        let plan = seen.tools.get(tool).map(|entry| &entry.plan);
        plan.filter(|plan| !plan.is_empty()).cloned()
    }

    /// What a tool promises of its results; `None` when it promises nothing or was not seen.
    pub(crate) fn promise(&self, tool: &str) -> Option<Arc<Promise>> {
        self.seen().tools.get(tool)?.promise.clone()
    }

    fn admit_tool(&self, tool: &Tool) -> Result<(), InvalidAnnotation> {
        let schema = tool.input_schema.get();
        let plan = ParamHeaders::compile(schema)?;
        let mut seen = self.seen();
        let known = seen.forget(&tool.name).and_then(|entry| entry.promise);
        // One that is the same as before may have been compiled, and lists come from the cache as well.
        let promise = known.filter(|known| known.is_of(tool)).or_else(|| Promise::of(tool));
        if plan.is_empty() && promise.is_none() {
            return Ok(());
        }
        let promised = promise.as_ref().map_or(0, |promise| promise.bytes());
        let bytes = tool.name.len() + schema.len() + promised;
        seen.remember(&tool.name, plan, promise, bytes);
        while seen.tools.len() > self.tools || seen.bytes > self.bytes {
            seen.forget_oldest();
        }
        Ok(())
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        // At worst a forgotten plan, which costs a call one more round.
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seen {
    fn remember(
        &mut self,
        tool: &str,
        plan: ParamHeaders,
        promise: Option<Arc<Promise>>,
        bytes: usize,
    ) {
        let (name, seen_at) = (Arc::<str>::from(tool), self.clock);
        let plan = Arc::new(plan);
        self.clock += 1;
        self.bytes += bytes;
        self.order.insert(seen_at, Arc::clone(&name));
        self.tools.insert(name, Entry { plan, promise, seen_at, bytes });
    }

    fn forget(&mut self, tool: &str) -> Option<Entry> {
        let entry = self.tools.remove(tool)?;
        self.order.remove(&entry.seen_at);
        self.bytes -= entry.bytes;
        Some(entry)
    }

    fn forget_oldest(&mut self) {
        if let Some((_, tool)) = self.order.pop_first() {
            self.forget(&tool);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str, header: &str) -> Tool {
        let schema = format!(
            r#"{{"type":"object","properties":{{"p":{{"type":"string","x-mcp-header":"{header}"}}}}}}"#
        );
        Tool::new(name, mcp_types::RawJson::from_text(schema).unwrap())
    }

    fn admit(catalog: &Catalog, tools: &[Tool]) -> Vec<String> {
        let mut page = ListToolsResult { tools: tools.to_vec(), ..ListToolsResult::default() };
        catalog.admit(&mut page);
        page.tools.into_iter().map(|tool| tool.name).collect()
    }

    #[test]
    fn the_longest_unseen_is_forgotten() {
        let catalog = Catalog::new(&Limits { catalog_tools: 2, ..Limits::default() });
        admit(&catalog, &[tool("a", "A"), tool("b", "B"), tool("a", "A"), tool("c", "C")]);
        assert!(catalog.plan("b").is_none());
        assert!(catalog.plan("a").is_some() && catalog.plan("c").is_some());

        let bytes = tool("a", "A").input_schema.get().len() + 1;
        let catalog = Catalog::new(&Limits { catalog_bytes: 2 * bytes, ..Limits::default() });
        let listed = admit(&catalog, &[tool("a", "A"), tool("b", "B"), tool("c", "C")]);
        assert_eq!(listed, ["a", "b", "c"]);
        assert!(catalog.plan("a").is_none() && catalog.plan("b").is_some());
        admit(&catalog, &[tool("big", &"x".repeat(200))]);
        let seen = catalog.seen();
        assert_eq!((seen.tools.len(), seen.order.len(), seen.bytes), (0, 0, 0));
    }

    #[test]
    fn the_last_list_counts() {
        let catalog = Catalog::new(&Limits::default());
        admit(&catalog, &[tool("a", "A"), tool("b", "B"), tool("c", "C")]);
        let plain = Tool::new("a", serde_json::json!({"type": "object"}));
        assert_eq!(admit(&catalog, &[plain, tool("b", "not a name")]), ["a"]);
        assert!(catalog.plan("a").is_none() && catalog.plan("b").is_none());
        assert!(catalog.plan("c").is_some());
        assert_eq!(catalog.seen().bytes, tool("c", "C").input_schema.get().len() + 1);
    }
}
