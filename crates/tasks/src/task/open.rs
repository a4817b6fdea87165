//! A task of any kind: its name, its public files, and the source of its grader.

use super::bundle::Bundle;
use super::competition::Competition;
use super::data_source::DataSource;
use super::dir::TaskDir;
use super::dojo::{self, DojoCompetition};
use super::error::TaskError;
use super::id::TaskId;
use super::kind::{self, TaskFolderKind};
use super::manifest::Split;
use super::public::PublicDir;
use crate::thresholds::BeyondGold;
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;

/// Settings for data that a task's folder does not hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Opening {
    /// A checkout of mle-bench, for the leaderboards of its competitions and the names of their
    /// answer files. Default: none; thresholds come from the built-in table.
    pub checkout: Option<Utf8PathBuf>,
    /// A checkout of MLE-Dojo, for the metrics and leaderboards of its competitions. Default: none;
    /// they cannot be opened without.
    pub mledojo: Option<Utf8PathBuf>,
}

/// A task: its public files for the agent, and the means to grade submissions.
#[derive(Debug, Clone)]
pub struct Task {
    id: TaskId,
    public: PublicDir,
    grader_source: GraderSource,
}

/// What a task is graded with.
#[derive(Debug, Clone)]
pub enum GraderSource {
    /// Our own answers, metric and thresholds.
    Ours(Box<TaskDir>),
    /// A competition's answers, its grader and leaderboard.
    Competition(Box<Competition>),
    /// The evaluator script that a bundle brings. It needs a jail.
    Bundle(Bundle),
    /// The metric of a competition of MLE-Dojo, a Python class. It needs a jail.
    Dojo(Box<DojoCompetition>),
}

