//! Turns of MLE-Dojo's agent: one JSON object, `{"action": …, "params": …}`. Each script has a
//! work dir of its own.

use super::settings::LinearSettings;
use super::turn::{Counts, EarlierTurn, TurnForm, TurnResult};
use crate::prompt::PromptError;
use crate::run::agent::AgentRun;
use crate::run::journal::AgentEnd;
use crate::search::operator::validation_score;
use crate::trajectory::{Tool, TurnRecord};
use fs_err as fs;
use jail::exec::Run;
use llm::{Message, Role};
use sandbox::env::{EpisodeFault, Feedback, TrialResult, try_script};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _};
use std::time::{Duration, Instant};
use tasks::metrics::Direction;
use tasks::units::Span;

const SYSTEM: &str = include_str!("../../prompts/mle_agent_system.md");
const START: &str = include_str!("../../prompts/mle_agent_start.md");

/// Lines of a sample submission that are shown, and bytes that are read for them.
const SAMPLE: (usize, u64) = (6, 64 << 10);

/// What a turn asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "action", content = "params", rename_all = "snake_case", deny_unknown_fields)]
enum MleAction {
    /// A fact about the task.
    RequestInfo {
        /// Which.
        info_type: Info,
    },
    /// A script is run, and its submission is thrown away.
    ValidateCode {
        /// Python source code.
        code: String,
    },
    /// A script is run, and its submission counts.
    ExecuteCode {
        /// Python source code.
        code: String,
    },
}

/// Facts about a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Info {
    Overview,
    SampleSubmission,
    DataStructure,
    DataPath,
    OutputPath,
}

/// Reads a turn: a JSON object, alone or within other text.
fn parse(answer: &str) -> Result<MleAction, String> {
    let text = answer.rsplit_once("</think>").map_or(answer, |(_, after)| after);
    let object = text.find('{').zip(text.rfind('}')).filter(|(start, end)| start < end);
    let Some((start, end)) = object else {
        return Err(
            "There is no JSON object in the answer. Answer with one, that has exactly the \
                    keys action and params."
                .to_owned(),
        );
    };
    serde_json::from_str(&text[start..=end]).map_err(|error| {
        format!(
            "The answer is not an action: {error}. Answer with one JSON object that has exactly \
             the keys action and params."
        )
    })
}

/// The script that a turn runs, if it is one that runs a script.
pub(super) fn script(turn: &str) -> Option<String> {
    match parse(turn).ok()? {
        MleAction::ValidateCode { code } | MleAction::ExecuteCode { code } => Some(code),
        MleAction::RequestInfo { .. } => None,
    }
}

/// The turn that runs a script.
pub(super) fn execute_turn(code: &str) -> String {
    written(&MleAction::ExecuteCode { code: code.to_owned() })
}

/// A turn that costs nothing.
pub(super) fn idle_turn() -> String {
    written(&MleAction::RequestInfo { info_type: Info::OutputPath })
}

fn written(action: &MleAction) -> String {
    serde_json::to_string(action).expect("texts")
}

/// The work of an `mle-agent`.
#[derive(Debug)]
pub(super) struct MleAgentTurns<'a> {
    run: AgentRun<'a>,
    settings: &'a LinearSettings,
    /// Turns so far.
    turns: u32,
    started: Instant,
    /// The score of the submission that counts, where it is told.
    best: Option<f64>,
    /// Whether a submission counts.
    has_submission: bool,
}

impl<'a> MleAgentTurns<'a> {
    pub(super) fn start(run: AgentRun<'a>, settings: &'a LinearSettings) -> Self {
        Self { run, settings, turns: 0, started: Instant::now(), best: None, has_submission: false }
    }

    fn seconds_left(&self) -> Duration {
        Duration::from_secs(self.settings.seconds).saturating_sub(self.started.elapsed())
    }

    fn info(&self, info: Info) -> String {
        let view = self.run.view;
        match info {
            Info::Overview => view.page.clone(),
            Info::SampleSubmission => self.sample(),
            Info::DataStructure => view.overview.clone(),
            Info::DataPath => "The files of the task are in `input/`, read-only.".to_owned(),
            Info::OutputPath => "Write the submission to `submission.csv` in the working \
                                 directory of the script."
                .to_owned(),
        }
    }

