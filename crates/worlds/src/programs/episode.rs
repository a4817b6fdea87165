//! An episode: one program, judged by the results of its calls.

use super::ProgramItem;
use super::completion::program_of;
use super::script::{Called, results, script};
use crate::kind::{Answer, Episode};
use crate::runner::ProgramRun;
use agents::trajectory::EnvironmentVerdict;
use serde_json::json;

/// An episode on one function.
#[derive(Debug)]
pub struct ProgramEpisode<'a> {
    item: &'a ProgramItem,
    text: Option<String>,
    run: Option<ProgramRun>,
}

impl<'a> ProgramEpisode<'a> {
    /// Before the only turn.
    pub fn new(item: &'a ProgramItem) -> Self {
        Self { item, text: None, run: None }
    }

    /// What is played.
    pub(super) fn item(&self) -> &'a ProgramItem {
        self.item
    }

    /// How many tests passed, and what went wrong, as a tag; without one, all passed.
    fn judge(&self) -> (usize, Option<&'static str>) {
        let (Some(_), Some(run)) = (&self.text, &self.run) else { return (0, Some("empty")) };
        if let Some(mistake) = run.mistake() {
            return (0, Some(mistake));
        }
        let Some(called) = results(&run.printed, self.item.tests.len()) else {
            return (0, Some("no_result"));
        };
        let passes = |(test, called): (&super::ProgramTest, &Called)| matches!(called, Called::Returned(result) if test.result.equals(result));
        let passed = self.item.tests.iter().zip(&called).filter(|&pair| passes(pair)).count();
        let raised = called.iter().any(|called| matches!(called, Called::Raised(_)));
        match (passed == self.item.tests.len(), raised) {
            (true, _) => (passed, None),
            (false, true) => (passed, Some("raised")),
            (false, false) => (passed, Some("wrong")),
        }
    }
}

impl Episode for ProgramEpisode<'_> {
    fn respond(&mut self, text: &str) -> Answer {
        let is_program = !program_of(text).is_empty();
        self.text = is_program.then(|| text.to_owned());
        Answer { observation: String::new(), understood: is_program, thought: false, over: true }
    }

    fn script(&self) -> Option<String> {
        self.text.as_ref().map(|text| script(self.item, text))
    }

    fn take_run(&mut self, run: &ProgramRun) {
        self.run = Some(run.clone());
    }

    fn verdict(&self) -> EnvironmentVerdict {
        let (passed, lost) = self.judge();
        let score = if lost.is_none() { 1.0 } else { 0.0 };
        let mut tags = vec![self.item.topic.clone()];
        if self.item.is_new_family {
            tags.push("new_family".to_owned());
        }
        tags.extend(lost.map(str::to_owned));
        let outcome = self.run.as_ref().map(|run| run.outcome.to_string());
        let detail = json!({
            "family": self.item.family,
            "passed": passed,
            "tests": self.item.tests.len(),
            "run": outcome,
        });
        EnvironmentVerdict { reward: score, score, tags, detail }
    }
}
