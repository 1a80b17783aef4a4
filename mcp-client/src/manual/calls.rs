//! Calls: what is set on one, how it ends, lists, structured results, layers, repetitions.
//!
//! # One call
//!
//! Every function of a [`Client`](crate::Client) that asks the server something gives a [`Call`](crate::Call), which is sent when it
//! is awaited. What is set on it counts for it alone:
//!
//! ```no_run
//! # async fn example(client: mcp_client::Client) -> Result<(), mcp_client::Error> {
//! use std::time::Duration;
//! use serde_json::json;
//!
//! let report = client
//!     .call_tool("report", json!({ "year": 2026 }))
//!     .timeout(Duration::from_secs(60))
//!     .reset_on_progress()
//!     .on_progress(|progress| println!("{} of {:?}", progress.progress, progress.total))
//!     .await?;
//! # Ok(())
//! # }
//! ```
//!
//! It owns what it needs, so it can be spawned and outlive the variable it came from. Dropping its future cancels it: the
//! server is told in the way of the transport, and drops the work. Whether it had been done nobody can know then.
//!
//! # Results
//!
//! - A tool that fails is a result that [says so](crate::types::CallToolResult::is_error), for the model to read.
//! - [`structured`](crate::Call::structured) turns the structured content into a type of yours; then a failed tool is an error
//!   with a [`tool_failure`](crate::Error::tool_failure). With the feature `validation` the content is first held against the
//!   output schema, if the tool is known from a list to have one.
//! - [`raw`](crate::Call::raw) gives the bytes of the result as they came, for those who pass them on.
//!
//! # Lists
//!
//! A list function gives one page. [`all`](crate::Call::all) gives the whole list, [`pages`](crate::Call::pages) the pages one
//! by one, also as a `Stream`. A list that comes back to a page it had, or has more than
//! [`Limits`](crate::Limits) allow, is an error. An entry that cannot be read, or that clients have to refuse, is left out
//! with a warning, and the others stay in their order.
//!
//! # Other methods
//!
//! [`Client::call`](crate::Client::call) makes a call of any type that implements [`Request`](crate::types::Request): those of the
//! specification, or one of an extension.
//!
//! # Again
//!
//! Without being told, a call is repeated once with another version, where the server names one that both know, and once with
//! fresh tool definitions, where it refused the mirrored headers. What failed on the network is repeated where a
//! [`Retry`](crate::Retry) says so, with pauses, under new ids; a tool that may have done its work only if the call is
//! [`idempotent`](crate::Call::idempotent).
//!
//! # Many
//!
//! Calls of one client go side by side over pooled connections. [`max_in_flight`](crate::ClientBuilder::max_in_flight) bounds
//! how many requests are under way; the others wait their turn, and their time runs. A [`layer`](crate::ClientBuilder::layer) goes
//! around every call: any `tower` layer, with the method, the target, and headers and `_meta` that can be changed.