    /// The first lines of the sample submission.
    fn sample(&self) -> String {
        let folder = self.run.task.public().path();
        let mut names: Vec<String> = folder
            .read_dir_utf8()
            .map(|entries| {
                entries.filter_map(|entry| Some(entry.ok()?.file_name().to_owned())).collect()
            })
            .unwrap_or_default();
        names.sort();
        let is_sample = |name: &&String| {
            let name = name.to_lowercase();
            name.contains("sample") && name.contains("submission")
        };
        let Some(name) = names.iter().find(is_sample) else {
            return "There is no sample submission.".to_owned();
        };
        let (lines, bytes) = SAMPLE;
        let first: Option<Vec<String>> = fs::File::open(folder.join(name)).ok().and_then(|file| {
            BufReader::new(file.take(bytes)).lines().take(lines).collect::<Result<_, _>>().ok()
        });
        match first {
            Some(first) => format!("`input/{name}` begins:\n{}", first.join("\n")),
            None => format!("It is `input/{name}`, which is not a text file."),
        }
    }

    /// Runs a script in a work dir of its own.
    fn run_script(&self, code: &str) -> Result<TrialResult, EpisodeFault> {
        let AgentRun { suite, task, config, stop, .. } = self.run;
        try_script(suite, task, config, code, self.seconds_left(), &|cancel| stop.watch(cancel))
    }

    /// Whether a submission with this score takes the place of the one that counts: the better where
    /// scores are told, else the later.
    fn is_better(&self, score: Option<f64>) -> bool {
        match (score, self.best) {
            (Some(score), Some(best)) => self.run.view.direction.better(score, best),
            _ => true,
        }
    }

    /// The reply to a turn.
    fn reply(&self, succeeded: bool, feedback: &str) -> String {
        let best = match (self.best, self.has_submission) {
            (Some(best), _) => json!(best),
            (None, true) => json!("a valid submission, score not told"),
            (None, false) => serde_json::Value::Null,
        };
        let reply = json!({
            "action_status": if succeeded { "SUCCESS" } else { "FAILED" },
            "feedback": feedback,
            "best_so_far": best,
            "steps_left": self.settings.turns - self.turns,
        });
        serde_json::to_string_pretty(&reply).expect("texts")
    }
}

impl TurnForm for MleAgentTurns<'_> {
    fn opening(&self) -> Result<Vec<Message>, PromptError> {
        let Self { run, settings, .. } = self;
        let packages = run.view.python.list();
        let system = SYSTEM
            .trim_end()
            .replace("{python}", &run.view.python.version)
            .replace("{packages}", &packages)
            .replace("{turns}", &settings.turns.to_string())
            .replace("{seconds}", &Span::seconds(settings.seconds).in_words())
            .replace("{script}", &run.view.limits.time_limit.in_words())
            .replace("{told}", told(run.config.feedback));
        let weights = run.view.weights.as_ref();
        let weights = weights.map(|weights| format!("\n\n{}", weights.sentence()));
        let system = format!("{system}{}", weights.unwrap_or_default());
        let better = match run.view.direction {
            Direction::HigherIsBetter => "Higher scores are better.",
            Direction::LowerIsBetter => "Lower scores are better.",
        };
        let start = START.trim_end().replace("{page}", run.view.page.trim_end());
        let start = start.replace("{better}", better);
        Ok(vec![Message::new(Role::System, system), Message::new(Role::User, start)])
    }

    fn set_elapsed(&mut self, elapsed: Duration) {
        let now = Instant::now();
        self.started = now.checked_sub(elapsed).unwrap_or(now);
    }

    fn take(
        &mut self,
        answer: &str,
        is_last: bool,
    ) -> Result<Result<TurnResult, String>, EpisodeFault> {
        let action = match parse(answer) {
            Ok(action) => action,
            Err(problem) if !is_last => return Ok(Err(problem)),
            Err(problem) => {
                self.turns += 1;
                return Ok(Ok(self.result(
                    Tool::Malformed,
                    None,
                    false,
                    &problem,
                    Counts::AsBefore,
                )));
            }
        };
        self.turns += 1;
        Ok(Ok(match action {
            MleAction::RequestInfo { info_type } => {
                let text = self.info(info_type);
                self.result(Tool::Info, None, true, &text, Counts::AsBefore)
            }
            MleAction::ValidateCode { code } => {
                let tried = self.run_script(&code)?;
                let succeeded = tried.run.outcome.is_finished();
                let text = printed(&tried.run);
                let script = Some((code, tried.run));
                self.result(Tool::Python, script, succeeded, &text, Counts::AsBefore)
            }
            MleAction::ExecuteCode { code } => {
                let TrialResult { run, submission, validity, told, score } =
                    self.run_script(&code)?;
                let mut text = printed(&run);
                let succeeded = run.outcome.is_finished() && validity.is_ok();
                let mut counts = Counts::AsBefore;
                match (validity, submission) {
                    (Ok(()), Some(bytes)) => {
                        let told = told.as_deref().unwrap_or("valid submission");
                        let _ = writeln!(text, "[{told}]");
                        if self.is_better(score) {
                            (self.best, self.has_submission) = (score, true);
                            counts = Counts::Submission(bytes);
                        }
                    }
                    (Ok(()), None) => {}
                    (Err(reason), _) => drop(writeln!(text, "[{reason}]")),
                }
                self.result(Tool::Python, Some((code, run)), succeeded, &text, counts)
            }
        }))
    }

    fn take_again(&mut self, turn: &EarlierTurn<'_>) -> Result<bool, EpisodeFault> {
        self.turns += 1;
        self.best = turn.facts.score;
        self.has_submission = turn.facts.submission.is_some();
        Ok(true)
    }
}

