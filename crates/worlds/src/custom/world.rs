//! The items of one part of a user's task, as an environment that rollouts play.

use super::scorer::{RULES, Score, Scorer, aggregate_script, read_aggregate};
use crate::kind::mean_score;
use crate::name::{BadLine, read_lines};
use crate::part::Part;
use crate::runner::Runner;
use crate::score::Mistake;
use crate::spec::TaskSpec;
use crate::world::{Environment, WALL_LIMIT};
use agents::play::{Closed, EpisodeFault, Play, Reply, World};
use agents::prompt::{Prompt, PromptError};
use agents::trajectory::{EnvironmentVerdict, EpisodeEnding, Tool, TurnRecord};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tasks::stream::Stream;
use tasks::task::TaskId;

/// What all items of a task share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Shared {
    /// The system message, unless an item has its own.
    pub(super) system: String,
    /// The source of the scorer.
    pub(super) scorer: String,
}

/// An item as it is written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CustomItem {
    pub(super) prompt: String,
    pub(super) truth: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) answer: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) system: Option<String>,
    /// Of sealed items: a window of words that no public file has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) evidence: Option<String>,
}

/// The items of one part.
#[derive(Debug)]
pub struct CustomWorld {
    spec: TaskSpec,
    part: Part,
    shared: Shared,
    items: BTreeMap<TaskId, CustomItem>,
    runner: Option<Arc<dyn Runner>>,
}

impl CustomWorld {
    /// The environment of these lines.
    ///
    /// # Errors
    /// [`BadLine`].
    pub(crate) fn read(
        spec: TaskSpec,
        part: Part,
        ground: Option<&str>,
        lines: &str,
    ) -> Result<Box<dyn Environment>, BadLine> {
        let (shared, items) = read_lines(ground, lines)?;
        Ok(Box::new(Self { spec, part, shared, items, runner: None }))
    }

    /// What the scorer makes of all these verdicts.
    fn aggregate(&self, verdicts: &[&EnvironmentVerdict]) -> Result<f64, EpisodeFault> {
        let task = || self.spec.id.clone();
        let runner = self.runner.as_deref().ok_or_else(|| EpisodeFault::NoRunner(task()))?;
        let item = |verdict: &&EnvironmentVerdict| {
            let EnvironmentVerdict { score, tags, detail, .. } = verdict;
            let (truth, prediction) = (&detail["truth"], &detail["found"]);
            json!({ "prediction": prediction, "truth": truth, "score": score, "tags": tags })
        };
        let mut items: Vec<Value> = verdicts.iter().map(item).collect();
        // Sums of doubles depend on their order.
        items.sort_by_cached_key(Value::to_string);
        let run = runner.run(&aggregate_script(&self.shared.scorer, &items), &RULES)?;
        read_aggregate(&run).map_err(|why| EpisodeFault::Aggregate { task: task(), why })
    }

    fn start(&self, id: &TaskId) -> Result<CustomPlay<'_>, EpisodeFault> {
        let found = self.items.get_key_value(id);
        let (id, item) = found.ok_or_else(|| EpisodeFault::UnknownItem(id.clone()))?;
        let runner = self.runner.as_deref().ok_or_else(|| EpisodeFault::NoRunner(id.clone()))?;
        let (source, prompt, truth) = (&self.shared.scorer, &item.prompt, &item.truth);
        Ok(CustomPlay { scorer: Scorer { source, id, prompt, truth }, runner, judged: None })
    }
}

/// One answer, and what the scorer said of it.
#[derive(Debug)]
struct CustomPlay<'a> {
    scorer: Scorer<'a>,
    runner: &'a dyn Runner,
    judged: Option<(String, Score, [TurnRecord; 1])>,
}

