//! The settings of a server, and why it does not start.

use super::reveal::Reveal;
use super::task_choice::DrawnTasks;
use crate::env::{EpisodeConfig, Feedback};
use crate::reward::{NoCeiling, RewardWeights};
use camino::Utf8PathBuf;
use std::net::SocketAddr;
use std::time::Duration;
use tasks::task::{Task, TaskId};
use tasks::units::{ByteSize, Span};
use web::token::Token;

/// What is left between the end of a step and the moment by which a client must have its answer.
const MARGIN: Duration = Duration::from_secs(2);

/// The settings of a server.
#[derive(Debug, Clone)]
pub struct ServeConfig {
    /// Where it listens; port 0 lets the system choose one.
    pub listen: SocketAddr,
    /// The token that clients must send. Without one, only loopback addresses may listen.
    pub token: Option<Token>,
    /// Where the records of episodes go: `<records>/<task>/<name>.jsonl`.
    pub records: Utf8PathBuf,
    /// The rules of every episode; `episode.policy.time_limit` is the limit of one step.
    pub episode: EpisodeConfig,
    /// The tasks that are drawn where a client names neither a task nor a split.
    pub drawn: DrawnTasks,
    /// How much of a final grade is revealed to clients; [`Reveal::from_feedback`] is the default.
    pub reveal: Reveal,
    /// The weights of rewards, whose format part no served episode has. With a weight `beyond` above
    /// 0, `reveal` must be [`Reveal::Score`], and every task must have a ceiling.
    pub reward: RewardWeights,
    /// Bounds on what clients can use.
    pub limits: ServeLimits,
}

/// Bounds on what clients can use.
///
/// | field | purpose | default |
/// | --- | --- | --- |
/// | `episodes` | sessions at a time; one more is refused | 256 |
/// | `answer` | time by which a step is answered, the wait for a free slot included | 55 s |
/// | `idle` | time without a message after which an episode is ended, and a session without a WebSocket | 10 min |
/// | `session` | time without a message after which a session with a WebSocket is ended | 12 h |
/// | `drain` | time that episodes in progress may go on when the server is asked to end; 0 for none | 0 s |
/// | `message` | size of one message | 1 MiB |
/// | `send` | time a client may take to accept an answer | 30 s |
/// | `episodes_per_task` | episodes of one task that one client may begin while the server is up | 10 000 |
/// | `record` | size at which an episode's record takes no more calls | 32 MiB |
/// | `records` | size of the folder of records; without room for another, no episode begins | 64 GiB |
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServeLimits {
    /// Sessions at a time.
    pub episodes: usize,
    /// Time by which a step is answered.
    pub answer: Span,
    /// Time without a message after which an episode in progress is ended, without a grade, and a
    /// session that has no WebSocket.
    pub idle: Span,
    /// Time without a message after which a session that has a WebSocket is ended. A trainer keeps
    /// its sessions while it computes, hours between two episodes.
    pub session: Span,
    /// Time that episodes in progress may go on once the server is asked to end. No others begin
    /// then. With 0, steps in flight are finished and nothing more.
    pub drain: Span,
    /// Size of one message.
    pub message: ByteSize,
    /// Time a client may take to accept an answer.
    pub send: Span,
    /// Episodes of one task that one client may begin while the server is up. A client is an
    /// address that connections come from: all of this machine, or of a version 6 network of 64
    /// bits, is one.
    pub episodes_per_task: u64,
    /// Size at which an episode's record takes no more calls.
    pub record: ByteSize,
    /// Size of the folder of records, with what is set aside for episodes in progress.
    pub records: ByteSize,
}

impl Default for ServeLimits {
    fn default() -> Self {
        Self {
            episodes: 256,
            answer: Span::seconds(55),
            idle: Span::seconds(600),
            session: Span::seconds(12 * 60 * 60),
            drain: Span::seconds(0),
            message: ByteSize::mib(1),
            send: Span::seconds(30),
            episodes_per_task: 10_000,
            record: ByteSize::mib(32),
            records: ByteSize::gib(64),
        }
    }
}

