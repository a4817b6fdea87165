//! Programs of `tests/hostile`, and what their headers say must happen.
//!
//! A program is one or more scripts, run one after the other in one work dir; a line
//! `# --- next run` or `# --- next episode` (a work dir of its own) divides them, or `# --- next
//! run without session`, which is the first in the mode `script` and the second in the mode
//! `session`, where an interpreter stays by intention. Each script may begin with lines of these
//! kinds:
//!
//! | line | meaning | default |
//! | --- | --- | --- |
//! | `# policy: JSON` | the run's limits | 30 s, else the default policy |
//! | `# must: A, B` | the outcome, as text that begins like one of these | `finished` |
//! | `# must in t3: A, B` | the same where there is no box | as in a box |
//! | `# must in session: A, B` | the same in the mode `session` | as in the mode `script` |
//! | `# at most: 8s` | wall-clock time | no bound but the deadline |
//! | `# submission: A, B` | what fetching `submission.csv` says, as text that contains one of these | not fetched |

use crate::fixture::{CANARY, SandboxFixture};
use jail::exec::{Mode, Run, Workspace};
use jail::isolation::IsolationLevel;
use jail::limits::{Gpus, RunLimits};
use std::fmt::Write as _;
use tasks::units::Span;

/// The largest submission that is fetched.
const SUBMISSION_LIMIT: u64 = 1 << 20;

/// A hostile program, or an honest one that stays just inside a limit.
pub(crate) struct Program {
    pub(crate) name: String,
    /// The first line of its first script.
    pub(crate) tries: String,
    scripts: Vec<ProgramScript>,
}

struct ProgramScript {
    code: String,
    /// In the modes `script` and `session`.
    own_episode: [bool; 2],
    policy: RunLimits,
    must: Vec<String>,
    must_in_t3: Option<Vec<String>>,
    must_in_session: Option<Vec<String>>,
    at_most: Option<Span>,
    submission: Vec<String>,
}

impl Program {
    /// All programs, by name.
    pub(crate) fn all() -> Vec<Self> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/hostile");
        let mut all: Vec<Self> = fs_err::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap())
            .map(|entry| {
                let name = entry.file_name().into_string().unwrap();
                let text = fs_err::read_to_string(entry.path()).unwrap();
                Self::parse(name.strip_suffix(".py").unwrap(), &text)
            })
            .collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    /// All programs, or those that `PROGRAMS` in the environment names, divided by commas.
    pub(crate) fn chosen() -> Vec<Self> {
        let Ok(names) = std::env::var("PROGRAMS") else { return Self::all() };
        let chosen: Vec<Self> = Self::all()
            .into_iter()
            .filter(|program| names.split(',').any(|name| name == program.name))
            .collect();
        assert_eq!(chosen.len(), names.split(',').count(), "PROGRAMS={names}");
        chosen
    }

    /// Whether what it tries has to do with files.
    pub(crate) fn is_about_files(&self) -> bool {
        let about = [
            "answers",
            "data",
            "devices",
            "disk",
            "escape",
            "files",
            "input",
            "leftovers",
            "locks",
            "rest_by_watching",
            "submission",
            "watches",
            "write",
        ];
        about.iter().any(|about| self.name.starts_with(about))
    }

    fn parse(name: &str, text: &str) -> Self {
        let mut scripts = vec![ProgramScript::new([false, false])];
        for line in text.lines() {
            match line.strip_prefix("# --- next ") {
                Some("run") => scripts.push(ProgramScript::new([false, false])),
                Some("run without session") => scripts.push(ProgramScript::new([false, true])),
                Some("episode") => scripts.push(ProgramScript::new([true, true])),
                Some(other) => panic!("{name}: next {other}?"),
                None => scripts.last_mut().unwrap().take(line),
            }
        }
        let tries = text.lines().next().unwrap().trim_matches('"').to_owned();
        Self { name: name.to_owned(), tries, scripts }
    }

    /// The same with GPUs.
    pub(crate) fn with_gpus(mut self, gpus: &Gpus) -> Self {
        for script in &mut self.scripts {
            script.policy.gpus = gpus.clone();
        }
        self
    }

    /// Whether it does not wait for the clock, neither its own nor ours.
    pub(crate) fn is_brief(&self) -> bool {
        let waits = |script: &ProgramScript| {
            script.must.iter().any(|must| must == "timed out") || script.code.contains("sleep(")
        };
        !self.scripts.iter().any(waits)
    }

    /// The scripts of each of its episodes, in the modes `script` or `session`.
    pub(crate) fn episodes(&self, session: bool) -> Vec<Vec<&str>> {
        let mut episodes: Vec<Vec<&str>> = vec![Vec::new()];
        for script in &self.scripts {
            if script.own_episode[usize::from(session)] {
                episodes.push(Vec::new());
            }
            episodes.last_mut().unwrap().push(&script.code);
        }
        episodes
    }

    /// What must happen, for a table: the endings of the last script, and of fetching.
    pub(crate) fn must(&self) -> String {
        let last = self.scripts.last().unwrap();
        let mut text = last.must.join(" or ");
        if let Some(must) = &last.must_in_t3 {
            let _ = write!(text, " (t3: {})", must.join(" or "));
        }
        if let Some(must) = &last.must_in_session {
            let _ = write!(text, " (session: {})", must.join(" or "));
        }
        if !last.submission.is_empty() {
            let _ = write!(text, "; submission: {}", last.submission.join(" or "));
        }
        text
    }

    /// Runs it.
    ///
    /// # Errors
    /// What happened instead of what must.
    pub(crate) fn try_on(&self, place: &SandboxFixture, mode: Mode) -> Result<(), String> {
        let new = || place.workspace().in_mode(mode).unwrap();
        // Kept, so that sessions at rest are there to be found.
        let (mut workspace, mut earlier) = (new(), Vec::new());
        for (number, script) in self.scripts.iter().enumerate() {
            if script.own_episode[usize::from(mode == Mode::Session)] {
                earlier.push(std::mem::replace(&mut workspace, new()));
            }
            let name = if mode == Mode::Session { "session" } else { "script" };
            let code = place.fill_in(&script.code).replace("@MODE@", name);
            let run = workspace
                .run(&code, &script.policy)
                .map_err(|fault| format!("{}, script {number}: {fault}", self.name))?;
            script
                .judge(&run, &workspace, mode)
                .map_err(|problem| format!("{}, script {number}: {problem}", self.name))?;
        }
        Ok(())
    }
}

