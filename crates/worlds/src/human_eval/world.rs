//! The functions of one part, as an environment that rollouts play.

use super::FunctionItem;
use super::judge::{RULES, Tested, calling, comparing, recording, results, tested};
use crate::name::{BadLine, read_lines};
use crate::part::Part;
use crate::programs::program_of;
use crate::runner::{ProgramRules, ProgramRun, Runner};
use crate::spec::TaskSpec;
use crate::world::{Environment, WALL_LIMIT};
use agents::play::{Closed, EpisodeFault, Play, Reply, World};
use agents::prompt::{Prompt, PromptError};
use agents::trajectory::{EnvironmentVerdict, EpisodeEnding, Tool, TurnRecord};
use jail::exec::Outcome;
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tasks::stream::Stream;
use tasks::task::TaskId;

const SYSTEM: &str = "Write the whole function in Python, and nothing else.";

/// The functions of one part.
#[derive(Debug)]
pub struct HumanEvalWorld {
    spec: TaskSpec,
    part: Part,
    functions: BTreeMap<TaskId, Function>,
    runner: Option<Arc<dyn Runner>>,
}

#[derive(Debug)]
struct Function {
    item: FunctionItem,
    /// The calls that its tests make, once they were recorded.
    calls: OnceLock<Vec<String>>,
}

impl HumanEvalWorld {
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
        let ((), items) = read_lines(ground, lines)?;
        let function = |(id, item)| (id, Function { item, calls: OnceLock::new() });
        let functions = items.into_iter().map(function).collect();
        Ok(Box::new(Self { spec, part, functions, runner: None }))
    }

    fn item(&self, id: &TaskId) -> Option<&FunctionItem> {
        Some(&self.functions.get(id)?.item)
    }

    fn start(&self, id: &TaskId) -> Result<HumanEvalPlay<'_>, EpisodeFault> {
        let found = self.functions.get_key_value(id);
        let (id, function) = found.ok_or_else(|| EpisodeFault::UnknownItem(id.clone()))?;
        let runner = self.runner.as_deref().ok_or_else(|| EpisodeFault::NoRunner(id.clone()))?;
        Ok(HumanEvalPlay { id, function, runner, judged: None })
    }
}

/// One answer, and what the tests said of it.
#[derive(Debug)]
struct HumanEvalPlay<'a> {
    id: &'a TaskId,
    function: &'a Function,
    runner: &'a dyn Runner,
    judged: Option<Judged>,
}

#[derive(Debug)]
struct Judged {
    /// The tag of what went wrong; `None` if the tests passed.
    mistake: Option<String>,
    /// The run of the program; `None` of an answer without one.
    run: Option<ProgramRun>,
    turns: [TurnRecord; 1],
}

impl HumanEvalPlay<'_> {
    /// The calls that the tests make.
    fn calls(&self) -> Result<&[String], EpisodeFault> {
        if let Some(calls) = self.function.calls.get() {
            return Ok(calls);
        }
        let run = self.runner.run(&recording(&self.function.item), &RULES)?;
        let calls = match tested(&run) {
            Ok(Tested { mistake: None, calls }) => calls,
            Ok(Tested { mistake: Some(how), .. }) => {
                return Err(self.fault(format!("its own solution fails its tests ({how})")));
            }
            Err(why) => return Err(self.fault(why)),
        };
        Ok(self.function.calls.get_or_init(|| calls))
    }

    fn fault(&self, why: String) -> EpisodeFault {
        EpisodeFault::Scorer { item: self.id.clone(), why }
    }

    /// The run of a program, and the tag of what went wrong.
    fn judge(&self, text: &str) -> Result<(ProgramRun, Option<String>), EpisodeFault> {
        let (item, calls) = (&self.function.item, self.calls()?);
        let run = self.runner.run(&calling(item, text, calls), &ProgramRules::SHORT)?;
        let results = match results(&run, calls.len()) {
            Ok(results) => results,
            Err(mistake) => return Ok((run, Some(mistake.to_owned()))),
        };
        let compared = self.runner.run(&comparing(item, calls, &results), &RULES)?;
        let mistake = match compared.outcome {
            // Its results were too much for the tests.
            Outcome::TimedOut | Outcome::OutOfMemory => Some("limit".to_owned()),
            _ => tested(&compared).map_err(|why| self.fault(why))?.mistake,
        };
        Ok((run, mistake))
    }

    fn finish(self) -> Closed {
        let (turns, run, mistake) = match self.judged {
            Some(Judged { mistake, run, turns }) => (turns.into(), run, mistake),
            None => (Vec::new(), None, Some("empty".to_owned())),
        };
        let score = if mistake.is_none() { 1.0 } else { 0.0 };
        let run = run.map(|run| run.outcome.to_string());
        let detail = json!({ "function": self.function.item.task_id, "run": run });
        let tags = mistake.into_iter().collect();
        Closed::of_world(turns, EnvironmentVerdict { reward: score, score, tags, detail })
    }
}

