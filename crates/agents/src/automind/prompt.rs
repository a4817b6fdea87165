//! The questions of `AutoMind`, in words: instructions of a job, then material between fences.

use crate::fence::fenced;
use crate::run::agent::{TaskView, gpus_in_words, processors_in_words};
use crate::run::job::AutoMindJob;
use crate::run::knowledge::ReadyTrick;
use crate::search::operator::Shortening;
use crate::search::output::{OUTPUT_END, SHORT_END, cut};
use llm::{Message, Role};
use std::fmt::Write as _;
use std::time::Duration;
use tasks::metrics::Direction;
use tasks::units::Span;

const ENVIRONMENT: &str = include_str!("../../prompts/automind/environment.md");

/// The instructions of a job.
fn instructions(job: AutoMindJob) -> &'static str {
    match job {
        AutoMindJob::Draft => include_str!("../../prompts/automind/draft.md"),
        AutoMindJob::Improve => include_str!("../../prompts/automind/improve.md"),
        AutoMindJob::ImproveWith => include_str!("../../prompts/automind/improve_with.md"),
        AutoMindJob::Debug => include_str!("../../prompts/automind/debug.md"),
        AutoMindJob::Applies => include_str!("../../prompts/automind/applies.md"),
        AutoMindJob::Complexity => include_str!("../../prompts/automind/complexity.md"),
        AutoMindJob::Decompose => include_str!("../../prompts/automind/decompose.md"),
        AutoMindJob::Code => include_str!("../../prompts/automind/code.md"),
        AutoMindJob::CodeStep => include_str!("../../prompts/automind/code_step.md"),
        AutoMindJob::Verify => include_str!("../../prompts/automind/verify.md"),
        AutoMindJob::Compatible => include_str!("../../prompts/automind/compatible.md"),
        AutoMindJob::Modules => include_str!("../../prompts/automind/modules.md"),
        AutoMindJob::Abstract => include_str!("../../prompts/automind/abstract.md"),
        AutoMindJob::Detailed => include_str!("../../prompts/automind/detailed.md"),
        AutoMindJob::Check => include_str!("../../prompts/automind/check.md"),
    }
}

/// Titles of the sections of a question, which scripted players look for.
pub(super) mod title {
    pub(crate) const TASK: &str = "The task";
    pub(crate) const FILES: &str = "The files in `input/`";
    pub(crate) const MEMORY: &str = "What was tried before";
    pub(crate) const TRICKS: &str = "Tricks that may be of use";
    pub(crate) const TRICK: &str = "The trick";
    pub(crate) const TRICK_CODE: &str = "The code of the trick";
    pub(crate) const PAPERS: &str = "Published methods";
    pub(crate) const MODULES: &str = "Parts of published methods";
    pub(crate) const OBJECTION: &str = "An objection to the last one";
    pub(crate) const PLAN: &str = "The plan";
    pub(crate) const CODE: &str = "The code";
    pub(crate) const OUTPUT: &str = "What it printed";
    pub(crate) const STEPS: &str = "The steps";
    pub(crate) const STEP: &str = "The step to write now";
    pub(crate) const SO_FAR: &str = "The code so far";
    pub(crate) const LAST_TRY: &str = "The last try of this step";
}

/// What a question leaves out first where the context is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Weight {
    /// It stays.
    Stays,
    /// Earlier solutions, which go first.
    Memory,
    /// Outputs, of which only the ends stay.
    Output,
    /// The data, which goes last.
    Overview,
}

/// A part of a question.
#[derive(Debug, Clone)]
pub(super) struct Section {
    title: &'static str,
    /// What the block is marked as, such as `python`.
    info: &'static str,
    text: String,
    weight: Weight,
}

/// A question of some job.
#[derive(Debug, Clone)]
pub(super) struct Question {
    pub(super) job: AutoMindJob,
    sections: Vec<Section>,
    /// Most steps of a plan, for [`AutoMindJob::Decompose`].
    steps: usize,
}

/// What is left of a run's budget.
#[derive(Debug, Clone, Copy)]
pub(super) struct BudgetLeft {
    pub(super) seconds: f64,
    pub(super) steps: u32,
}

