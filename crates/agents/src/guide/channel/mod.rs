//! An agent's way to its conversation: nobody, a store in this process, or a server.

mod http;
mod local;

pub use http::HttpChannel;
pub use local::LocalChannel;

use super::exchange::{Delivery, Opened, Update};
use super::guidance::PostedGuidance;
use super::ids::ConversationId;
use super::turn::{End, Opening};
use serde::{Deserialize, Serialize};
use std::fmt::{self, Debug};
use std::io;
use std::str::FromStr;
use std::time::Duration;
use tasks::units::Span;

/// Why a channel has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Lost {
    /// It may have one later.
    #[error("{0}")]
    Away(String),
    /// The conversation is not as it was: it is unknown there, or less was sent than the agent has. It
    /// is to be opened again.
    #[error("{0}")]
    Forgotten(String),
    /// It will have none.
    #[error("{0}")]
    Refused(String),
}

/// An agent's way to one conversation. Everything may be asked twice.
pub trait Channel: Debug + Send {
    /// Opens the conversation, or goes on with it.
    ///
    /// # Errors
    /// [`Lost`].
    fn open(&mut self, id: &ConversationId, opening: &Opening) -> Result<Opened, Lost>;

    /// Tells a turn, and gets the guidance that the agent does not have yet.
    ///
    /// # Errors
    /// [`Lost`].
    fn exchange(&mut self, id: &ConversationId, update: &Update) -> Result<Delivery, Lost>;

    /// Ends the conversation; `have` is the `seq` of the last piece that the agent has. Returns what
    /// came too late, in order.
    ///
    /// # Errors
    /// [`Lost`].
    fn close(
        &mut self,
        id: &ConversationId,
        have: u64,
        end: &End,
    ) -> Result<Vec<PostedGuidance>, Lost>;
}

/// Nobody: every turn is taken up and never answered with guidance.
impl Channel for () {
    fn open(&mut self, _: &ConversationId, _: &Opening) -> Result<Opened, Lost> {
        Ok(Opened { expects: 0, sent: 0, is_over: false })
    }

    fn exchange(&mut self, _: &ConversationId, update: &Update) -> Result<Delivery, Lost> {
        Ok(Delivery { guidance: Vec::new(), hold: None, expects: update.turn + 1 })
    }

    fn close(&mut self, _: &ConversationId, _: u64, _: &End) -> Result<Vec<PostedGuidance>, Lost> {
        Ok(Vec::new())
    }
}

/// What an agent does while its channel has no answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum OnLost {
    /// It goes on without guidance, and tells later what was missed. A server that is down costs
    /// guidance, never an episode.
    #[default]
    Continue,
    /// It waits at each turn, for so long, and then goes on.
    Wait(Duration),
    /// It pauses, to be gone on with later.
    Stop,
}

/// A text that is no [`OnLost`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is none of `continue`, `stop` and `wait=TIME`, such as `wait=2m`")]
pub struct BadOnLost(String);

impl FromStr for OnLost {
    type Err = BadOnLost;

    fn from_str(text: &str) -> Result<Self, BadOnLost> {
        let bad = || BadOnLost(text.to_owned());
        match text.split_once('=') {
            None if text == "continue" => Ok(Self::Continue),
            None if text == "stop" => Ok(Self::Stop),
            Some(("wait", time)) => Ok(Self::Wait(time.parse::<Span>().map_err(|_| bad())?.0)),
            _ => Err(bad()),
        }
    }
}

impl TryFrom<String> for OnLost {
    type Error = BadOnLost;

    fn try_from(text: String) -> Result<Self, BadOnLost> {
        text.parse()
    }
}

impl From<OnLost> for String {
    fn from(on_lost: OnLost) -> Self {
        on_lost.to_string()
    }
}

impl fmt::Display for OnLost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Continue => f.write_str("continue"),
            Self::Wait(limit) => write!(f, "wait={}", Span(*limit)),
            Self::Stop => f.write_str("stop"),
        }
    }
}

/// A channel, and what to do without it.
#[derive(Debug)]
pub struct GuideLink {
    /// The channel.
    pub channel: Box<dyn Channel>,
    /// What the agent does while it has no answer.
    pub on_lost: OnLost,
}

/// Where runs get their channels. `&()` is for unguided runs.
pub trait GuideSource: Debug + Sync {
    /// A channel for one run; `None` for an unguided one.
    fn link(&self) -> Option<GuideLink>;

    /// The name of a new conversation about the episode that `key` describes. Nobody else has it. By
    /// default it is drawn; a source whose runs repeat gives a name that repeats, too.
    ///
    /// # Errors
    /// The system's, if it has no randomness.
    fn name(&self, _key: &str) -> io::Result<ConversationId> {
        ConversationId::draw()
    }
}

/// Unguided.
impl GuideSource for () {
    fn link(&self) -> Option<GuideLink> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_to_do_without_a_server_is_read_as_it_is_written() {
        for (text, on_lost) in [
            ("continue", OnLost::Continue),
            ("stop", OnLost::Stop),
            ("wait=120s", OnLost::Wait(Duration::from_mins(2))),
        ] {
            assert_eq!(text.parse(), Ok(on_lost));
            assert_eq!(on_lost.to_string(), text);
        }
        for wrong in ["", "wait", "wait=2", "continue=1", "go"] {
            assert!(wrong.parse::<OnLost>().is_err(), "{wrong}");
        }
    }
}
