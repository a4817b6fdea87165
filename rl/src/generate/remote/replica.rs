//! One server of an engine, and whether it can be asked.

use super::client::Client;
use std::time::{Duration, Instant};

/// Waits between two tries to bring a server back, at first and at most.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const MOST_WAIT: Duration = Duration::from_secs(30);

/// A server, and what is known of it.
#[derive(Debug)]
pub(super) struct Replica {
    pub(super) client: Client,
    pub(super) state: ReplicaState,
    /// Conversations that stay with it.
    pub(super) open: usize,
}

/// Whether a server can be asked.
#[derive(Debug)]
pub(super) enum ReplicaState {
    /// It has the published weights: it was probed after they were loaded.
    Ready {
        /// What turns name the weights by.
        model: String,
    },
    /// It has not, or it failed. It gets the weights anew before it is asked again.
    Lost {
        /// Why.
        why: String,
        /// When it is tried again; `None` while it is being tried.
        next: Option<Instant>,
        /// The wait after that.
        wait: Duration,
    },
}

impl Replica {
    /// A server that has no published weights yet.
    pub(super) fn new(client: Client) -> Self {
        let state = ReplicaState::lost("it has no weights yet".to_owned());
        Self { client, state, open: 0 }
    }

    /// The name of the weights, if the server can be asked.
    pub(super) fn model(&self) -> Option<&str> {
        match &self.state {
            ReplicaState::Ready { model } => Some(model),
            ReplicaState::Lost { .. } => None,
        }
    }
}

impl ReplicaState {
    /// Lost, to be tried again at once.
    pub(super) fn lost(why: String) -> Self {
        Self::Lost { why, next: Some(Instant::now()), wait: FIRST_WAIT }
    }

    /// Begins a try to bring it back, if one is due.
    pub(super) fn begins_try(&mut self) -> bool {
        match self {
            Self::Lost { next, .. } if next.is_some_and(|next| next <= Instant::now()) => {
                *next = None;
                true
            }
            _ => false,
        }
    }

    /// Takes note of how a try ended.
    pub(super) fn tried(&mut self, result: Result<String, String>) {
        match (&mut *self, result) {
            (_, Ok(model)) => *self = Self::Ready { model },
            (Self::Lost { why, next, wait }, Err(reason)) => {
                (*why, *next) = (reason, Some(Instant::now() + *wait));
                *wait = (*wait * 2).min(MOST_WAIT);
            }
            (Self::Ready { .. }, Err(reason)) => *self = Self::lost(reason),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_server_is_tried_at_once_then_after_longer_and_longer_waits() {
        let mut state = ReplicaState::lost("gone".to_owned());
        assert!(state.begins_try());
        assert!(!state.begins_try(), "one try at a time");
        let mut waits = Vec::new();
        for _ in 0..7 {
            state.tried(Err("refused".to_owned()));
            let ReplicaState::Lost { why, next, wait } = &state else { panic!("it is lost") };
            assert!(why == "refused" && next.is_some_and(|next| next > Instant::now()));
            waits.push(wait.as_secs());
        }
        assert_eq!(waits, [2, 4, 8, 16, 30, 30, 30]);
        assert!(!state.begins_try(), "not before its time");
        state.tried(Ok("policy-3".to_owned()));
        assert!(matches!(&state, ReplicaState::Ready { model } if model == "policy-3"));
        assert!(!state.begins_try());
    }
}