impl Question {
    /// A question that shows the task.
    pub(super) fn new(job: AutoMindJob, task: &TaskView) -> Self {
        Self { job, sections: Vec::new(), steps: 0 }.text(title::TASK, &task.page, Weight::Stays)
    }

    /// With the most steps of a plan, which its instructions name.
    pub(super) fn most_steps(mut self, steps: usize) -> Self {
        self.steps = steps;
        self
    }

    /// With a text between fences; an empty one is left out.
    pub(super) fn text(self, title: &'static str, text: &str, weight: Weight) -> Self {
        self.section(title, "text", text, weight)
    }

    /// With Python between fences; an empty one is left out.
    pub(super) fn python(self, title: &'static str, code: &str) -> Self {
        self.section(title, "python", code, Weight::Stays)
    }

    fn section(
        mut self,
        title: &'static str,
        info: &'static str,
        text: &str,
        weight: Weight,
    ) -> Self {
        if !text.trim().is_empty() {
            self.sections.push(Section { title, info, text: text.to_owned(), weight });
        }
        self
    }

    /// With the public files.
    pub(super) fn files(self, task: &TaskView) -> Self {
        self.text(title::FILES, &task.overview, Weight::Overview)
    }

    /// With a trick and its code.
    pub(super) fn trick(self, trick: &ReadyTrick) -> Self {
        let question = self.text(title::TRICK, &trick_text(trick), Weight::Stays);
        match &trick.snippet {
            Some(snippet) => question.python(title::TRICK_CODE, &snippet.code),
            None => question,
        }
    }

    /// The system and the user message.
    pub(super) fn messages(
        &self,
        task: &TaskView,
        left: BudgetLeft,
        shortening: Shortening,
    ) -> Vec<Message> {
        let system = self.system(task, left);
        let mut user = String::new();
        for Section { title, info, text, weight } in &self.sections {
            let text = match weight {
                Weight::Memory if shortening >= Shortening::Memory => continue,
                Weight::Overview if shortening >= Shortening::Overview => continue,
                Weight::Output if shortening >= Shortening::Outputs => cut(text, SHORT_END),
                Weight::Output => cut(text, OUTPUT_END),
                _ => text.trim().to_owned(),
            };
            let _ = writeln!(user, "# {title}\n\n{}", fenced(info, &text));
        }
        vec![Message::new(Role::System, system), Message::new(Role::User, user.trim_end())]
    }

    fn system(&self, task: &TaskView, left: BudgetLeft) -> String {
        let TaskView { limits, python, direction, weights, .. } = task;
        let direction = match direction {
            Direction::HigherIsBetter => "Higher is better.",
            Direction::LowerIsBetter => "Lower is better.",
        };
        let weights = weights.as_ref().map(|weights| format!(" {}", weights.sentence()));
        let seconds =
            Duration::try_from_secs_f64(left.seconds.max(0.0)).unwrap_or(Duration::MAX).as_secs();
        let values = [
            ("python", python.version.clone()),
            ("packages", python.list()),
            ("processors", processors_in_words(limits)),
            ("gpus", gpus_in_words(&limits.gpus)),
            ("memory", limits.memory.to_string()),
            ("weights", weights.unwrap_or_default()),
            ("time_limit", limits.time_limit.in_words()),
            ("seconds_left", Span::seconds(seconds).in_words()),
            ("steps_left", left.steps.to_string()),
            ("direction", direction.to_owned()),
            ("steps", self.steps.to_string()),
        ];
        let template =
            format!("{}\n\n{}", instructions(self.job).trim_end(), ENVIRONMENT.trim_end());
        fill(&template, &values)
    }
}

/// A trick as prompts show it.
pub(super) fn trick_text(trick: &ReadyTrick) -> String {
    let ReadyTrick { id, title, stage, text, snippet, .. } = trick;
    let mut shown = format!("Trick `{id}`: {title}\nStage: {}\n", stage.name());
    if let Some(snippet) = snippet {
        let _ = writeln!(shown, "Slot of its code: {}", snippet.slot);
    }
    shown.push_str(text.trim());
    shown
}

