//! The questions of finished searches, as training data for operators: draft, improve, debug,
//! crossover.
//!
//! A [`SearchAsk`] is one question for a script, with the answer that the search went on with. The
//! questions are prompts for reinforcement learning ([`OperatorWorld`](super::world)), and questions
//! with good answers are demonstrations for fine-tuning.

use crate::linear::run::TRAJECTORY;
use crate::prompt::Prompt;
use crate::reward::Reward;
use crate::run::journal::{Blobs, JournalError, journal_path, read_lines};
use crate::run::node::{Node, NodeId, NodeState, Operator};
use crate::run::player::Asked;
use crate::run::state::RunState;
use crate::trajectory::{
    self, EnvironmentVerdict, EpisodeEnding, EpisodeOutcome, Segment, Source, TRAJECTORY_VERSION,
    Tool, Trajectory, TrajectoryError, TurnRecord,
};
use camino::{Utf8Path, Utf8PathBuf};
use llm::{Message, Role};
use std::io;
use tasks::task::TaskId;

/// A question for a script, and the answer that became a node.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchAsk {
    /// Its own name: the operator and a hash of task and prompt. Equal questions have equal names.
    pub id: TaskId,
    /// The task that the script is for.
    pub task: TaskId,
    /// What kind of script was asked for.
    pub operator: Operator,
    /// System and user message of its first try.
    pub prompt: Prompt,
    /// The last answer, which the script of the node was read from; thoughts included.
    pub answer: String,
    /// What became of it.
    pub node: Node,
    /// Whether the script is one to imitate: it is good and, if it was to improve another, has a
    /// better validation score than that.
    pub is_gain: bool,
    /// The player that answered.
    pub player: String,
    /// The seed of the search.
    pub seed: u64,
}

/// Why searches could not be read.
#[derive(Debug, thiserror::Error)]
pub enum SearchReadError {
    /// A journal or one of its blobs is damaged.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A folder could not be read.
    #[error("failed to look for searches in `{folder}`")]
    Folder {
        /// The folder.
        folder: Utf8PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A conversation is damaged.
    #[error(transparent)]
    Trajectory(#[from] TrajectoryError),
    /// There is no journal at all.
    #[error("there are no runs of agents in `{0}`; `agents run` and `agents eval` make them")]
    Nothing(Utf8PathBuf),
    /// A prompt that is not in the form of this build.
    #[error("the question for node {node} in `{run}` is not one of a search of this version")]
    Prompt {
        /// The run.
        run: Utf8PathBuf,
        /// The node.
        node: NodeId,
    },
}

/// All questions of the searches in `folder`, that of a run or one with runs anywhere below: by
/// run, then by node. Runs may be unfinished.
///
/// # Errors
/// [`SearchReadError`].
pub fn read(folder: &Utf8Path) -> Result<Vec<SearchAsk>, SearchReadError> {
    let mut asks = Vec::new();
    for run in runs_in(folder)? {
        read_run(&run, &mut asks)?;
    }
    Ok(asks)
}

/// The conversations of the linear agents' runs in `folder` that are over, by run.
///
/// # Errors
/// [`SearchReadError`].
pub fn read_conversations(folder: &Utf8Path) -> Result<Vec<Trajectory>, SearchReadError> {
    let mut conversations = Vec::new();
    for run in runs_in(folder)? {
        let path = run.join(TRAJECTORY);
        if path.is_file() {
            conversations.extend(trajectory::read(&path)?);
        }
    }
    Ok(conversations)
}

/// Folders of runs, in order.
pub(crate) fn runs_in(folder: &Utf8Path) -> Result<Vec<Utf8PathBuf>, SearchReadError> {
    let mut runs = Vec::new();
    find(folder, &mut runs)
        .map_err(|source| SearchReadError::Folder { folder: folder.to_owned(), source })?;
    if runs.is_empty() {
        return Err(SearchReadError::Nothing(folder.to_owned()));
    }
    runs.sort();
    Ok(runs)
}

fn find(folder: &Utf8Path, runs: &mut Vec<Utf8PathBuf>) -> io::Result<()> {
    if journal_path(folder).is_file() {
        runs.push(folder.to_owned());
        return Ok(());
    }
    for entry in folder.read_dir_utf8()? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            find(entry.path(), runs)?;
        }
    }
    Ok(())
}

