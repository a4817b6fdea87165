//! Servers behind one list of addresses: which are up, which has the most room, and leases on them.

use super::address::ServerAddress;
use super::error::{RemoteError, name};
use super::health::{Health, ask};
use std::collections::BTreeMap;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Time between two rounds in which every server is asked for its health.
const ROUND: Duration = Duration::from_secs(1);

/// How a fleet is used.
///
/// | field | default | purpose |
/// | --- | --- | --- |
/// | `patience` | 5 min | time to look for a server that takes an episode |
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FleetOptions {
    /// Time in which some server must take an episode, before it ends with a fault that says what is
    /// known of each server. Counts while all are down and while all are full.
    pub patience: Duration,
}

impl Default for FleetOptions {
    fn default() -> Self {
        Self { patience: Duration::from_mins(5) }
    }
}

/// What became of episodes on a fleet so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FleetUse {
    /// Episodes that were opened, not counting repetitions.
    pub episodes: u64,
    /// How often the server of an episode was lost.
    pub lost: u64,
    /// How often a lost episode was repeated on another server and went on there.
    pub redone: u64,
}

/// Servers behind one list of addresses. They are asked for their health once a second, by a thread
/// that ends with this value; host names are resolved anew each time, so that servers may come and
/// go.
#[derive(Debug)]
pub struct Fleet {
    shared: Arc<FleetState>,
    stop: Option<Sender<()>>,
    rounds: Option<JoinHandle<()>>,
}

#[derive(Debug)]
pub(super) struct FleetState {
    addresses: Vec<ServerAddress>,
    pub(super) options: FleetOptions,
    servers: Mutex<Servers>,
    abandoned: AtomicBool,
    pub(super) episodes: AtomicU64,
    pub(super) lost: AtomicU64,
    pub(super) redone: AtomicU64,
}

#[derive(Debug, Default)]
struct Servers {
    at: BTreeMap<SocketAddr, Server>,
    /// Addresses whose host name is not known, and why.
    unresolved: BTreeMap<String, String>,
    leases: u64,
}

/// What is known of one server.
#[derive(Debug)]
struct Server {
    address: ServerAddress,
    health: Health,
    /// Leases of this fleet.
    leased: usize,
    /// Sessions of other clients, when it was asked last.
    others: usize,
    /// The number of its last lease, so that equal servers take turns.
    last: u64,
}

/// A place on a server for one episode, given back when it is dropped.
#[derive(Debug)]
pub(super) struct Lease {
    shared: Arc<FleetState>,
    pub(super) at: SocketAddr,
    pub(super) address: ServerAddress,
}

impl Server {
    /// Sessions in use and at most, if it takes episodes.
    fn room(&self) -> Option<(usize, usize)> {
        match self.health {
            Health::Live { most, .. } => Some((self.leased + self.others, most)),
            Health::Down(_) => None,
        }
    }

    fn load(&self) -> Option<f64> {
        self.room().filter(|(used, most)| used < most).map(|(used, most)| used as f64 / most as f64)
    }

    fn state(&self) -> String {
        match (&self.health, self.room()) {
            (Health::Down(why), _) => why.clone(),
            (Health::Live { .. }, Some((used, most))) => {
                format!("has {used} of {most} sessions in use")
            }
            (Health::Live { .. }, None) => "is up".to_owned(),
        }
    }
}

