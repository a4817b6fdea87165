//! What an agent's turn is, whatever its form: an answer is read, carried out and replied to.

use crate::prompt::PromptError;
use crate::run::journal::AgentEnd;
use crate::trajectory::TurnRecord;
use llm::Message;
use sandbox::env::EpisodeFault;
use std::fmt::Debug;
use std::time::Duration;

/// The submission that counts if the run ends after a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Counts {
    /// The one that counted before.
    AsBefore,
    /// None.
    Nothing,
    /// Another.
    Submission(Vec<u8>),
}

impl Counts {
    /// Makes it so of the submission that counted before.
    pub(super) fn apply(self, submission: &mut Option<Vec<u8>>) {
        match self {
            Self::AsBefore => {}
            Self::Nothing => *submission = None,
            Self::Submission(bytes) => *submission = Some(bytes),
        }
    }
}

/// What came of a turn.
#[derive(Debug)]
pub(super) struct TurnResult {
    pub(super) record: TurnRecord,
    /// The script that it ran.
    pub(super) code: Option<String>,
    /// The validation score that the script printed.
    pub(super) metric: Option<f64>,
    /// What the agent is told, or that the run is over.
    pub(super) reply: Result<String, AgentEnd>,
    pub(super) counts: Counts,
    /// The score of the submission that counts, where the feedback mode tells it.
    pub(super) score: Option<f64>,
}

/// Carries out the turns of one form.
pub(super) trait TurnForm: Debug {
    /// The messages that open the conversation.
    fn opening(&self) -> Result<Vec<Message>, PromptError>;

    /// Sets the active time of the run so far.
    fn set_elapsed(&mut self, elapsed: Duration);

    /// Carries out an answer; `Err` with a text for the player if it is not in the form, and is to
    /// be asked for again. `is_last` says that it will not be.
    fn take(
        &mut self,
        answer: &str,
        is_last: bool,
    ) -> Result<Result<TurnResult, String>, EpisodeFault>;

    /// Takes up a turn of an earlier start. Returns whether it came out as `record` and `submission`
    /// say, the hash of the submission that counted.
    fn take_again(&mut self, turn: &EarlierTurn<'_>) -> Result<bool, EpisodeFault>;
}

/// A turn of an earlier start.
#[derive(Debug)]
pub(super) struct EarlierTurn<'a> {
    pub(super) answer: &'a str,
    pub(super) facts: &'a crate::run::turn::TurnFacts,
}