impl Play for HumanEvalPlay<'_> {
    fn respond(&mut self, text: &str) -> Result<Reply, EpisodeFault> {
        if self.judged.is_some() {
            return Err(EpisodeFault::Over);
        }
        let (run, mistake) = if program_of(text).is_empty() {
            (None, Some("empty".to_owned()))
        } else {
            let (run, mistake) = self.judge(text)?;
            (Some(run), mistake)
        };
        let turn = TurnRecord {
            tool: if run.is_some() { Tool::Act } else { Tool::Malformed },
            has_thought: false,
            outcome: run.as_ref().map(|run| run.outcome.clone()),
            seconds: run.as_ref().map_or(0.0, |run| run.wall.as_secs_f64()),
            cached: false,
        };
        self.judged = Some(Judged { mistake, run, turns: [turn] });
        Ok(Reply::End(EpisodeEnding::Answered))
    }

    fn turns(&self) -> &[TurnRecord] {
        self.judged.as_ref().map_or(&[], |judged| &judged.turns)
    }

    fn is_repeatable(&self) -> bool {
        let run = self.judged.as_ref().and_then(|judged| judged.run.as_ref());
        run.is_none_or(ProgramRun::is_repeatable)
    }

    fn close(self: Box<Self>) -> Result<Closed, EpisodeFault> {
        Ok(self.finish())
    }
}

impl World for HumanEvalWorld {
    fn prompt(&self, item: &TaskId) -> Result<Prompt, PromptError> {
        let found = self.item(item).ok_or_else(|| PromptError::UnknownTask(item.clone()))?;
        Ok(Prompt { system: SYSTEM.to_owned(), user: found.prompt.clone(), data: None })
    }

    fn wall_limit(&self) -> Duration {
        WALL_LIMIT
    }

    fn open(&self, item: &TaskId) -> Result<Box<dyn Play + '_>, EpisodeFault> {
        Ok(Box::new(self.start(item)?))
    }
}

impl Environment for HumanEvalWorld {
    fn spec(&self) -> &TaskSpec {
        &self.spec
    }

    fn part(&self) -> Part {
        self.part
    }

    fn items(&self) -> Vec<&TaskId> {
        self.functions.keys().collect()
    }

    fn runs_programs(&self) -> bool {
        true
    }

    fn set_runner(&mut self, runner: Arc<dyn Runner>) {
        self.runner = Some(runner);
    }

    fn solve(&self, item: &TaskId) -> Option<Vec<String>> {
        Some(vec![self.item(item)?.solution()])
    }

    fn question(&self, item: &TaskId) -> Option<String> {
        Some(self.item(item)?.prompt.clone())
    }

    /// The function without a body returns nothing.
    fn play_at_random(&self, item: &TaskId, _: Stream) -> Result<Closed, EpisodeFault> {
        let mut play = self.start(item)?;
        play.respond("pass")?;
        Ok(play.finish())
    }

    fn render(&self, item: &TaskId) -> Option<String> {
        let item = self.item(item)?;
        Some(format!("{}\n{}", item.solution(), item.test.trim()))
    }

    fn evidence(&self, item: &TaskId) -> Option<String> {
        Some(self.item(item)?.evidence.clone().unwrap_or_default())
    }
}
