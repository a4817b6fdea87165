//! Turns of the ReAct agent: thoughts and tool calls, over an episode whose work dir lasts for the
//! whole run.

use super::settings::LinearSettings;
use super::turn::{Counts, EarlierTurn, TurnForm, TurnResult};
use crate::grammar::{self, ToolCallFormat};
use crate::prompt::{Prompt, PromptError, PromptStyle};
use crate::run::agent::AgentRun;
use crate::run::journal::AgentEnd;
use crate::run::node::BlobHash;
use crate::search::operator::validation_score;
use crate::trajectory::{Tool, TurnRecord};
use llm::{Message, Role};
use sandbox::env::{Action, Budget, Episode, EpisodeConfig, EpisodeFault, StepResult};
use std::time::Duration;
use tasks::units::Span;

/// The work of a ReAct agent.
#[derive(Debug)]
pub(super) struct ReactTurns<'a> {
    run: AgentRun<'a>,
    settings: &'a LinearSettings,
    episode: Episode,
}

impl<'a> ReactTurns<'a> {
    pub(super) fn start(
        run: AgentRun<'a>,
        settings: &'a LinearSettings,
    ) -> Result<Self, EpisodeFault> {
        let budget = Budget { turns: settings.turns.max(1), wall_seconds: settings.seconds };
        let config = EpisodeConfig { budget, ..run.config.clone() };
        let mut episode = run.suite.reset(run.task, &config)?;
        run.stop.watch(episode.cancel()?);
        Ok(Self { run, settings, episode })
    }

    fn step(&mut self, action: &Action) -> Result<(StepResult, Counts), EpisodeFault> {
        let step = self.episode.step(action)?;
        let counts = match action {
            Action::Python { .. } => {
                self.episode.submission().map_or(Counts::Nothing, Counts::Submission)
            }
            Action::Score | Action::Answer | Action::Malformed { .. } => Counts::AsBefore,
        };
        Ok((step, counts))
    }
}

impl TurnForm for ReactTurns<'_> {
    fn opening(&self) -> Result<Vec<Message>, PromptError> {
        let Self { run, settings, .. } = self;
        let packages = run.view.python.list();
        let format = ToolCallFormat::Code;
        let mode = run.config.mode;
        let mut prompt =
            Prompt::from_page(&run.view.page, settings.prompt, format, mode, &packages)?;
        if settings.prompt == PromptStyle::Full {
            prompt.user.push_str(&budget(settings, run.view.limits.time_limit));
            if let Some(weights) = &run.view.weights {
                prompt.user.push_str("\n\n");
                prompt.user.push_str(&weights.sentence());
            }
        }
        Ok(vec![Message::new(Role::System, prompt.system), Message::new(Role::User, prompt.user)])
    }

    fn set_elapsed(&mut self, elapsed: Duration) {
        self.episode.set_elapsed(elapsed);
    }

    fn take(&mut self, answer: &str, _: bool) -> Result<Result<TurnResult, String>, EpisodeFault> {
        let turn = grammar::parse(answer);
        let (step, counts) = self.step(&turn.action)?;
        let reply = if turn.action == Action::Answer {
            Err(AgentEnd::Answered)
        } else if step.done && self.episode.turns() >= self.settings.turns {
            Err(AgentEnd::Steps)
        } else if step.done {
            Err(AgentEnd::Time)
        } else {
            Ok(step.observation.text.clone())
        };
        let record = TurnRecord {
            tool: Tool::of(&turn.action),
            has_thought: turn.has_thought,
            outcome: step.outcome,
            seconds: step.wall.as_secs_f64(),
            cached: false,
        };
        let code = match turn.action {
            Action::Python { code } => Some(code),
            Action::Score | Action::Answer | Action::Malformed { .. } => None,
        };
        let metric = code.as_ref().and_then(|_| validation_score(&step.observation.text));
        Ok(Ok(TurnResult { record, code, metric, reply, counts, score: None }))
    }

    fn take_again(&mut self, turn: &EarlierTurn<'_>) -> Result<bool, EpisodeFault> {
        let action = grammar::parse(turn.answer).action;
        // What was done in time is not cut short now.
        self.episode.set_elapsed(Duration::ZERO);
        let (step, counts) = self.step(&action)?;
        Ok(match counts {
            Counts::AsBefore => true,
            Counts::Nothing => {
                turn.facts.submission.is_none() && step.outcome == turn.facts.record.outcome
            }
            Counts::Submission(bytes) => {
                turn.facts.submission == Some(BlobHash::of(&bytes))
                    && step.outcome == turn.facts.record.outcome
            }
        })
    }
}

/// What an agent has, in words.
fn budget(settings: &LinearSettings, script: Span) -> String {
    format!(
        "\n\nYou have {} turns and {} in all; a script may run for {}. To compare ideas, let \
         each script validate on the training rows and print a line `Validation score: NUMBER`.",
        settings.turns,
        Span::seconds(settings.seconds).in_words(),
        script.in_words(),
    )
}
