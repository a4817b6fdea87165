//! What is trained on: the tasks of a corpus, or the questions of searches on them.

use super::{TrainError, TrainSettings};
use crate::rollout::RolloutSettings;
use crate::text::template::ChatTemplate;
use crate::text::tokenizer::Tokenizer;
use agents::play::World as _;
use agents::search::samples;
use agents::search::world::OperatorWorld;
use sandbox::env::TaskSuite;
use tasks::task::{Split, Task, TaskId};

/// The items of an environment, by name.
#[derive(Debug)]
pub(super) struct Items<'a> {
    pub(super) train: Vec<&'a TaskId>,
    pub(super) held_out: Vec<&'a TaskId>,
}

/// The environment of the questions of searches, if settings name any.
pub(super) fn operators<'a>(
    settings: &'a TrainSettings,
    suite: &'a TaskSuite,
) -> Result<Option<OperatorWorld<'a>>, TrainError> {
    if settings.searches.is_empty() {
        return Ok(None);
    }
    let mut asks = Vec::new();
    for folder in &settings.searches {
        asks.extend(samples::read(folder)?);
    }
    let rules = &settings.rules;
    Ok(Some(OperatorWorld::new(suite, &rules.episode, &rules.reward, &asks)))
}

impl<'a> Items<'a> {
    /// Every task, for whole episodes. Held-out ones are needed for validation alone.
    pub(super) fn tasks(suite: &'a TaskSuite, validates: bool) -> Result<Self, TrainError> {
        let ids = |split| -> Result<Vec<&'a TaskId>, TrainError> {
            Ok(suite.split(split)?.into_iter().map(Task::id).collect())
        };
        let held_out = if validates { ids(Split::Val)? } else { Vec::new() };
        Ok(Self { train: ids(Split::Train)?, held_out })
    }

    /// Every question that leaves room for an answer, by the split of its task.
    pub(super) fn questions(
        operators: &'a OperatorWorld<'a>,
        tokenizer: &Tokenizer,
        rollout: &RolloutSettings,
    ) -> Result<Self, TrainError> {
        let template = ChatTemplate::new(tokenizer)?;
        let room = rollout.max_model_len - rollout.turn_tokens;
        let (mut items, mut too_long) = (Self { train: Vec::new(), held_out: Vec::new() }, 0);
        for (id, task) in operators.items() {
            let prompt = operators
                .prompt(id)
                .map_err(|source| TrainError::Question { id: id.clone(), source })?;
            if template.prompt(&prompt.system, &prompt.user)?.len() > room {
                too_long += 1;
            } else if task.split() == Some(Split::Val) {
                items.held_out.push(id);
            } else {
                items.train.push(id);
            }
        }
        tracing::info!(
            train = items.train.len(),
            held_out = items.held_out.len(),
            too_long,
            "questions of searches"
        );
        if items.train.is_empty() {
            return Err(TrainError::NoQuestions { too_long, room });
        }
        Ok(items)
    }

    /// Warns of held-out items that are trained on as well.
    ///
    /// # Errors
    /// [`TrainError::NothingHeldOut`] if there are none at all.
    pub(super) fn check_held_out(&self, suite: &TaskSuite) -> Result<(), TrainError> {
        if self.held_out.is_empty() {
            return Err(TrainError::NothingHeldOut);
        }
        let is_trained_on =
            |id: &&&TaskId| suite.task(id).is_some_and(|task| task.split().is_none());
        let trained_on = self.held_out.iter().filter(is_trained_on).count();
        if trained_on > 0 {
            tracing::warn!(
                "{trained_on} of {} validation tasks are also trained on, because they state no \
                 split: validation rewards, the best checkpoint and early stopping do not measure \
                 held-out tasks; set `validate_every=0` and compare policies on other tasks with \
                 `rl eval`",
                self.held_out.len()
            );
        }
        Ok(())
    }
}
