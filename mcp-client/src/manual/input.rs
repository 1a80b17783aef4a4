//! Input: servers that ask before they can finish.
//!
//! A tool may need something only the client has: an answer of the user to a form, a visit to a page, a message from a model,
//! the directories that are open. The server then answers with what it needs, and the client calls again with it. A
//! client does so by itself once functions are set that can answer:
//!
//! ```
//! use mcp_client::types::{ElicitAction, ElicitFormParams, ElicitResult};
//! use mcp_client::{BoxError, Client};
//!
//! async fn ask_the_user(form: ElicitFormParams) -> Result<ElicitResult, BoxError> {
//!     println!("{}", form.message);
//!     // What the form proposes; a real client shows it first.
//!     Ok(form.accept(&form.requested_schema.defaults()).unwrap_or(ElicitResult::of(ElicitAction::Decline)))
//! }
//!
//! # fn example() -> Result<(), mcp_client::Error> {
//! let client = Client::builder("http://127.0.0.1:8080/mcp").on_elicit(ask_the_user).build()?;
//! # Ok(())
//! # }
//! ```
//!
//! - Exactly what there are functions for is declared, so servers ask for nothing else; without any, a server that needs one
//!   refuses the call with -32021.
//! - Several questions of one round are answered side by side. Each round is a request of its own, with a new id, the same
//!   headers and the server's state as it came.
//! - Answers are checked against the form before they are sent, and its defaults are filled in. One that does not
//!   fit is an error that [says so](crate::Error::is_input). To decline and to cancel are answers.
//! - After [`Limits::input_rounds`](crate::Limits::input_rounds) rounds the call ends with an error, which has what
//!   the server asked for last.
//! - A server that only wants the client to come back is given a pause first.
//! - While the user thinks, the timeout of the call stands still; the total timeout does not.
//!
//! [`Client::call`](crate::Client::call) leaves all of this to the caller and gives the [`Outcome`](crate::types::Outcome).
//!
//! Specification: Multi Round-Trip Requests.
