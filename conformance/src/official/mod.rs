//! The official conformance suite, run as it is and judged more strictly than it judges itself.
//!
//! Running a whole set, the suite looks at failures in scored scenarios only. It overlooks warnings,
//! skipped checks, scenarios that left no result, and clients that crash or hang. Here every one of
//! these is a [`Finding`], and a finding must be excused by name in the list of what is
//! [`Expected`]. An entry of that list that excuses nothing any more counts against the run as well,
//! so the list can only shrink.
//!
//! ```no_run
//! use conformance::official::{Subject, Suite};
//!
//! let suite = Suite::new("conformance/peers", "target/official");
//! let verdict = suite.check(Subject::Server { url: "http://127.0.0.1:8080/mcp" })?;
//! assert!(verdict.is_pass(), "{verdict}");
//! # Ok::<(), std::io::Error>(())
//! ```

mod expected;
mod gate;
mod results;
mod run;

pub use expected::{Entry, Expected};
pub use gate::{Finding, Verdict, judge};
pub use results::{Check, Scenario, read_results};
pub use run::{Subject, Suite};

use std::fmt;

/// Which side of the protocol a run of the suite tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the protocol has two sides")]
pub enum Leg {
    /// The suite is the client, a server of ours is tested.
    Server,
    /// The suite is a server for each scenario, a client of ours is tested.
    Client,
}

impl Leg {
    /// The word for it on the suite's command line, in its output and in the list of what is expected.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Client => "client",
        }
    }
}

impl fmt::Display for Leg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
