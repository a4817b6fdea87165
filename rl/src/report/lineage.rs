//! The runs that a policy comes from, and the demonstrations that it was fine-tuned on.

use super::ReportError;
use crate::checkpoint::source::{BuiltIn, followed};
use crate::model::Published;
use agents::trajectory::{self, Trajectory};
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

/// The file in which a run of `rl sft` keeps its demonstrations.
const FILE: &str = "demonstrations.jsonl";

/// Where the demonstrations of policies are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DemonstrationSource {
    /// Runs of `rl sft` that have them, each once.
    pub folders: Vec<Utf8PathBuf>,
    /// Why there are no more of them, a sentence per policy without any.
    pub missing: Vec<String>,
}

impl DemonstrationSource {
    /// The run of `rl sft` that a user names.
    ///
    /// # Errors
    /// [`ReportError::NoDemonstrations`] if it has none.
    pub fn named(folder: &Utf8Path) -> Result<Self, ReportError> {
        if !folder.join(FILE).is_file() {
            return Err(ReportError::NoDemonstrations(folder.to_owned()));
        }
        Ok(Self { folders: vec![folder.to_owned()], missing: Vec::new() })
    }

    /// Those of the runs that the policy of a run of `rl train` comes from.
    ///
    /// # Errors
    /// [`ReportError`] if settings of a run cannot be read.
    pub fn of_run(run: &Utf8Path) -> Result<Self, ReportError> {
        Self::of_policies(&[("the policy".to_owned(), run.to_string())])
    }

    /// Those of the policies that take part in an evaluation, as its settings name them.
    ///
    /// # Errors
    /// [`ReportError`] if settings cannot be read.
    pub fn of_evaluation(folder: &Utf8Path) -> Result<Self, ReportError> {
        let Some(settings) = settings(folder)? else {
            let missing = vec![format!("`{folder}/settings.toml` is not there.")];
            return Ok(Self { folders: Vec::new(), missing });
        };
        let pair = |entry: &Value| {
            let entry = entry.as_array()?;
            Some((entry.first()?.as_str()?.to_owned(), entry.get(1)?.as_str()?.to_owned()))
        };
        let policies = settings.get("policies").and_then(Value::as_array);
        let policies: Vec<(String, String)> =
            policies.into_iter().flatten().filter_map(pair).collect();
        let trained = policies.into_iter().filter(|(name, _)| name != super::RANDOM);
        Self::of_policies(&trained.collect::<Vec<_>>())
    }

    fn of_policies(policies: &[(String, String)]) -> Result<Self, ReportError> {
        let (mut folders, mut missing) = (Vec::new(), Vec::new());
        for (name, source) in policies {
            let lineage = Lineage::of(source)?;
            if lineage.demonstrations.is_empty() {
                missing.push(format!("{name}: {}.", lineage.end));
            }
            for folder in lineage.demonstrations {
                if !folders.contains(&folder) {
                    folders.push(folder);
                }
            }
        }
        Ok(Self { folders, missing })
    }

    /// Reads all demonstrations; `None` if there are no folders.
    ///
    /// # Errors
    /// [`ReportError::Trajectories`] if a file is missing or damaged.
    pub fn read(&self) -> Result<Option<Vec<Trajectory>>, ReportError> {
        if self.folders.is_empty() {
            return Ok(None);
        }
        let mut demonstrations = Vec::new();
        for folder in &self.folders {
            demonstrations.extend(trajectory::read(&folder.join(FILE))?);
        }
        Ok(Some(demonstrations))
    }

    /// What a reader is told before the tables.
    pub(super) fn sentence(&self) -> String {
        let folders: Vec<String> = self.folders.iter().map(|it| format!("`{it}`")).collect();
        let mut text = if folders.is_empty() {
            "There are no demonstrations to compare with, so what depends on them is left out; \
             `--demonstrations FOLDER` names a run of `rl sft`."
                .to_owned()
        } else {
            format!("Demonstrations are those of {}.", folders.join(" and "))
        };
        for reason in &self.missing {
            text.push(' ');
            text.push_str(reason);
        }
        text
    }
}

/// The runs that a policy comes from, newest first.
struct Lineage {
    /// Those that have demonstrations.
    demonstrations: Vec<Utf8PathBuf>,
    /// Why the chain of runs ends where it does.
    end: String,
}

impl Lineage {
    fn of(source: &str) -> Result<Self, ReportError> {
        let (mut runs, mut demonstrations) = (Vec::new(), Vec::new());
        let mut source = source.to_owned();
        let end = loop {
            if BuiltIn::named(&source).is_some() {
                break "it starts from fresh weights and was not fine-tuned".to_owned();
            }
            if Published::named(&source).is_some() {
                break format!("it starts from `{source}` and was not fine-tuned");
            }
            let Some(run) = run_of(Utf8Path::new(&source)) else {
                break format!(
                    "`{source}` is no run of `rl sft` or `rl train` that can be found from here"
                );
            };
            if runs.contains(&run) {
                break format!("`{run}` is said to come from itself");
            }
            let settings = settings(&run)?.unwrap_or_default();
            // What a policy imitates of its own episodes was not shown to it.
            let own = settings.get("episodes").and_then(Value::as_array);
            if own.is_none_or(Vec::is_empty) && run.join(FILE).is_file() {
                demonstrations.push(run.clone());
            }
            runs.push(run.clone());
            match settings.get("model").and_then(Value::as_str).map(str::to_owned) {
                Some(model) => source = model,
                None => break format!("the settings of `{run}` name no model to start from"),
            }
        };
        Ok(Self { demonstrations, end })
    }
}