impl ProgramScript {
    fn new(own_episode: [bool; 2]) -> Self {
        Self {
            code: String::new(),
            own_episode,
            policy: crate::fixture::policy(),
            must: vec!["finished".to_owned()],
            must_in_t3: None,
            must_in_session: None,
            at_most: None,
            submission: Vec::new(),
        }
    }

    fn take(&mut self, line: &str) {
        self.code.push_str(line);
        self.code.push('\n');
        let list = |text: &str| text.split(", ").map(str::to_owned).collect();
        let Some((key, value)) = line.strip_prefix("# ").and_then(|line| line.split_once(": "))
        else {
            return;
        };
        match key {
            "policy" => {
                let mut policy = serde_json::to_value(&self.policy).unwrap();
                let given: serde_json::Value = serde_json::from_str(value).unwrap();
                policy.as_object_mut().unwrap().extend(given.as_object().unwrap().clone());
                self.policy = serde_json::from_value(policy).unwrap();
            }
            "must" => self.must = list(value),
            "must in t3" => self.must_in_t3 = Some(list(value)),
            "must in session" => self.must_in_session = Some(list(value)),
            "at most" => self.at_most = Some(value.parse().unwrap()),
            "submission" => self.submission = list(value),
            // An ordinary comment.
            _ => {}
        }
    }

    fn judge(&self, run: &Run, workspace: &Workspace, mode: Mode) -> Result<(), String> {
        let outcome = run.outcome.to_string();
        let must = match (&self.must_in_t3, &self.must_in_session) {
            (Some(must), _) if run.tier == IsolationLevel::T3 => must,
            (_, Some(must)) if mode == Mode::Session => must,
            _ => &self.must,
        };
        if !must.iter().any(|must| outcome.starts_with(must.as_str())) {
            let (stdout, stderr) = (run.stdout.text(), run.stderr.text());
            let must = must.join(" or ");
            return Err(format!("it {outcome}, and must be: {must}\n{stdout}\n{stderr}"));
        }
        if self.at_most.is_some_and(|most| run.wall > most.0) {
            return Err(format!("it took {:?}", run.wall));
        }
        if self.submission.is_empty() {
            return Ok(());
        }
        let fetched = match workspace.collect("submission.csv", SUBMISSION_LIMIT) {
            Ok(bytes) => format!("{} bytes", bytes.len()),
            Err(error) => error.to_string(),
        };
        if fetched.contains(CANARY) || !self.submission.iter().any(|must| fetched.contains(must)) {
            return Err(format!("fetching: {fetched}"));
        }
        Ok(())
    }
}

#[test]
fn headers_are_read() {
    let text = "\"\"\"Tries it.\"\"\"\n# policy: {\"memory\": \"1MiB\"}\n# must: timed out, raised \
                X\nx = 1\n# --- next episode\n# submission: 5 bytes\n# a comment\n";
    let program = Program::parse("name", text);
    assert_eq!(program.tries, "Tries it.");
    assert_eq!(program.must(), "finished; submission: 5 bytes");
    assert_eq!(program.scripts[0].policy.memory.bytes(), 1 << 20);
    assert_eq!(program.scripts[0].policy.time_limit, Span::seconds(30));
    assert_eq!(program.scripts[0].must, ["timed out", "raised X"]);
    assert_eq!(program.scripts[0].own_episode, [false, false]);
    assert_eq!(program.scripts[1].own_episode, [true, true]);
}