impl FleetState {
    fn servers(&self) -> MutexGuard<'_, Servers> {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is_abandoned(&self) -> bool {
        self.abandoned.load(Ordering::SeqCst)
    }

    /// Resolves all host names and asks every server for its health.
    fn look(&self) {
        let mut found = BTreeMap::new();
        let mut unresolved = BTreeMap::new();
        for address in &self.addresses {
            let host = address.host.trim_matches(['[', ']']);
            match (host, address.port).to_socket_addrs() {
                Ok(all) => found.extend(all.map(|at| (at, address.clone()))),
                Err(error) => {
                    unresolved.insert(address.to_string(), error.to_string());
                }
            }
        }
        {
            let mut servers = self.servers();
            // A name that cannot be resolved now says nothing of servers that are known already.
            servers.at.retain(|at, server| {
                let known = unresolved.contains_key(&server.address.to_string());
                found.contains_key(at) || known || server.leased > 0
            });
            for (at, address) in found {
                servers.at.entry(at).or_insert_with(|| Server {
                    address,
                    health: Health::Down("was not asked yet".to_owned()),
                    leased: 0,
                    others: 0,
                    last: 0,
                });
            }
            servers.unresolved = unresolved;
        }
        let asked: Vec<(SocketAddr, String)> = self
            .servers()
            .at
            .iter()
            .map(|(at, server)| (*at, server.address.authority()))
            .collect();
        // At once: one that does not answer must not hold up the others.
        std::thread::scope(|scope| {
            for (at, authority) in &asked {
                scope.spawn(move || self.note(*at, ask(*at, authority)));
            }
        });
    }

    /// Takes note of what a server said.
    fn note(&self, at: SocketAddr, health: Health) {
        let mut servers = self.servers();
        let Some(server) = servers.at.get_mut(&at) else { return };
        let was_live = matches!(server.health, Health::Live { .. });
        match &health {
            Health::Live { sessions, .. } => {
                server.others = sessions.saturating_sub(server.leased);
                if !was_live {
                    tracing::info!(server = name(&server.address, at), "a server takes episodes");
                }
            }
            Health::Down(why) if was_live => {
                tracing::warn!(server = name(&server.address, at), why, "a server is not used");
            }
            Health::Down(_) => {}
        }
        server.health = health;
    }

    /// A server refused for want of room: it counts as full until it is asked again.
    pub(super) fn note_full(&self, at: SocketAddr) {
        if let Some(server) = self.servers().at.get_mut(&at)
            && let Health::Live { most, .. } = server.health
        {
            server.others = most.saturating_sub(server.leased);
        }
    }

    /// A server did not do its part: it is not used until it says that it is well.
    pub(super) fn note_down(&self, at: SocketAddr, why: &str) {
        self.note(at, Health::Down(why.to_owned()));
    }

    /// A place on the server with the smallest share of its sessions in use; of equal ones, on that
    /// which was used least recently.
    pub(super) fn lease(self: &Arc<Self>) -> Option<Lease> {
        let mut servers = self.servers();
        servers.leases += 1;
        let number = servers.leases;
        let loads =
            servers.at.iter_mut().filter_map(|(at, server)| Some((server.load()?, at, server)));
        let (_, at, server) = loads.min_by(|(one, _, left), (other, _, right)| {
            one.total_cmp(other).then_with(|| left.last.cmp(&right.last))
        })?;
        server.leased += 1;
        server.last = number;
        Some(Lease { shared: Arc::clone(self), at: *at, address: server.address.clone() })
    }

    /// A place on each server that is up and has room, for a look at all of them.
    pub(super) fn lease_all(self: &Arc<Self>) -> Vec<Lease> {
        let mut servers = self.servers();
        let with_room = servers.at.iter_mut().filter(|(_, server)| server.load().is_some());
        with_room
            .map(|(at, server)| {
                server.leased += 1;
                Lease { shared: Arc::clone(self), at: *at, address: server.address.clone() }
            })
            .collect()
    }

    /// What is known of each server, in words.
    pub(super) fn states(&self) -> String {
        let servers = self.servers();
        let up = servers
            .at
            .iter()
            .map(|(at, server)| format!("{}: {}", name(&server.address, *at), server.state()));
        let unknown = servers.unresolved.iter().map(|(address, why)| format!("{address}: {why}"));
        up.chain(unknown).collect::<Vec<_>>().join("; ")
    }
}

impl Lease {
    pub(super) fn server(&self) -> String {
        name(&self.address, self.at)
    }

    pub(super) fn fleet(&self) -> &Arc<FleetState> {
        &self.shared
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(server) = self.shared.servers().at.get_mut(&self.at) {
            server.leased = server.leased.saturating_sub(1);
        }
    }
}

impl Fleet {
    /// A fleet of the servers at `addresses`, of which at least one must take episodes now.
    ///
    /// # Errors
    /// [`RemoteError::NoServer`] if none does.
    pub fn connect(
        addresses: Vec<ServerAddress>,
        options: FleetOptions,
    ) -> Result<Self, RemoteError> {
        let shared = Arc::new(FleetState {
            addresses,
            options,
            servers: Mutex::default(),
            abandoned: AtomicBool::new(false),
            episodes: AtomicU64::new(0),
            lost: AtomicU64::new(0),
            redone: AtomicU64::new(0),
        });
        shared.look();
        let is_live = |server: &Server| matches!(server.health, Health::Live { .. });
        if !shared.servers().at.values().any(is_live) {
            let states = shared.states();
            return Err(RemoteError::NoServer { waited: Duration::ZERO, states });
        }
        let (stop, stopped) = channel();
        let looked_after = Arc::clone(&shared);
        let rounds = std::thread::spawn(move || {
            while stopped.recv_timeout(ROUND) == Err(RecvTimeoutError::Timeout) {
                looked_after.look();
            }
        });
        Ok(Self { shared, stop: Some(stop), rounds: Some(rounds) })
    }

