//! The name that a supervisor gives to folders and control groups, from which a later supervisor
//! can tell that their owner was killed, and remove them.

use fs_err as fs;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{fmt, io};

/// What the names of all owners begin with.
const PREFIX: &str = "mle-sandbox";

/// One sandbox of one supervisor process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Owner {
    /// The pid namespace: elsewhere the same number is another process.
    namespace: u64,
    pid: u32,
    /// When the process began, in clock ticks since boot: numbers are used again.
    started: u64,
    /// Which of the process's sandboxes.
    number: u64,
}

impl Owner {
    /// A new name for this process.
    pub(crate) fn this() -> io::Result<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let pid = std::process::id();
        let namespace = fs::read_link("/proc/self/ns/pid")?;
        let namespace = namespace.to_string_lossy().replace(|c: char| !c.is_ascii_digit(), "");
        let namespace = namespace.parse().map_err(io::Error::other)?;
        let started = started(pid).ok_or_else(|| io::Error::other("no start time in /proc"))?;
        Ok(Self { namespace, pid, started, number: NUMBER.fetch_add(1, Ordering::Relaxed) })
    }

    /// Whether it is known to be gone. Of what another pid namespace's process owns, `own`
    /// cannot know.
    pub(crate) fn is_gone(&self, own: &Self) -> bool {
        self.namespace == own.namespace && started(self.pid) != Some(self.started)
    }
}

/// When a process began; none if it is gone, be it only waited for.
fn started(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is a name that may contain anything; the third is the state.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    if matches!(fields.next()?, "Z" | "X") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { namespace, pid, started, number } = self;
        write!(f, "{PREFIX}-{namespace}-{pid}-{started}-{number}")
    }
}

impl FromStr for Owner {
    type Err = ();
    fn from_str(name: &str) -> Result<Self, ()> {
        let numbers = name.strip_prefix(PREFIX).and_then(|rest| rest.strip_prefix('-')).ok_or(())?;
        let numbers: Vec<u64> =
            numbers.split('-').map(str::parse).collect::<Result<_, _>>().map_err(drop)?;
        let [namespace, pid, started, number] = numbers[..] else { return Err(()) };
        Ok(Self { namespace, pid: u32::try_from(pid).map_err(drop)?, started, number })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip_and_others_are_left_alone() {
        let own = Owner::this().unwrap();
        assert_eq!(own.to_string().parse(), Ok(own));
        for other in ["mle-sandbox", "mle-sandbox-1-2-3", "mle-sandbox-1-2-3-x", "system.slice"] {
            assert_eq!(other.parse::<Owner>(), Err(()), "{other}");
        }
    }

    #[test]
    fn owner_is_gone_only_if_its_process_is_known_to_have_ended() {
        let own = Owner::this().unwrap();
        assert!(!own.is_gone(&own));
        let reused = Owner { started: own.started + 1, ..own.clone() };
        assert!(reused.is_gone(&own), "the number belongs to another process now");
        let elsewhere = Owner { namespace: own.namespace + 1, ..reused };
        assert!(!elsewhere.is_gone(&own));
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let started = started(child.id()).unwrap();
        let other = Owner { pid: child.id(), started, ..own.clone() };
        assert!(!other.is_gone(&own));
        child.kill().unwrap();
        // Not waited for, so that its number stays taken; and yet it is gone.
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
        while !other.is_gone(&own) && std::time::Instant::now() < deadline {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        assert!(other.is_gone(&own));
        child.wait().unwrap();
    }
}
