//! Why an episode cannot be played on a server.

use super::address::ServerAddress;
use sandbox::env::EpisodeFault;
use std::time::Duration;

/// Why an episode cannot be played on a server of a fleet.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// A text that is no address of a server.
    #[error("`{address}` is no address of a server, such as `http://10.0.0.5:8765`: {why}")]
    Address {
        /// What was given, without a token.
        address: String,
        /// What is wrong with it.
        why: String,
    },
    /// No server took the episode in time.
    #[error(
        "no server has taken an episode for {} s; {states}; start servers with `sandbox serve`, or \
         name others", waited.as_secs()
    )]
    NoServer {
        /// For how long it was tried.
        waited: Duration,
        /// What is known of each server.
        states: String,
    },
    /// A server refused for a reason that holds elsewhere and later too.
    #[error("{server} refuses: {message}")]
    Refused {
        /// The server.
        server: String,
        /// What it said.
        message: String,
    },
    /// A server plays by other rules.
    #[error(
        "{server} plays by other rules: `{key}` is {there} there and {here} here; start it with \
         the same, or change the settings here (docs/DEPLOY.md)"
    )]
    Rules {
        /// The server.
        server: String,
        /// Which rule.
        key: String,
        /// Its value there.
        there: String,
        /// Its value here.
        here: String,
    },
    /// A server has another task of the same name.
    #[error(
        "the task `{task}` is another one at {server}: its public files differ from those here; \
         use one corpus on all machines"
    )]
    Task {
        /// The server.
        server: String,
        /// The task.
        task: String,
    },
    /// The environment failed on the server. The episode has no reward.
    #[error("{server}: {message}")]
    Environment {
        /// The server.
        server: String,
        /// What it said.
        message: String,
    },
    /// An episode was lost so often that it is given up.
    #[error("the episode was lost {times} times, at last by {server}: {why}")]
    Lost {
        /// How often.
        times: u32,
        /// The last server.
        server: String,
        /// What happened to it.
        why: String,
    },
    /// An episode that was lost could not be repeated.
    #[error(
        "the episode was lost, and turn {turn} had another reply when it was repeated on {server}: \
         its script does not depend on the turns alone"
    )]
    Diverged {
        /// The server.
        server: String,
        /// Number of the turn, from 1.
        turn: usize,
    },
    /// An answer that is not one of `sandbox serve`, or of another version of it.
    #[error("{server} does not answer as `sandbox serve` of this version does: {why}")]
    Protocol {
        /// The server.
        server: String,
        /// What is wrong.
        why: String,
    },
    /// The fleet was given up by [`Fleet::abandoner`](super::Fleet::abandoner).
    #[error("the fleet was given up")]
    Abandoned,
}

impl From<RemoteError> for EpisodeFault {
    fn from(error: RemoteError) -> Self {
        match error {
            RemoteError::Abandoned => Self::Execution(jail::exec::Fault::Abandoned),
            error => Self::Remote(Box::new(error)),
        }
    }
}

/// A server as messages name it: its address, and which of the addresses of a host name.
pub(super) fn name(address: &ServerAddress, at: std::net::SocketAddr) -> String {
    let host = address.host.trim_matches(['[', ']']);
    if host == at.ip().to_string() { address.to_string() } else { format!("{address} ({at})") }
}
