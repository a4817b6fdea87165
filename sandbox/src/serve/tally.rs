//! How often each client has begun each task.
//!
//! A grade, however coarse, tells something of the answers each time. What a client can learn of
//! a task is what one episode tells, times how many it may play.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};
use tasks::task::TaskId;

/// Clients and tasks that are counted at most; a client that would be one more is refused.
const PAIRS: usize = 1 << 20;

/// Who a client is: the address that its connection comes from, as far as that is its own to
/// choose. All of this machine is one, for it has many loopback addresses; of version 6, what a
/// network has is one, for its hosts choose the last 64 bits. Who shows the token is not told by
/// it: all show the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Client(IpAddr);

impl Client {
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
pub(super) struct Tally {
    limit: u64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    begun: HashMap<Client, BTreeMap<TaskId, u64>>,
    pairs: usize,
}

/// A client may not begin the task once more.
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

impl Tally {
    pub(super) fn new(limit: u64) -> Self {
        Self { limit, state: Mutex::default() }
    }

    /// Counts one more.
    pub(super) fn begin(&self, client: Client, task: &TaskId) -> Result<(), TooMany> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let State { begun, pairs } = &mut *state;
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

    /// Takes one back that did not come to pass.
    pub(super) fn take_back(&self, client: Client, task: &TaskId) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = state.begun.get_mut(&client).and_then(|tasks| tasks.get_mut(task)) {
            *count = count.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(address: &str) -> Client {
        Client::at(address.parse().unwrap())
    }

    #[test]
    fn a_client_is_what_it_cannot_choose_of_its_address() {
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
        let tally = Tally::new(2);
        let task = |name: &str| TaskId::new(name).unwrap();
        let (near, far) = (client("127.0.0.1"), client("10.0.0.1"));
        for _ in 0..2 {
            tally.begin(near, &task("a")).unwrap();
        }
        let refusal = tally.begin(near, &task("a")).unwrap_err();
        assert!(refusal.to_string().contains("2 episodes of the task a"), "{refusal}");
        tally.begin(near, &task("b")).unwrap();
        tally.begin(far, &task("a")).unwrap();
        tally.take_back(near, &task("a"));
        tally.begin(near, &task("a")).unwrap();
        assert!(tally.begin(near, &task("a")).is_err());
    }
}
