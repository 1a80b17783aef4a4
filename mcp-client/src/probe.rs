//! The probe: over a byte stream a server is asked what it speaks before it is asked for anything else.
//!
//! One of an earlier revision may take a call for one of its own, or stay silent; what it makes of `server/discover`
//! tells it apart from those of this one. Specification: stdio, Backward Compatibility; Versioning, Compatibility
//! Matrix.

use std::sync::OnceLock;

use mcp_types::{EmptyParams, ErrorObject, Outcome, request};
use tokio::sync::{Mutex, MutexGuard};
use tracing::Instrument as _;

use crate::cache::{Mode, Slot};
use crate::call::Options;
use crate::error::{Error, Kind};
use crate::exchange::{Exchange, Own};
use crate::future::BoxFuture;
use crate::headers::ExtraHeaders;
use crate::legacy;
use crate::outgoing::Typed;
use crate::pipe::Connection;
use crate::receive::Answer;
use crate::span;

/// What is known of the server at the other end of a connection, for as long as that lasts.
#[derive(Default)]
pub(crate) struct Era {
    known: OnceLock<Known>,
    turn: Mutex<()>,
}

enum Known {
    /// It speaks this revision, or another of its kind.
    Modern,
    /// It speaks earlier revisions only; how it said so.
    Legacy(ErrorObject),
}

impl Era {
    /// Lets one ask at a time, the others wait for what it learns. Cancel safe: the next one asks.
    async fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().await
    }

    /// Whether the server speaks this revision; `None` while nobody has asked.
    fn is_modern(&self) -> Option<Result<(), Error>> {
        self.known.get().map(|known| match known {
            Known::Modern => Ok(()),
            Known::Legacy(error) => Err(Error::new(Kind::Rpc(error.clone())).of_legacy_server()),
        })
    }

    /// Learns from an answer to `server/discover`.
    pub(crate) fn learn(&self, answer: &Result<Answer, Error>) {
        let known = match answer {
            Ok(answer) => answer.found.outcome::<request::Discover>().ok().map(|_| Known::Modern),
            // No answer, or none that can be read, tells nothing.
            Err(error) => error.rpc().map(|rpc| {
                if legacy::tells(error, true) { Known::Legacy(rpc.clone()) } else { Known::Modern }
            }),
        };
        if let Some(known) = known {
            // A server does not change.
            let _ = self.known.set(known);
        }
    }
}

impl Exchange<'_> {
    /// Asks what the server speaks, unless that is known.
    ///
    /// Cancel safe.
    ///
    /// # Errors
    /// When it speaks earlier revisions only, or has not answered in a way that tells.
    pub(crate) async fn probe(&mut self, connection: &Connection) -> Result<(), Error> {
        let era = connection.era();
        if let Some(known) = era.is_modern() {
            return known;
        }
        let _turn = self.deadline.race(era.turn()).await?;
        if let Some(known) = era.is_modern() {
            return known;
        }
        let answered = self.discover().await;
        // What the call itself takes is counted from here.
        self.deadline.extend();
        match (answered, era.is_modern()) {
            (_, Some(known)) => known,
            (Err(error), None) if error.is_timeout() => {
                Err(error.caused_by("the server was asked server/discover before all else"))
            }
            (answered, None) => answered,
        }
    }

    /// Asks, keeps the answer for those who ask again, and goes on in a version that the server speaks.
    // Boxed, since sending anything may begin with it.
    fn discover(&mut self) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async {
            let shared = self.shared;
            let mut options = Options::quiet(shared.timeouts, ExtraHeaders::default());
            let mut discover = Typed::<request::Discover>(EmptyParams::default());
            let slot = Slot::of(shared, &options.headers, &discover);
            let own = Own { version: true, token: false, trace: true };
            let span = span::of(&discover);
            let mut exchange =
                Exchange { shared, options: &mut options, deadline: &mut *self.deadline };
            let answer =
                exchange.round_in(&span, &mut discover, own).instrument(span.clone()).await;
            span::done(&span, &discover, &answer);
            let answer = answer.inspect_err(|error| {
                exchange.renegotiate(error);
            })?;
            if let Outcome::Complete(found) = answer.found.outcome::<request::Discover>()?
                && !found.supported_versions.contains(&shared.version())
            {
                shared.choose_version(&found.supported_versions);
            }
            if let Some(slot) = slot {
                slot.store(Mode::Refresh, &discover, &answer.found);
            }
            Ok(())
        })
    }
}