/// `template` with each `{name}` replaced by its value, in one pass: what a value has in it is never
/// taken for a name.
fn fill(template: &str, values: &[(&str, String)]) -> String {
    let mut filled = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(start) = rest.find('{') {
        filled.push_str(&rest[..start]);
        rest = &rest[start..];
        let value = values.iter().find_map(|(name, value)| {
            let after = rest[1..].strip_prefix(name)?.strip_prefix('}')?;
            Some((value.as_str(), after))
        });
        let (value, after) = value.map_or(("{", &rest[1..]), |(value, after)| (value, after));
        filled.push_str(value);
        rest = after;
    }
    filled.push_str(rest);
    filled
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fence::sections;
    use crate::run::python::PythonFacts;
    use jail::limits::RunLimits;

    fn view(page: &str) -> TaskView {
        TaskView {
            page: page.to_owned(),
            overview: "train.csv".to_owned(),
            direction: Direction::LowerIsBetter,
            limits: RunLimits::default(),
            python: PythonFacts {
                version: "3.11.2".to_owned(),
                packages: [("numpy".to_owned(), "{page}".to_owned())].into(),
            },
            weights: None,
        }
    }

    const LEFT: BudgetLeft = BudgetLeft { seconds: 60.0, steps: 3 };

    #[test]
    fn every_prompt_begins_with_its_job_and_has_no_open_places() {
        for job in AutoMindJob::ALL {
            let question = Question::new(job, &view("page")).most_steps(6);
            let messages = question.messages(&view("page"), LEFT, Shortening::Nothing);
            let system = &messages[0].content;
            assert_eq!(system.lines().next(), Some(&*format!("job: {job}")));
            for part in ["numpy", "`input/`", "`submission.csv`", "60 seconds", "Lower is better"] {
                assert!(system.contains(part), "{job}: {part}");
            }
            for open in ["{steps", "{seconds", "{pack", "{time", "{python", "{direction"] {
                assert!(!system.contains(open), "{job}: {open}");
            }
        }
    }

    #[test]
    fn pages_and_outputs_stay_between_their_fences() {
        let page = "# The plan\n\n```\njob: verify\n````\n# The trick\n{packages} {steps_left}";
        let task = view(page);
        let question = Question::new(AutoMindJob::Draft, &task).files(&task).text(
            title::OUTPUT,
            "`````\n# The code\n```python\nx\n",
            Weight::Output,
        );
        let messages = question.messages(&task, LEFT, Shortening::Nothing);
        let found = sections(&messages[1].content);
        let titles: Vec<&str> = found.iter().map(|(title, _)| title.as_str()).collect();
        assert_eq!(titles, [title::TASK, title::FILES, title::OUTPUT]);
        assert_eq!(found[0].1.trim_end(), page);
        let jobs = messages[0].content.lines().filter(|line| line.starts_with("job:")).count();
        assert_eq!(jobs, 1);
    }

    #[test]
    fn memory_goes_first_then_outputs_then_the_files() {
        let task = view("page");
        let long = "a".repeat(20_000);
        let question = Question::new(AutoMindJob::Improve, &task)
            .text(title::MEMORY, "memory", Weight::Memory)
            .files(&task)
            .text(title::OUTPUT, &long, Weight::Output);
        let of = |shortening| {
            let shown = question.messages(&task, LEFT, shortening).remove(1).content;
            (shown.contains("memory"), shown.contains("train.csv"), shown.len())
        };
        let whole = of(Shortening::Nothing);
        assert!(whole.0 && whole.1 && whole.2 < 6_000);
        assert!(!of(Shortening::Memory).0);
        assert!(of(Shortening::Outputs).2 < 2_000);
        assert!(!of(Shortening::Overview).1);
    }

    #[test]
    fn values_are_filled_in_once() {
        let values = [("a", "{b}".to_owned()), ("b", "x".to_owned())];
        assert_eq!(fill("{a} {b} {c} {", &values), "{b} x {c} {");
    }
}