/// The run that a folder is, or that a checkpoint is of.
fn run_of(folder: &Utf8Path) -> Option<Utf8PathBuf> {
    let folder = followed(folder);
    let is_run =
        |folder: &Utf8Path| ["settings.toml", FILE].iter().any(|file| folder.join(file).is_file());
    if is_run(&folder) {
        return Some(folder);
    }
    let checkpoints = folder.parent().filter(|it| it.file_name() == Some("checkpoints"))?;
    checkpoints.parent().filter(|run| is_run(run)).map(Utf8Path::to_owned)
}

/// The settings of a run; `None` if it has not written any.
fn settings(run: &Utf8Path) -> Result<Option<Table>, ReportError> {
    let path = run.join("settings.toml");
    if !path.is_file() {
        return Ok(None);
    }
    let text = fs::read_to_string(&path)?;
    let parsed = text.parse::<Table>();
    parsed.map(Some).map_err(|source| ReportError::Toml { path, source: Box::new(source) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run with these settings, and demonstrations if it is one of `rl sft`.
    fn run(folder: &Utf8Path, model: &str, has_demonstrations: bool) -> String {
        fs::create_dir_all(folder.join("checkpoints/step-000002")).unwrap();
        fs::write(folder.join("settings.toml"), format!("model = \"{model}\"\n")).unwrap();
        if has_demonstrations {
            fs::write(folder.join(FILE), "").unwrap();
        }
        folder.to_string()
    }

    #[test]
    fn demonstrations_are_found_along_a_chain_of_runs() {
        let dir = tempfile::tempdir().unwrap();
        let dir = Utf8Path::from_path(dir.path()).unwrap();
        let first = run(&dir.join("first"), "tiny", true);
        let second = run(&dir.join("second"), &format!("{first}/checkpoints/step-000002/"), true);
        let best = dir.join("second/checkpoints/best");
        fs::os::unix::fs::symlink("step-000002", &best).unwrap();
        let train = run(&dir.join("train"), best.as_str(), false);
        let again = run(&dir.join("again"), &train, false);

        let found = DemonstrationSource::of_run(Utf8Path::new(&again)).unwrap();
        let both = [second.as_str(), first.as_str()].map(Utf8PathBuf::from);
        assert_eq!((found.folders.as_slice(), found.missing.len()), (&both[..], 0));
        assert_eq!(found.read().unwrap(), Some(Vec::new()));

        // A policy's own best episodes, which it imitates, are no demonstrations.
        let best_of = dir.join("best-of");
        run(&best_of, &first, true);
        let own = format!("model = \"{first}\"\nepisodes = [\"{train}\"]\n");
        fs::write(best_of.join("settings.toml"), own).unwrap();
        let found = DemonstrationSource::of_run(&best_of).unwrap();
        assert_eq!(found.folders, [first.as_str()]);

        // Of an evaluation, each once.
        let eval = dir.join("eval");
        fs::create_dir(&eval).unwrap();
        let policies = format!(
            "policies = [[\"random\", \"tiny\"], [\"sft\", \"{first}\"], [\"grpo\", \"{train}/checkpoints/step-000002\"]]\n"
        );
        fs::write(eval.join("settings.toml"), policies).unwrap();
        let found = DemonstrationSource::of_evaluation(&eval).unwrap();
        let both = [first.as_str(), second.as_str()].map(Utf8PathBuf::from);
        assert_eq!((found.folders.as_slice(), found.missing.len()), (&both[..], 0));
    }

    #[test]
    fn what_has_no_demonstrations_says_why() {
        let dir = tempfile::tempdir().unwrap();
        let dir = Utf8Path::from_path(dir.path()).unwrap();
        let reason = |run: &Utf8Path| {
            let found = DemonstrationSource::of_run(run).unwrap();
            assert_eq!((found.folders.len(), found.read().unwrap()), (0, None));
            let [reason] = found.missing.as_slice() else { panic!("{found:?}") };
            assert!(found.sentence().contains("left out"), "{}", found.sentence());
            reason.clone()
        };
        for (model, expected) in [
            ("tiny", "fresh weights"),
            ("small", "fresh weights"),
            ("qwen3-8b", "starts from `qwen3-8b`"),
            ("no/such/run", "`no/such/run` is no run"),
        ] {
            let train = run(&dir.join(model.replace('/', "-")), model, false);
            let found = reason(Utf8Path::new(&train));
            assert!(found.contains(expected), "{found}");
        }
        let round = dir.join("round");
        run(&round, round.as_str(), false);
        assert!(reason(&round).contains("come from itself"), "{}", reason(&round));
        fs::write(round.join("settings.toml"), "steps = 3\n").unwrap();
        assert!(reason(&round).contains("name no model"), "{}", reason(&round));
        fs::write(round.join("settings.toml"), "steps = \n").unwrap();
        let broken = DemonstrationSource::of_run(&round).unwrap_err();
        assert!(matches!(broken, ReportError::Toml { .. }), "{broken}");
        let missing = DemonstrationSource::named(&round).unwrap_err();
        assert!(matches!(missing, ReportError::NoDemonstrations(_)), "{missing}");
        let eval = DemonstrationSource::of_evaluation(&dir.join("eval")).unwrap();
        assert_eq!(eval.missing.len(), 1);
    }
}