impl CustomPlay<'_> {
    fn finish(self) -> Closed {
        let (truth, empty) = (self.scorer.truth, Mistake::Empty.name());
        let (turns, score, tags, found) = match self.judged {
            Some((text, score, turns)) => (turns.into(), score.value, score.tags, text),
            None => (Vec::new(), 0.0, vec![empty.to_owned()], String::new()),
        };
        let detail = json!({ "truth": truth, "found": found });
        Closed::of_world(turns, EnvironmentVerdict { reward: score, score, tags, detail })
    }
}

impl Play for CustomPlay<'_> {
    fn respond(&mut self, text: &str) -> Result<Reply, EpisodeFault> {
        if self.judged.is_some() {
            return Err(EpisodeFault::Over);
        }
        let run = self.runner.run(&self.scorer.script(text), &RULES)?;
        let score = self
            .scorer
            .read(&run)
            .map_err(|why| EpisodeFault::Scorer { item: self.scorer.id.clone(), why })?;
        let unread = [Mistake::Format, Mistake::Empty, Mistake::Truncated].map(Mistake::name);
        let is_read = !score.tags.iter().any(|tag| unread.contains(&tag.as_str()));
        let turn = TurnRecord {
            tool: if is_read { Tool::Act } else { Tool::Malformed },
            has_thought: false,
            outcome: None,
            seconds: run.wall.as_secs_f64(),
            cached: false,
        };
        self.judged = Some((text.to_owned(), score, [turn]));
        Ok(Reply::End(EpisodeEnding::Answered))
    }

    fn turns(&self) -> &[TurnRecord] {
        self.judged.as_ref().map_or(&[], |(_, _, turns)| turns)
    }

    fn close(self: Box<Self>) -> Result<Closed, EpisodeFault> {
        Ok(self.finish())
    }
}

impl World for CustomWorld {
    fn prompt(&self, item: &TaskId) -> Result<Prompt, PromptError> {
        let found = self.items.get(item).ok_or_else(|| PromptError::UnknownTask(item.clone()))?;
        let system = found.system.as_ref().unwrap_or(&self.shared.system).clone();
        Ok(Prompt { system, user: found.prompt.clone(), data: None })
    }

    fn wall_limit(&self) -> Duration {
        WALL_LIMIT
    }

    fn open(&self, item: &TaskId) -> Result<Box<dyn Play + '_>, EpisodeFault> {
        Ok(Box::new(self.start(item)?))
    }
}

impl Environment for CustomWorld {
    fn spec(&self) -> &TaskSpec {
        &self.spec
    }

    fn part(&self) -> Part {
        self.part
    }

    fn items(&self) -> Vec<&TaskId> {
        self.items.keys().collect()
    }

    fn score(&self, verdicts: &[&EnvironmentVerdict]) -> Result<Option<f64>, EpisodeFault> {
        if verdicts.is_empty() || self.spec.is_mean() {
            return Ok(mean_score(verdicts));
        }
        self.aggregate(verdicts).map(Some)
    }

    fn runs_programs(&self) -> bool {
        true
    }

    fn set_runner(&mut self, runner: Arc<dyn Runner>) {
        self.runner = Some(runner);
    }

    /// Known of examples alone.
    fn solve(&self, item: &TaskId) -> Option<Vec<String>> {
        Some(vec![self.items.get(item)?.answer.clone()?])
    }

    fn question(&self, item: &TaskId) -> Option<String> {
        Some(self.items.get(item)?.prompt.clone())
    }

    fn play_at_random(&self, item: &TaskId, _: Stream) -> Result<Closed, EpisodeFault> {
        let mut play = self.start(item)?;
        play.respond("")?;
        Ok(play.finish())
    }

    fn render(&self, item: &TaskId) -> Option<String> {
        let CustomItem { prompt, truth, .. } = self.items.get(item)?;
        Some(format!("{prompt}\n{truth}"))
    }

    fn evidence(&self, item: &TaskId) -> Option<String> {
        Some(self.items.get(item)?.evidence.clone().unwrap_or_default())
    }
}