fn read_run(run: &Utf8Path, asks: &mut Vec<SearchAsk>) -> Result<(), SearchReadError> {
    let path = journal_path(run);
    let Some(state) = RunState::from_lines(&path, read_lines(&path)?)? else { return Ok(()) };
    let blobs = Blobs::new(run);
    for node in state.nodes.values() {
        // Of several tries, the last has the answer that the node was made of.
        let what = Asked::Script(node.decision.operator);
        let (first, last) = ((node.id, what, 0), (node.id, what, u32::MAX));
        let Some((_, facts)) = state.asked.range(first..=last).next_back() else { continue };
        let Some(answer) = &facts.answer else { continue };
        let wrong = || SearchReadError::Prompt { run: run.to_owned(), node: node.id };
        let messages: Vec<Message> =
            serde_json::from_slice(&blobs.get(&facts.prompt)?).map_err(|_| wrong())?;
        // What follows are answers without a script, and what was said to them.
        let [system, user, ..] = messages.as_slice() else { return Err(wrong()) };
        if (system.role, user.role) != (Role::System, Role::User) {
            return Err(wrong());
        }
        let (system, user) = (system.content.clone(), user.content.clone());
        let prompt = Prompt { system, user, data: None };
        let metric = |id: &NodeId| state.nodes.get(id).filter(|node| node.is_good())?.metric;
        let direction = state.header.direction;
        let gains = match node.decision.operator {
            Operator::Draft | Operator::Debug => true,
            Operator::Improve | Operator::Crossover => {
                let parents = node.decision.parents.iter().filter_map(metric);
                node.metric.is_some_and(|own| {
                    parents.into_iter().all(|parent| direction.better(own, parent))
                })
            }
        };
        asks.push(SearchAsk {
            id: ask_id(&state.header.task, node.decision.operator, &prompt),
            task: state.header.task.clone(),
            operator: node.decision.operator,
            prompt,
            answer: blobs.text(answer)?,
            is_gain: node.is_good() && gains,
            node: node.clone(),
            player: state.header.player.clone(),
            seed: state.header.seed,
        });
    }
    Ok(())
}

/// The name of a question.
fn ask_id(task: &TaskId, operator: Operator, prompt: &Prompt) -> TaskId {
    let mut hasher = blake3::Hasher::new();
    for part in [task.as_str(), &prompt.system, &prompt.user] {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    let hash = hasher.finalize().to_hex();
    let name = format!("{}-{}", operator.name(), &hash[..24]);
    TaskId::new(&name).expect("lower-case letters, digits and a dash")
}

impl SearchAsk {
    /// Question and answer as a conversation of one turn. Its verdict is the search's own: 1 for a
    /// script to imitate, else 0, and the validation score.
    pub fn trajectory(&self) -> Trajectory {
        let run = self.node.run.as_ref();
        let readable = self.node.code.is_some();
        Trajectory {
            version: TRAJECTORY_VERSION,
            task: self.task.clone(),
            agent: format!("{}/{}/{}", self.operator.name(), self.player, self.id),
            attempt: (self.seed << 32) | u64::from(self.node.id.0),
            feedback: None,
            segments: vec![
                Segment::text(Source::Prompt, &self.prompt.system),
                Segment::text(Source::Prompt, &self.prompt.user),
                Segment::text(Source::Model, &self.answer),
            ],
            omissions: Vec::new(),
            guided: false,
            guidance: Vec::new(),
            summaries: Vec::new(),
            turns: vec![TurnRecord {
                tool: if readable { Tool::Python } else { Tool::Malformed },
                has_thought: readable,
                outcome: run.map(|run| run.outcome.clone()),
                seconds: run.map_or(0.0, |run| run.wall),
                cached: false,
            }],
            ending: EpisodeEnding::Answered,
            timed_out: false,
            outcome: EpisodeOutcome::World(EnvironmentVerdict {
                reward: f64::from(u8::from(self.is_gain)),
                score: self.node.metric.unwrap_or(0.0),
                tags: vec![
                    self.operator.name().to_owned(),
                    state_name(&self.node.state).to_owned(),
                ],
                detail: serde_json::Value::Null,
            }),
            reward: Reward {
                format: 0.0,
                execution: f64::from(u8::from(self.is_gain)),
                tier: 0.0,
                beyond: 0.0,
            },
        }
    }
}

fn state_name(state: &NodeState) -> &'static str {
    match state {
        NodeState::Good => "good",
        NodeState::Buggy(_) => "buggy",
        NodeState::Refused { .. } => "refused",
    }
}
