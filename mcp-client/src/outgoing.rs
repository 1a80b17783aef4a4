//! `Outgoing`: a request on its way, its type forgotten.

use std::any::Any;
use std::cell::Cell;
use std::fmt;

use mcp_types::{
    CallToolParams, HasMeta, InputRequired, InputResponses, Outcome, PaginatedParams, Request,
    RequestId, RequestMessage, RequestMeta, RequestState, request,
};

use crate::error::{Error, Fault, excerpt, undecodable};
use crate::limits::Limits;
use crate::receive::Found;
use crate::salvage::salvage;

/// What an exchange has to know of a request, whichever it is.
pub(crate) trait Outgoing: Send + Sync {
    fn method(&self) -> &'static str;
    /// What `Mcp-Name` says.
    fn mcp_name(&self) -> Option<&str>;
    fn meta(&self) -> &RequestMeta;
    fn meta_mut(&mut self) -> &mut RequestMeta;
    /// The parameters of a tool call, whose arguments may have to be mirrored.
    fn tool_call(&self) -> Option<&CallToolParams>;
    /// Whether the server may ask for input first.
    fn may_need_input(&self) -> bool;
    /// Whether the result may say how long it is fresh.
    fn is_cacheable(&self) -> bool;
    /// Whether it is for another page of a list than the first.
    fn has_cursor(&self) -> bool;
    /// Whether it brings back answers or a state.
    fn has_input(&self) -> bool;
    /// Whether this is a final result of the method.
    fn is_complete(&self, found: &Found) -> bool;
    /// The parameters.
    fn params(&self) -> serde_json::Result<String>;
    /// Puts in what a retry brings back; returns whether there is a place for it.
    fn set_input(&mut self, responses: Option<InputResponses>, state: Option<RequestState>)
    -> bool;
    /// The whole message.
    fn encode(&self, id: &RequestId) -> serde_json::Result<Vec<u8>>;
}

/// The parameters of `R`.
pub(crate) struct Typed<R: Request>(pub(crate) R::Params);

impl<R: Request> Outgoing for Typed<R> {
    fn method(&self) -> &'static str {
        R::METHOD
    }

    fn mcp_name(&self) -> Option<&str> {
        R::mcp_name(&self.0)
    }

    fn meta(&self) -> &RequestMeta {
        self.0.meta()
    }

    fn meta_mut(&mut self) -> &mut RequestMeta {
        self.0.meta_mut()
    }

    fn tool_call(&self) -> Option<&CallToolParams> {
        let params: &dyn Any = &self.0;
        params.downcast_ref().filter(|_| R::METHOD == request::CallTool::METHOD)
    }

    fn may_need_input(&self) -> bool {
        R::MAY_NEED_INPUT
    }

    fn is_cacheable(&self) -> bool {
        R::CACHEABLE
    }

    fn has_cursor(&self) -> bool {
        let params: &dyn Any = &self.0;
        params.downcast_ref::<PaginatedParams>().is_some_and(|params| params.cursor.is_some())
    }

    fn has_input(&self) -> bool {
        R::has_input(&self.0)
    }

    fn is_complete(&self, found: &Found) -> bool {
        matches!(found.read::<R>(&|_, _| {}), Ok(Outcome::Complete(_)))
    }

    fn params(&self) -> serde_json::Result<String> {
        serde_json::to_string(&self.0)
    }

    fn set_input(
        &mut self,
        responses: Option<InputResponses>,
        state: Option<RequestState>,
    ) -> bool {
        R::set_input(&mut self.0, responses, state)
    }

    fn encode(&self, id: &RequestId) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec(&RequestMessage::new(id.clone(), R::METHOD, &self.0))
    }
}

impl Found {
    /// What the server asks for, if that is the result and can be read; [`outcome`](Self::outcome) says why
    /// it cannot.
    pub(crate) fn input_required(&self) -> Option<InputRequired> {
        let tag: Box<str> = serde_json::from_slice(self.tag.as_deref()?).ok()?;
        if *tag != *InputRequired::RESULT_TYPE {
            return None;
        }
        serde_json::from_slice(&self.result).ok()
    }

    /// The outcome of `R`. Entries of lists that cannot be read are left out, with warnings of the first.
    ///
    /// # Errors
    /// When it is no outcome of that method.
    pub(crate) fn outcome<R: Request>(&self) -> Result<Outcome<R::Result>, Error> {
        let broken = Cell::new(0);
        self.read::<R>(&|nth, error| {
            broken.set(broken.get() + 1);
            if broken.get() > Limits::LIST_WARNINGS {
                return;
            }
            let reason = excerpt(error.to_string().as_bytes());
            tracing::warn!(method = R::METHOD, nth, reason, "an entry is left out of a list");
        })
    }

    fn read<R: Request>(
        &self,
        report: &dyn Fn(usize, &dyn fmt::Display),
    ) -> Result<Outcome<R::Result>, Error> {
        let result = str::from_utf8(&self.result).map_err(|error| undecodable(&error))?;
        let tag = self.tag.as_deref().map(serde_json::from_slice::<Box<str>>);
        let tag = tag.transpose().map_err(|error| undecodable(&error))?;
        let tag = tag.as_deref();
        let outcome = Outcome::from_json(result, tag).or_else(|error| {
            let mended = salvage(R::METHOD, result, report).ok_or(error)?;
            Outcome::from_json(&mended, tag)
        });
        match outcome.map_err(|error| undecodable(&error))? {
            Outcome::InputRequired(_) if !R::MAY_NEED_INPUT => {
                Err(Error::protocol(Fault::InputNotAllowed))
            }
            outcome => Ok(outcome),
        }
    }
}
