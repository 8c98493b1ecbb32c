//! What is known of a server that is ready.

use std::time::Duration;

use rocload_core::Millis;

use crate::http::Endpoint;

/// A server that is ready for requests.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ready {
    /// Where it listens.
    pub endpoint: Endpoint,
    /// Its process; `None` for a server at an address.
    pub pid: Option<u32>,
    /// How long it took from the start of the process.
    pub load: Option<Duration>,
    /// Which start this is, from 1; 0 for a server at an address.
    pub attempt: u32,
}

impl Ready {
    pub(crate) fn at(endpoint: Endpoint) -> Ready {
        Ready { endpoint, pid: None, load: None, attempt: 0 }
    }
}

/// A duration as the core counts time.
pub(crate) fn millis_of(duration: Duration) -> Millis {
    Millis(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
}
