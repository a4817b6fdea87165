//! The rules of a competition that is not one of MLE-bench's, in its folder beside `prepared`.

use super::error::TaskError;
use crate::metrics::Metric;
use crate::mlebench::board::Board;
use crate::prediction::Prediction;
use crate::thresholds::Thresholds;
use camino::Utf8Path;
use fs_err as fs;
use serde::{Deserialize, Serialize};
use std::io;

/// What a competition of one's own is graded by, natively: the file `grading.json` in its folder,
/// which agents never see. Its answers are `prepared/private/answers.csv`.
///
/// # Examples
/// ```rust
/// use tasks::metrics::Metric;
/// use tasks::task::CompetitionRules;
///
/// let rules: CompetitionRules = serde_json::from_str(
///     r#"{
///         "metric": "accuracy", "id_column": "flower",
///         "prediction": {"kind": "label", "column": "species", "classes": ["a", "b"]},
///         "thresholds": {"gold_threshold": 0.98, "silver_threshold": 0.96,
///                        "bronze_threshold": 0.94, "median_threshold": 0.9}
///     }"#,
/// )?;
/// assert_eq!(rules.metric, Metric::Accuracy);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CompetitionRules {
    /// The metric of its submissions.
    pub metric: Metric,
    /// The column that identifies rows, in submissions and answers.
    pub id_column: String,
    /// What submissions predict.
    pub prediction: Prediction,
    /// Scores of the medals and the median.
    pub thresholds: Thresholds,
}

impl CompetitionRules {
    /// Name of the file, in the competition's folder.
    pub const FILE: &str = "grading.json";

    /// Reads the file in a competition's folder; `None` if there is none.
    ///
    /// # Errors
    /// [`TaskError::Rules`] for another content, [`TaskError::Io`] if it cannot be read.
    pub(super) fn read(folder: &Utf8Path) -> Result<Option<Self>, TaskError> {
        let path = folder.join(Self::FILE);
        match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map(Some)
                .map_err(|source| TaskError::Rules { path, source }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The thresholds, and which way scores improve.
    pub fn board(&self) -> Board {
        Board { thresholds: self.thresholds, direction: self.metric.direction() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Opening, Task};
    use super::*;
    use crate::grade::{GradeError, NativeGrader};
    use crate::submission::Part;
    use crate::thresholds::Milestone;

    const RULES: &str = r#"{
        "metric": "accuracy", "id_column": "flower",
        "prediction": {"kind": "label", "column": "species", "classes": ["a", "b"]},
        "thresholds": {"gold_threshold": 1.0, "silver_threshold": 0.9, "bronze_threshold": 0.75,
                       "median_threshold": 0.5}
    }"#;

    fn competition(folder: &Utf8Path, id: &str, rules: Option<&str>) -> Result<Task, TaskError> {
        let path = folder.join(id);
        fs::create_dir_all(path.join("prepared/public")).unwrap();
        fs::create_dir_all(path.join("prepared/private")).unwrap();
        let answers = "flower,species\n1,a\n2,b\n3,a\n4,b\n";
        fs::write(path.join("prepared/private/answers.csv"), answers).unwrap();
        if let Some(rules) = rules {
            fs::write(path.join(CompetitionRules::FILE), rules).unwrap();
        }
        Task::open(&path, &Opening::default())
    }

    #[test]
    fn competition_with_rules_is_graded_by_them() {
        let folder = tempfile::tempdir().unwrap();
        let folder = Utf8Path::from_path(folder.path()).unwrap();
        let task = competition(folder, "two-flowers", Some(RULES)).unwrap();
        assert!(task.is_competition() && !task.takes_parts());
        let grader = NativeGrader::of_competition(task.competition().unwrap()).unwrap().unwrap();
        let grade = |csv: &str| grader.grade(csv.as_bytes(), Part::All);
        let found = grade("flower,species\n4,b\n3,b\n2,b\n1,a\n").unwrap();
        assert_eq!((found.score, found.tier), (0.75, Some(Milestone::Bronze)));
        let wrong = grade("flower,species\n1,a\n2,b\n3,c\n4,b\n");
        assert!(matches!(wrong, Err(GradeError::Submission(_))), "{wrong:?}");
    }

    #[test]
    fn rules_are_needed_and_checked_and_not_for_known_competitions() {
        let folder = tempfile::tempdir().unwrap();
        let folder = Utf8Path::from_path(folder.path()).unwrap();
        let none = competition(folder, "no-rules", None).unwrap_err().to_string();
        assert!(none.contains("no-rules"), "{none}");
        for wrong in
            ["{}", &RULES.replace("accuracy", "taste"), &RULES.replace("flower", "x\": 1, \"y")]
        {
            let error = competition(folder, "wrong-rules", Some(wrong)).unwrap_err().to_string();
            assert!(
                error.contains("grading.json` is no rules of a competition: expected"),
                "{error}"
            );
        }
        let known = competition(folder, "leaf-classification", Some(RULES));
        let rules = |task: &Task| task.competition().and_then(|known| known.rules().cloned());
        assert!(known.map_or(true, |task| rules(&task).is_none()));
    }
}