impl Task {
    /// Opens the task in `path`, of whichever kind it is.
    ///
    /// # Errors
    /// [`TaskError`]: a folder of no kind, or what is wrong with the task in it.
    ///
    /// # Examples
    /// ```rust
    /// use camino::Utf8Path;
    /// use tasks::task::{Opening, Task};
    ///
    /// // A released bundle: data, answers and evaluator in one folder.
    /// let folder = tempfile::tempdir()?;
    /// let path = Utf8Path::from_path(folder.path()).expect("UTF-8").join("crop-yield");
    /// let files = path.join("prepared/public");
    /// std::fs::create_dir_all(&files)?;
    /// for name in ["train.csv", "sample_submission.csv", "answer.csv", "evaluator.py"] {
    ///     std::fs::write(files.join(name), "id,y\n")?;
    /// }
    /// let task = Task::open(&path, &Opening::default())?;
    /// // An agent sees a copy without the answers (and without the sample, which is the same here).
    /// assert_eq!(task.id().as_str(), "crop-yield");
    /// assert!(task.public().withheld().contains(&"answer.csv".into()));
    /// assert!(!task.public().path().join("evaluator.py").exists());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open(path: &Utf8Path, opening: &Opening) -> Result<Self, TaskError> {
        match kind::detect(path)? {
            TaskFolderKind::Ours => Ok(Self::from(&TaskDir::open(path)?)),
            TaskFolderKind::Competition => {
                let competition = Competition::open(path, opening)?;
                let public = PublicDir::plain(path.join(kind::PUBLIC));
                let id = competition.id().clone();
                Ok(Self {
                    id,
                    public,
                    grader_source: GraderSource::Competition(Box::new(competition)),
                })
            }
            TaskFolderKind::Bundle => {
                let bundle = Bundle::open(path)?;
                let (id, public) = (bundle.id().clone(), bundle.shown().clone());
                Ok(Self { id, public, grader_source: GraderSource::Bundle(bundle) })
            }
            TaskFolderKind::Dojo => {
                let competition = DojoCompetition::open(path, opening)?;
                let public = PublicDir::plain(path.join(dojo::PUBLIC));
                let id = competition.id().clone();
                Ok(Self { id, public, grader_source: GraderSource::Dojo(Box::new(competition)) })
            }
        }
    }

    /// Name of the task, unique within a collection.
    pub fn id(&self) -> &TaskId {
        &self.id
    }

    /// All that an agent may see of it.
    pub fn public(&self) -> &PublicDir {
        &self.public
    }

    /// The text of `description.md`, or `description.txt` of MLE-Dojo: the task as the agent reads it.
    ///
    /// # Errors
    /// [`TaskError::Io`] if it is missing or no text.
    pub fn description(&self) -> Result<String, TaskError> {
        let name = match &self.grader_source {
            GraderSource::Dojo(_) => "description.txt",
            GraderSource::Ours(_) | GraderSource::Competition(_) | GraderSource::Bundle(_) => {
                "description.md"
            }
        };
        Ok(fs::read_to_string(self.public.path().join(name))?)
    }

    /// The manifest, which only tasks of our own have.
    pub fn ours(&self) -> Option<&TaskDir> {
        match &self.grader_source {
            GraderSource::Ours(dir) => Some(dir),
            GraderSource::Competition(_) | GraderSource::Bundle(_) | GraderSource::Dojo(_) => None,
        }
    }

    /// The competition of MLE-bench; `None` for tasks of other kinds.
    pub fn competition(&self) -> Option<&Competition> {
        match &self.grader_source {
            GraderSource::Competition(competition) => Some(competition),
            GraderSource::Ours(_) | GraderSource::Bundle(_) | GraderSource::Dojo(_) => None,
        }
    }

    /// The competition of MLE-Dojo; `None` for tasks of other kinds.
    pub fn dojo(&self) -> Option<&DojoCompetition> {
        match &self.grader_source {
            GraderSource::Dojo(competition) => Some(competition),
            GraderSource::Ours(_) | GraderSource::Bundle(_) | GraderSource::Competition(_) => None,
        }
    }

    /// Whether it is a competition of either benchmark: with large files, and graded as a whole.
    pub fn is_competition(&self) -> bool {
        matches!(self.grader_source, GraderSource::Competition(_) | GraderSource::Dojo(_))
    }

    /// Where its data comes from. A competition's is real unless a file says otherwise; that of a
    /// task of our own is what its manifest says.
    pub fn data_source(&self) -> DataSource {
        let stand_in = match &self.grader_source {
            GraderSource::Competition(competition) => competition.stand_in(),
            GraderSource::Dojo(competition) => competition.stand_in(),
            GraderSource::Ours(dir) => return dir.manifest().data_source,
            GraderSource::Bundle(_) => return DataSource::Synthetic,
        };
        stand_in.map_or(DataSource::Real, |_| DataSource::StandIn)
    }

    /// The split that its manifest states; `None` for tasks without a manifest.
    pub fn split(&self) -> Option<Split> {
        self.ours().map(|dir| dir.manifest().split)
    }

    /// BLAKE3 of what agents see of it, 16 hexadecimal digits: the names and the hashes of its public
    /// files, as the manifest has them. Reveals nothing of the answers. `None` for tasks without a
    /// manifest.
    pub fn public_hash(&self) -> Option<String> {
        let manifest = self.ours()?.manifest();
        let mut hasher = blake3::Hasher::new();
        for (file, hash) in &manifest.hashes {
            if file.starts_with("prepared/public/") {
                hasher.update(file.as_bytes()).update(b"\0").update(hash.as_bytes()).update(b"\n");
            }
        }
        Some(hasher.finalize().to_hex()[..16].to_owned())
    }

    /// Whether it is an anchor: a task of our own form, made of real data, that is never trained on.
    pub fn is_anchor(&self) -> bool {
        self.ours().is_some_and(|dir| dir.manifest().is_anchor())
    }

    /// The way from its gold threshold to its ceiling; `None` for tasks without a manifest, whose
    /// ceiling is not known. Not for agents.
    pub fn beyond_gold(&self) -> Option<BeyondGold> {
        let manifest = self.ours()?.manifest();
        let (gold, ceiling) = (manifest.thresholds.gold_threshold, manifest.baselines.ceiling);
        Some(BeyondGold::new(gold, ceiling, manifest.metric.direction()))
    }

    /// What it is graded with. Not for agents.
    pub fn grader_source(&self) -> &GraderSource {
        &self.grader_source
    }

    /// Whether feedback can be given on some test rows and the final grade on the others.
    pub fn takes_parts(&self) -> bool {
        match &self.grader_source {
            GraderSource::Ours(_) | GraderSource::Bundle(_) => true,
            GraderSource::Competition(_) | GraderSource::Dojo(_) => false,
        }
    }
}

impl From<&TaskDir> for Task {
    fn from(dir: &TaskDir) -> Self {
        let grader_source = GraderSource::Ours(Box::new(dir.clone()));
        Self { id: dir.id().clone(), public: dir.public(), grader_source }
    }
}
