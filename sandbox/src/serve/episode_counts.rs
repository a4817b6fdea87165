//! How many episodes of each task each client has begun.
//!
//! Every grade, however coarse, reveals something about the answers. The number of episodes bounds
//! how much a client can learn about a task.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};
use tasks::task::TaskId;

/// The most pairs of client and task that are counted; further ones are refused.
const PAIRS: usize = 1 << 20;

/// A client, identified by the part of its address that it cannot choose. All loopback addresses
/// are one client, and so is an IPv6 network of 64 bits, whose hosts choose the other 64 bits. The
/// token identifies no one: all clients use the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct ClientId(IpAddr);

impl ClientId {
    pub(super) fn at(address: IpAddr) -> Self {
        let address = address.to_canonical();
        Self(match address {
            _ if address.is_loopback() => Ipv6Addr::LOCALHOST.into(),
            IpAddr::V4(_) => address,
            IpAddr::V6(six) => {
                let [a, b, c, d, ..] = six.segments();
                Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
            }
        })
    }
}

/// Counts of episodes since the server began.
#[derive(Debug)]
pub(super) struct BegunEpisodes {
    limit: u64,
    state: Mutex<BegunState>,
}

#[derive(Debug, Default)]
struct BegunState {
    begun: HashMap<ClientId, BTreeMap<TaskId, u64>>,
    pairs: usize,
}

/// Why a client may not begin another episode.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum TooMany {
    #[error(
        "{limit} episodes of the task {task} were begun from this address, as many as are allowed \
         (`--episodes-per-task`); play another task"
    )]
    Episodes { task: TaskId, limit: u64 },
    #[error("this server has had more clients than it can count; it has to be started again")]
    Clients,
}

impl BegunEpisodes {
    pub(super) fn new(limit: u64) -> Self {
        Self { limit, state: Mutex::default() }
    }

    /// Counts one more episode; refused at the limit.
    pub(super) fn begin(&self, client: ClientId, task: &TaskId) -> Result<(), TooMany> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let BegunState { begun, pairs } = &mut *state;
        let count = begun.get_mut(&client).and_then(|tasks| tasks.get_mut(task));
        match count {
            Some(count) if *count >= self.limit => {
                Err(TooMany::Episodes { task: task.clone(), limit: self.limit })
            }
            Some(count) => {
                *count += 1;
                Ok(())
            }
            None if *pairs >= PAIRS => Err(TooMany::Clients),
            None => {
                *pairs += 1;
                begun.entry(client).or_default().insert(task.clone(), 1);
                Ok(())
            }
        }
    }

    /// Subtracts an episode that did not begin after all.
    pub(super) fn take_back(&self, client: ClientId, task: &TaskId) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = state.begun.get_mut(&client).and_then(|tasks| tasks.get_mut(task)) {
            *count = count.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(address: &str) -> ClientId {
        ClientId::at(address.parse().unwrap())
    }

    #[test]
    fn client_is_identified_by_the_prefix_of_its_address() {
        for same in ["127.0.0.1", "127.9.8.7", "::1", "::ffff:127.0.0.3"] {
            assert_eq!(client(same), client("127.0.0.1"), "{same}");
        }
        assert_eq!(client("2001:db8::1"), client("2001:db8::ffff:1"));
        assert_eq!(client("::ffff:10.0.0.1"), client("10.0.0.1"));
        assert_ne!(client("10.0.0.2"), client("10.0.0.1"));
        assert_ne!(client("2001:db8:0:1::1"), client("2001:db8::1"));
    }

    #[test]
    fn each_client_has_its_own_count_of_each_task() {
        let counts = BegunEpisodes::new(2);
        let task = |name: &str| TaskId::new(name).unwrap();
        let (near, far) = (client("127.0.0.1"), client("10.0.0.1"));
        for _ in 0..2 {
            counts.begin(near, &task("a")).unwrap();
        }
        let refusal = counts.begin(near, &task("a")).unwrap_err();
        assert!(refusal.to_string().contains("2 episodes of the task a"), "{refusal}");
        counts.begin(near, &task("b")).unwrap();
        counts.begin(far, &task("a")).unwrap();
        counts.take_back(near, &task("a"));
        counts.begin(near, &task("a")).unwrap();
        assert!(counts.begin(near, &task("a")).is_err());
    }
}
