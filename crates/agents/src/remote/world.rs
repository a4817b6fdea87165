//! The environment whose episodes are played by a fleet.

use super::answer::{Begun, difference};
use super::connection::{Broken, Connection};
use super::error::RemoteError;
use super::fleet::{Fleet, Lease};
use super::play::RemotePlay;
use crate::play::{Play, World};
use crate::prompt::{Prompt, PromptError};
use crate::scaffold::react::{EpisodeRules, turn_key};
use crate::script_cache::task_key;
use jail::exec::Fault;
use sandbox::env::EpisodeFault;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tasks::task::{Task, TaskId};

/// The pauses between two tries to begin an episode: the first, and the longest. Each is twice the
/// one before.
const PAUSE: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(2));

/// MLE tasks as an environment whose scripts run on the servers of a fleet.
///
/// Prompts are made here, from the same corpus; turns are parsed and rewards are computed here. Each
/// server must serve that corpus, with the rules' limits and with `--reveal score`, so that grades
/// are known here; what agents read does not depend on it. `docs/DEPLOY.md` lists the flags.
///
/// # Examples
/// ```rust,no_run
/// use agents::play::World as _;
/// use agents::remote::{Fleet, FleetOptions, RemoteWorld, ServerAddress};
/// use agents::scaffold::react::EpisodeRules;
/// use tasks::task::{Collection, Opening};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let addresses = ServerAddress::parse_list("http://10.0.0.5:8765,http://10.0.0.6:8765")?;
/// let fleet = Fleet::connect(addresses, FleetOptions::default())?;
/// let corpus = Collection::open("corpus".into(), &Opening::default())?;
/// let rules = EpisodeRules::default();
/// let world = RemoteWorld { fleet: &fleet, tasks: corpus.tasks(), rules: &rules };
/// let mut episode = world.open(corpus.tasks()[0].id())?;
/// episode.respond("<answer>submission</answer>")?;
/// println!("{}", episode.close()?.reward.total());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy)]
pub struct RemoteWorld<'a> {
    /// Where episodes are played.
    pub fleet: &'a Fleet,
    /// The tasks that may be played.
    pub tasks: &'a [Task],
    /// The rules of every episode.
    pub rules: &'a EpisodeRules,
}

impl<'a> RemoteWorld<'a> {
    fn task(&self, item: &TaskId) -> Option<&'a Task> {
        self.tasks.iter().find(|task| task.id() == item)
    }

    /// Begins an episode on the first task on every server that is up, and leaves it: whether all of
    /// them play by these rules, on this corpus. For the start of a program, before hours of work
    /// depend on it.
    ///
    /// # Errors
    /// [`RemoteError`] of the first server that refuses, or if none is up.
    pub fn check(&self) -> Result<(), RemoteError> {
        let Some(task) = self.tasks.first() else { return Ok(()) };
        let fleet = self.fleet.state();
        let mut is_played = false;
        for lease in fleet.lease_all() {
            let at = lease.at;
            match self.begin_on(lease, task) {
                Ok(_) => is_played = true,
                Err(Broken::Refused(error)) => return Err(error),
                Err(Broken::Full) => fleet.note_full(at),
                Err(Broken::Lost(why) | Broken::Ended(why)) => fleet.note_down(at, &why),
            }
        }
        // None had room just now: wait for one.
        if is_played { Ok(()) } else { self.begin(task).map(drop) }
    }

    /// An episode that has begun on the server of `lease`, and is the one that is asked for.
    fn begin_on(&self, lease: Lease, task: &Task) -> Result<Connection, Broken> {
        let mut connection = Connection::open(lease)?;
        let begun = connection.begin(task.id())?;
        self.compare(task, &begun, &connection).map_err(Broken::Refused)?;
        Ok(connection)
    }

    /// An episode that has begun on some server. Looks for one until the fleet's patience is over.
    pub(super) fn begin(&self, task: &Task) -> Result<Connection, RemoteError> {
        let fleet = self.fleet.state();
        let (began, patience) = (Instant::now(), fleet.options.patience);
        let mut pause = PAUSE.0;
        loop {
            if fleet.is_abandoned() {
                return Err(RemoteError::Abandoned);
            }
            if let Some(lease) = fleet.lease() {
                let at = lease.at;
                match self.begin_on(lease, task) {
                    Ok(connection) => return Ok(connection),
                    Err(Broken::Refused(error)) => return Err(error),
                    Err(Broken::Full) => fleet.note_full(at),
                    Err(Broken::Lost(why) | Broken::Ended(why)) => fleet.note_down(at, &why),
                }
            }
            if began.elapsed() >= patience {
                return Err(RemoteError::NoServer { waited: patience, states: fleet.states() });
            }
            std::thread::sleep(pause);
            pause = (2 * pause).min(PAUSE.1);
        }
    }

    /// Whether an episode there is the one that would be played here.
    fn compare(
        &self,
        task: &Task,
        begun: &Begun,
        connection: &Connection,
    ) -> Result<(), RemoteError> {
        let server = connection.lease().server();
        let here = serde_json::to_value(&self.rules.episode).map_err(|error| {
            RemoteError::Protocol { server: server.clone(), why: error.to_string() }
        })?;
        if let Some((key, there, here)) = difference(&begun.rules, &here) {
            return Err(RemoteError::Rules { server, key, there, here });
        }
        if begun.reveal != "score" {
            let (key, there) = ("--reveal".to_owned(), begun.reveal.clone());
            return Err(RemoteError::Rules { server, key, there, here: "score".to_owned() });
        }
        let described = task.description().ok();
        if begun.public_hash != task.public_hash() || described.as_ref() != Some(&begun.description)
        {
            return Err(RemoteError::Task { server, task: task.id().to_string() });
        }
        Ok(())
    }
}

impl World for RemoteWorld<'_> {
    fn prompt(&self, item: &TaskId) -> Result<Prompt, PromptError> {
        let task = self.task(item).ok_or_else(|| PromptError::UnknownTask(item.clone()))?;
        let EpisodeRules { prompt, tool_call_format, episode, .. } = self.rules;
        Prompt::new(task, *prompt, *tool_call_format, episode.mode)
    }

    fn wall_limit(&self) -> Duration {
        Duration::from_secs(self.rules.episode.budget.wall_seconds)
    }

    fn open(&self, item: &TaskId) -> Result<Box<dyn Play + '_>, EpisodeFault> {
        let unknown = || EpisodeFault::Execution(Fault::UnknownTask(item.clone()));
        let task = self.task(item).ok_or_else(unknown)?;
        let connection = self.begin(task)?;
        self.fleet.state().episodes.fetch_add(1, Ordering::Relaxed);
        Ok(Box::new(RemotePlay::new(*self, task, connection)))
    }

    fn cache_key(&self, item: &TaskId) -> Option<String> {
        let rules = serde_json::to_string(self.rules).ok()?;
        Some(format!("{} {rules}", task_key(self.task(item)?)))
    }

    fn turn_cache_key(&self, text: &str) -> String {
        turn_key(&self.rules.tool_call_format.parse(text))
    }
}
