//! Errors: whose fault it is, and what to do.
//!
//! An [`Error`](crate::Error) is one word wide and is asked what it is:
//!
//! | question | whose fault | what to do |
//! |---|---|---|
//! | [`is_usage`](crate::Error::is_usage) | the caller's; nothing was sent | mend the program |
//! | [`is_connect`](crate::Error::is_connect) | the network's, or a certificate's; the server has seen nothing | see the source; try again later |
//! | [`is_transport`](crate::Error::is_transport) | the network's, on the way | ask whether the work was done, or repeat what only reads |
//! | [`is_timeout`](crate::Error::is_timeout) | time was up | the same |
//! | [`rpc`](crate::Error::rpc) | the server said no, and why | look at the code |
//! | [`is_auth`](crate::Error::is_auth) | credentials are missing or too weak | see [`www_authenticate`](crate::Error::www_authenticate) |
//! | [`is_protocol`](crate::Error::is_protocol) | the server's, or a proxy's: no MCP | report it to whoever runs it |
//! | [`is_too_large`](crate::Error::is_too_large) | the answer is over one of the [`Limits`](crate::Limits) | raise it, or ask for less |
//! | [`input_required`](crate::Error::input_required) | nobody here can answer what the server asks | set [functions](super::input) that can |
//! | [`is_input`](crate::Error::is_input), [`is_layer`](crate::Error::is_layer) | code of the application's own | see the source |
//! | [`tool_failure`](crate::Error::tool_failure) | the tool failed, where a structured result was wanted | show the model what it says |
//!
//! Besides, there are the [`status`](crate::Error::status) and the [`headers`](crate::Error::headers) of the response, if there was
//! one, and the cause in [`source`](std::error::Error::source), told once. What is displayed has neither arguments nor results in
//! it.
//!
//! A server of an earlier revision, which does not know this one, answers with an error of its own or in a way that is none of
//! this protocol. Then a call fails with [`rpc`](crate::Error::rpc) or [`is_protocol`](crate::Error::is_protocol) at once.
