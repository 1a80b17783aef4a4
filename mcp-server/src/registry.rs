//! `Registry`: the tools of a server, in the order of registration, frozen when the server is built.

use std::sync::Arc;

use mcp_transport::header::ParamHeaders;
use mcp_types::{CacheHint, ClientCapabilities, ListToolsResult, Outcome, RawJson, ResultMeta};

use crate::error::BuildError;
use crate::handler::ErasedHandler;
use crate::page::Cursor;
use crate::state::States;
use crate::tool::Tool;

/// A registered tool, ready to be called.
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) handler: Arc<dyn ErasedHandler>,
    pub(crate) headers: ParamHeaders,
    pub(crate) required: ClientCapabilities,
    pub(crate) to_completion: bool,
}

pub(crate) struct Registry {
    tools: Vec<Arc<Entry>>,
    /// Places in `tools`, sorted by name: faster than hashing for any number of tools that a model can
    /// choose from.
    by_name: Vec<usize>,
    page_size: usize,
    /// The encoded result of each page.
    pages: Vec<String>,
}

impl Registry {
    pub(crate) fn build(
        tools: Vec<Tool>,
        states: &States,
        page_size: usize,
        cache: CacheHint,
        meta: &ResultMeta,
    ) -> Result<Self, BuildError> {
        if page_size == 0 {
            return Err(BuildError::PageSize);
        }
        let mut registry =
            Self { tools: Vec::new(), by_name: Vec::new(), page_size, pages: Vec::new() };
        let mut definitions = Vec::with_capacity(tools.len());
        for tool in tools {
            definitions.push(registry.add(tool, states)?);
        }
        registry.pages = encode_pages(&definitions, page_size, cache, meta);
        Ok(registry)
    }

    /// Checks `tool` and takes it in; what is left is what clients list.
    fn add(&mut self, tool: Tool, states: &States) -> Result<mcp_types::Tool, BuildError> {
        let name = tool.definition.name.clone();
        check_name(&name)?;
        let missing = tool.needs.states.iter().find(|need| !states.has(need));
        if let Some(need) = missing {
            return Err(BuildError::MissingState { tool: name, state: need.name });
        }
        check_schemas(&tool.definition)?;
        let headers = ParamHeaders::compile(tool.definition.input_schema.get())
            .map_err(|source| BuildError::ParamHeader { tool: name.clone(), source })?;
        match self.search(&name) {
            Ok(_) => return Err(BuildError::DuplicateName(name)),
            Err(at) => self.by_name.insert(at, self.tools.len()),
        }
        self.tools.push(Arc::new(Entry {
            name,
            handler: tool.handler,
            headers,
            required: tool.required,
            to_completion: tool.to_completion,
        }));
        Ok(tool.definition)
    }

    /// The tool of this name.
    pub(crate) fn tool(&self, name: &str) -> Option<&Arc<Entry>> {
        self.tools.get(self.place(name)?)
    }

    /// Where in the list the tool of this name stands.
    fn place(&self, name: &str) -> Option<usize> {
        self.by_name.get(self.search(name).ok()?).copied()
    }

    fn search(&self, name: &str) -> Result<usize, usize> {
        self.by_name.binary_search_by(|&at| {
            // Every place in `by_name` is one in `tools`.
            self.tools.get(at).map_or("", |tool| &tool.name).cmp(name)
        })
    }

    /// The encoded result of the page that `cursor` points at, the first one without; `None` when no list of
    /// this server gave that cursor.
    pub(crate) fn page(&self, cursor: Option<&str>) -> Option<&str> {
        let page = match cursor {
            None => 0,
            Some(cursor) => {
                let last = Cursor::open(cursor, LIST)?;
                let next = self.place(&last)? + 1;
                if next % self.page_size != 0 {
                    return None;
                }
                next / self.page_size
            }
        };
        self.pages.get(page).map(String::as_str)
    }
}

/// What the cursors of this list are bound to.
const LIST: &str = "tools";

fn encode_pages(
    tools: &[mcp_types::Tool],
    page_size: usize,
    cache: CacheHint,
    meta: &ResultMeta,
) -> Vec<String> {
    let mut pages = Vec::new();
    // A server without tools still has a page to show, an empty one.
    let chunks = tools.chunks(page_size).chain(tools.is_empty().then_some(&[][..]));
    let mut listed = 0;
    for chunk in chunks {
        listed += chunk.len();
        let last = chunk.last().filter(|_| listed < tools.len());
        let result = Outcome::Complete(ListToolsResult {
            meta: meta.clone(),
            tools: chunk.to_vec(),
            next_cursor: last.map(|tool| Cursor::seal(LIST, &tool.name).into()),
            ttl_ms: cache.ttl_ms,
            cache_scope: cache.cache_scope,
        });
        // Tools hold JSON and strings, which always encode.
        pages.push(serde_json::to_string(&result).unwrap_or_default());
    }
    pages
}

fn check_name(name: &str) -> Result<(), BuildError> {
    if name.is_empty() {
        return Err(BuildError::NoName);
    }
    let usual = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.');
    if name.len() > 128 || !name.bytes().all(usual) {
        tracing::warn!(
            name,
            "tool names should have 1 to 128 of A-Z, a-z, 0-9, '_', '-', '.'; some clients will refuse this one"
        );
    }
    Ok(())
}

fn check_schemas(tool: &mcp_types::Tool) -> Result<(), BuildError> {
    let fault = |which, why: &str| BuildError::Schema {
        tool: tool.name.clone(),
        which,
        why: why.to_owned(),
    };
    #[derive(serde::Deserialize)]
    struct Root {
        #[serde(rename = "type")]
        kind: Option<RawJson>,
    }
    let root: Root = match tool.input_schema.decode() {
        Ok(root) if tool.input_schema.is_object() => root,
        _ => return Err(fault("input", "is not an object")),
    };
    if root.kind.is_none_or(|kind| kind.get() != "\"object\"") {
        return Err(fault("input", "does not have \"type\": \"object\" at its root"));
    }
    if tool.output_schema.as_ref().is_some_and(|schema| !schema.is_object()) {
        return Err(fault("output", "is not an object"));
    }
    Ok(())
}