impl MleAgentTurns<'_> {
    fn result(
        &self,
        tool: Tool,
        script: Option<(String, Run)>,
        succeeded: bool,
        feedback: &str,
        counts: Counts,
    ) -> TurnResult {
        let reply = if self.turns >= self.settings.turns {
            Err(AgentEnd::Steps)
        } else if self.seconds_left().is_zero() {
            Err(AgentEnd::Time)
        } else {
            Ok(self.reply(succeeded, feedback))
        };
        let (code, run) = script.unzip();
        TurnResult {
            record: TurnRecord {
                tool,
                has_thought: tool != Tool::Malformed,
                outcome: run.as_ref().map(|run| run.outcome.clone()),
                seconds: run.as_ref().map_or(0.0, |run| run.wall.as_secs_f64()),
                cached: false,
            },
            code,
            metric: run.and_then(|run| validation_score(&run.stdout.text())),
            reply,
            counts,
            score: self.best,
        }
    }
}

/// How a script ended and what it printed.
fn printed(run: &Run) -> String {
    let mut text = format!("[the script {}]\n", run.outcome);
    for stream in [&run.stdout, &run.stderr] {
        let printed = stream.text();
        if !printed.trim_end().is_empty() {
            text.push_str(printed.trim_end());
            text.push('\n');
        }
    }
    text
}

/// What `execute_code` tells of a submission.
fn told(feedback: Feedback) -> &'static str {
    match feedback {
        Feedback::Validate => {
            "You are told whether it is valid, not its score; the last valid one counts."
        }
        Feedback::Tier => {
            "You are told whether it is valid and which tier it reaches; the last \
                           valid one counts."
        }
        Feedback::Full | Feedback::Exposed => "You are told its score; the best one counts.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_have_exact_keys() {
        let overview = r#"{"action": "request_info", "params": {"info_type": "overview"}}"#;
        let expected = MleAction::RequestInfo { info_type: Info::Overview };
        assert_eq!(parse(overview), Ok(expected.clone()));
        let in_text = format!("<think>{{}}</think>Here it is:\n```json\n{overview}\n```\n");
        assert_eq!(parse(&in_text), Ok(expected));
        let code = "print({'a': 1})\n";
        assert_eq!(
            parse(&execute_turn(code)),
            Ok(MleAction::ExecuteCode { code: code.to_owned() })
        );
        for wrong in [
            "",
            "execute_code",
            r#"{"action": "execute_code", "params": {"code": "1", "timeout": 3}}"#,
            r#"{"action": "execute_code", "params": {"code": "1"}, "why": "so"}"#,
            r#"{"action": "execute_code", "params": {}}"#,
            r#"{"action": "submit", "params": {}}"#,
            r#"{"action": "request_info", "params": {"info_type": "answers"}}"#,
        ] {
            assert!(parse(wrong).unwrap_err().contains("exactly"), "{wrong}");
        }
    }
}