/// Why a server does not start, or fails as a whole.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// An address that other machines can reach, without a token.
    #[error(
        "{0} can be reached from other machines; set a token that clients must show \
         (`--token`, or SANDBOX_TOKEN), or listen on 127.0.0.1"
    )]
    Open(SocketAddr),
    /// A step limit that does not fit into the answer limit.
    #[error(
        "a step may take {step}, and is to be answered within {answer}, which leaves less than \
         2 s; lower the step limit (`--step-limit`) or raise the other (`--answer-limit`)"
    )]
    Slow {
        /// The limit of a step.
        step: Span,
        /// The limit of an answer.
        answer: Span,
    },
    /// Feedback that a task's grader cannot give.
    #[error(
        "the task {0} does not allow the feedback asked for; serve it with `--feedback validate`"
    )]
    Feedback(TaskId),
    /// Feedback that is for evaluations on this machine.
    #[error(
        "the feedback mode `exposed` tells scores on all test rows and is never served, since \
         clients may train on them; use `validate`"
    )]
    Exposed,
    /// Rewards above gold for clients that must not learn the score.
    #[error(
        "rewards above gold reveal the score, and clients are to learn no more than `{}`; serve \
         with `--reveal score`, or with `--reward milestones`",
        .0.name()
    )]
    Reward(Reveal),
    /// Rewards above gold on a task without a ceiling.
    #[error(transparent)]
    Ceiling(#[from] NoCeiling),
    /// A share of feedback rows outside (0, 1).
    #[error("the share of test rows for feedback is {0}; it must be more than 0 and less than 1")]
    Share(f64),
    /// A number of sessions outside 1 to 4096.
    #[error("{0} sessions cannot be served; ask for 1 to 4096")]
    Episodes(usize),
    /// A limit of zero.
    #[error("`{0}` is 0 (or less than it counts in), which allows nothing; set a larger one")]
    Zero(&'static str),
    /// Limits of records that do not fit each other.
    #[error(
        "a record may have {record} (`--record-limit`), and all together {records} \
         (`--records-limit`); a record needs 64KiB at least, and all together as much as one"
    )]
    NoRoom {
        /// The bound on one record.
        record: ByteSize,
        /// The bound on all records together.
        records: ByteSize,
    },
    /// The address is in use or not available.
    #[error("failed to listen on {address}; `--listen` names another address, port 0 a free port")]
    Listen {
        /// The address to listen on.
        address: SocketAddr,
        /// The operating system's error.
        #[source]
        source: std::io::Error,
    },
    /// The folder for records cannot be made or read.
    #[error("failed to make or to count the folder for records")]
    Records(#[source] std::io::Error),
    /// Threads or signal handlers cannot be set up.
    #[error("failed to set up the server")]
    Runtime(#[source] std::io::Error),
}

impl ServeConfig {
    /// Checks that the settings fit each other. [`EpisodeServer`](super::EpisodeServer) does so too;
    /// call this to find mistakes before a sandbox is started.
    ///
    /// # Errors
    /// The [`ServeError`] of the first setting that does not fit.
    pub fn check(&self) -> Result<(), ServeError> {
        if !self.listen.ip().is_loopback() && self.token.is_none() {
            return Err(ServeError::Open(self.listen));
        }
        let limits = &self.limits;
        let budget = &self.episode.budget;
        for (flag, is_zero) in [
            ("--step-limit", self.episode.policy.time_limit.0.is_zero()),
            ("--answer-limit", limits.answer.0.is_zero()),
            ("--idle-limit", limits.idle.0.is_zero()),
            ("--session-limit", limits.session.0.is_zero()),
            ("--message-limit", limits.message.bytes() == 0),
            ("--episode-limit", budget.wall_seconds == 0),
            ("--turns", budget.turns == 0),
            ("--episodes-per-task", limits.episodes_per_task == 0),
        ] {
            if is_zero {
                return Err(ServeError::Zero(flag));
            }
        }
        let (record, records) = (limits.record, limits.records);
        if record < ByteSize::kib(64) || records < record {
            return Err(ServeError::NoRoom { record, records });
        }
        let (step, answer) = (self.episode.policy.time_limit, self.limits.answer);
        if step.0 + MARGIN > answer.0 {
            return Err(ServeError::Slow { step, answer });
        }
        if !(1..=4096).contains(&self.limits.episodes) {
            return Err(ServeError::Episodes(self.limits.episodes));
        }
        if self.episode.feedback == Feedback::Exposed {
            return Err(ServeError::Exposed);
        }
        if self.reward.beyond > 0.0 && self.reveal != Reveal::Score {
            return Err(ServeError::Reward(self.reveal));
        }
        let share = self.episode.feedback_share;
        if !(share > 0.0 && share < 1.0) {
            return Err(ServeError::Share(share));
        }
        Ok(())
    }

    /// Checks that every task can give the feedback and the rewards asked for.
    pub(super) fn check_tasks(&self, tasks: &[Task]) -> Result<(), ServeError> {
        self.reward.check_tasks(tasks)?;
        let validate = self.episode.feedback == Feedback::Validate;
        match tasks.iter().find(|task| !validate && !task.takes_parts()) {
            Some(task) => Err(ServeError::Feedback(task.id().clone())),
            None => Ok(()),
        }
    }

    /// How long a step may wait for a free slot.
    pub(super) fn patience(&self) -> Duration {
        self.limits.answer.0.saturating_sub(self.episode.policy.time_limit.0 + MARGIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rewards_above_gold_need_the_score_to_be_revealed() {
        let config = |reward, reveal| ServeConfig {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            token: None,
            records: Utf8PathBuf::from("records"),
            episode: EpisodeConfig {
                policy: jail::limits::RunLimits {
                    time_limit: Span::seconds(30),
                    ..jail::limits::RunLimits::default()
                },
                ..EpisodeConfig::default()
            },
            drawn: DrawnTasks::Train,
            reveal,
            reward,
            limits: ServeLimits::default(),
        };
        for reveal in [Reveal::None, Reveal::Tier] {
            config(RewardWeights::DENSE, reveal).check().unwrap();
            let error = config(RewardWeights::BEYOND_GOLD, reveal).check().unwrap_err();
            let text = error.to_string();
            assert!(text.contains("--reveal score") && text.contains(reveal.name()), "{text}");
        }
        config(RewardWeights::BEYOND_GOLD, Reveal::Score).check().unwrap();
    }
}