    /// What became of episodes so far.
    pub fn usage(&self) -> FleetUse {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let FleetState { episodes, lost, redone, .. } = self.shared.as_ref();
        FleetUse { episodes: read(episodes), lost: read(lost), redone: read(redone) }
    }

    /// A function that has every episode in progress end with a fault within a second, and no other
    /// begin, whichever thread calls it.
    pub fn abandoner(&self) -> impl FnOnce() + Send + 'static {
        let shared = Arc::clone(&self.shared);
        move || shared.abandoned.store(true, Ordering::SeqCst)
    }

    pub(super) fn state(&self) -> &Arc<FleetState> {
        &self.shared
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(rounds) = self.rounds.take() {
            // A panic there was printed already.
            let _ = rounds.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(servers: &[(u16, Health, usize)]) -> Arc<FleetState> {
        let address: ServerAddress = "http://127.0.0.1".parse().unwrap();
        let at = servers.iter().map(|(port, health, others)| {
            let server = Server {
                address: address.clone(),
                health: health.clone(),
                leased: 0,
                others: *others,
                last: 0,
            };
            (SocketAddr::from(([127, 0, 0, 1], *port)), server)
        });
        let servers = Servers { at: at.collect(), ..Servers::default() };
        Arc::new(FleetState {
            addresses: vec![address],
            options: FleetOptions::default(),
            servers: Mutex::new(servers),
            abandoned: AtomicBool::new(false),
            episodes: AtomicU64::new(0),
            lost: AtomicU64::new(0),
            redone: AtomicU64::new(0),
        })
    }

    fn live(most: usize) -> Health {
        Health::Live { sessions: 0, most }
    }

    #[test]
    fn leases_go_to_the_least_loaded_server_that_is_up() {
        let down = Health::Down("is shutting down".to_owned());
        let fleet = state(&[(1, live(4), 2), (2, live(8), 1), (3, down, 0)]);
        // 2 of 4 and 1 of 8: the second has the smaller share until it has 4 of 8, and then they
        // take turns until both are full.
        let leases: Vec<Lease> = std::iter::from_fn(|| fleet.lease()).collect();
        let ports: Vec<u16> = leases.iter().map(|lease| lease.at.port()).collect();
        assert_eq!(ports[..3], [2, 2, 2]);
        let count = |port: u16| ports.iter().filter(|found| **found == port).count();
        assert_eq!((count(1), count(2), count(3)), (2, 7, 0));
        assert!(fleet.states().contains("has 4 of 4 sessions in use"), "{}", fleet.states());
        assert!(fleet.states().contains("is shutting down"), "{}", fleet.states());
        drop(leases);
        assert!(fleet.lease().is_some());
    }

    #[test]
    fn equal_servers_take_turns_and_a_full_or_lost_one_is_left_out() {
        let fleet = state(&[(1, live(4), 0), (2, live(4), 0)]);
        let ports: Vec<u16> = (0..4).map(|_| fleet.lease().unwrap().at.port()).collect();
        assert_eq!(ports, [1, 2, 1, 2]);
        let first = SocketAddr::from(([127, 0, 0, 1], 1));
        fleet.note_full(first);
        assert_eq!(fleet.lease().unwrap().at.port(), 2);
        fleet.note(first, live(4));
        fleet.note_down(SocketAddr::from(([127, 0, 0, 1], 2)), "refused");
        assert_eq!(fleet.lease().unwrap().at.port(), 1);
    }

    #[test]
    fn fleet_without_a_live_server_is_refused_with_the_reason() {
        // Port 9 of this machine: nothing listens there.
        let addresses = ServerAddress::parse_list("http://127.0.0.1:9").unwrap();
        let error = Fleet::connect(addresses, FleetOptions::default()).unwrap_err().to_string();
        assert!(
            error.contains("http://127.0.0.1:9: ") && error.contains("sandbox serve"),
            "{error}"
        );
    }
}
