//! The folder of one task: what an agent may see, and the half that only graders open.

use crate::custom::CustomWorld;
use crate::human_eval::HumanEvalWorld;
use crate::part::Part;
use crate::spec::{SpecError, TaskSpec, TaskWorld};
use crate::world::Environment;
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use tasks::stream::Stream;
use tasks::task::TaskId;

const SPEC: &str = "task.toml";
const DESCRIPTION: &str = "description.md";
pub(crate) const PUBLIC: &str = "public";
pub(crate) const GROUND: &str = "ground.json";
const SEALED: &str = "sealed";
const CANARY: &str = "canary";

/// A task that is to be written.
#[derive(Debug)]
pub(crate) struct NewTask {
    pub(crate) spec: TaskSpec,
    /// The page that an agent reads.
    pub(crate) page: String,
    /// What all items share; `None` if nothing.
    pub(crate) ground: Option<String>,
    /// The lines of each part, an item a line.
    pub(crate) parts: BTreeMap<Part, String>,
}

impl NewTask {
    /// The files of its folder in a suite with this seed, by their paths in the suite.
    pub(crate) fn files(self, seed: u64) -> BTreeMap<Utf8PathBuf, Vec<u8>> {
        let folder = Utf8Path::new(self.spec.id.as_str());
        let canary = canary(&self.spec.id, seed);
        let mut files = BTreeMap::new();
        for (part, lines) in self.parts {
            let (half, text) =
                if part.is_sealed() { (SEALED, canary.clone() + &lines) } else { (PUBLIC, lines) };
            files.insert(folder.join(half).join(format!("{part}.jsonl")), text);
        }
        if let Some(ground) = self.ground {
            files.insert(folder.join(PUBLIC).join(GROUND), ground);
        }
        files.insert(folder.join(SEALED).join(CANARY), canary);
        files.insert(folder.join(SPEC), self.spec.to_toml());
        files.insert(folder.join(DESCRIPTION), self.page);
        files.into_iter().map(|(path, text)| (path, text.into_bytes())).collect()
    }
}

/// A line of JSON that is in every sealed file and nowhere else, so that a copy of a sealed file
/// is found by it.
fn canary(task: &TaskId, seed: u64) -> String {
    let stream = Stream::root(seed).child("worlds").child("canary").child(task.as_str());
    let words: Vec<String> =
        (0..4).map(|index| format!("{:016x}", stream.index(index).seed())).collect();
    format!("{{\"canary\":\"{task} {}\"}}\n", words.join("-"))
}

/// One task on disk.
#[derive(Debug, Clone)]
pub struct TaskFolder {
    path: Utf8PathBuf,
    spec: TaskSpec,
}

/// The sealed half of a task: the only way to its dev and test items. Code that runs on behalf of
/// an agent must never get a value of this type.
#[derive(Debug, Clone)]
pub struct SealedDir {
    task: TaskFolder,
}

/// Why a task's folder could not be used.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// A file could not be read.
    #[error("failed to read the task")]
    Io(#[from] std::io::Error),
    /// Its `task.toml` is wrong.
    #[error("`{path}` is no valid task")]
    Spec {
        /// The file.
        path: Utf8PathBuf,
        /// What is wrong with it.
        #[source]
        source: SpecError,
    },
    /// The folder has no sealed half, as copies for agents have none.
    #[error("`{0}` has no sealed items: grade on the suite, not on a copy for agents")]
    NotSealed(Utf8PathBuf),
    /// A file of items or what they share cannot be read.
    #[error("`{path}` line {line} is not an item of this version; make the suite anew")]
    Line {
        /// The file.
        path: Utf8PathBuf,
        /// Number of the line, from 1.
        line: usize,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
    /// A file has another number of items than its task.
    #[error("`{path}` has {found} items, and its task.toml says {expected}")]
    Count {
        /// The file.
        path: Utf8PathBuf,
        /// Items in it.
        found: usize,
        /// Items that it should have.
        expected: usize,
    },
    /// The items are of another version of the generator.
    #[error(
        "`{path}` is of version {found} of its generator, and this program has {expected}; make the suite anew"
    )]
    Version {
        /// The file.
        path: Utf8PathBuf,
        /// Version in it.
        found: u32,
        /// Version of this program.
        expected: u32,
    },
    /// A sealed file does not begin with the canary of its folder.
    #[error("`{0}` does not begin with the line in `sealed/canary`; make the suite anew")]
    Canary(Utf8PathBuf),
}

impl TaskFolder {
    /// Opens the task in `path`, which may be a copy without its sealed half.
    ///
    /// # Errors
    /// [`FolderError`].
    pub fn open(path: &Utf8Path) -> Result<Self, FolderError> {
        let file = path.join(SPEC);
        let spec = TaskSpec::from_toml(&fs::read_to_string(&file)?);
        let spec = spec.map_err(|source| FolderError::Spec { path: file.clone(), source })?;
        if let crate::spec::Source::Generated { version: found, .. } = spec.source
            && found != spec.world.version()
        {
            let expected = spec.world.version();
            return Err(FolderError::Version { path: file, found, expected });
        }
        Ok(Self { path: path.to_owned(), spec })
    }

    /// The task, from its `task.toml`.
    pub fn spec(&self) -> &TaskSpec {
        &self.spec
    }

    /// The folder that an agent may read.
    pub fn public(&self) -> Utf8PathBuf {
        self.path.join(PUBLIC)
    }

    /// The page that an agent reads.
    ///
    /// # Errors
    /// An I/O error naming the file.
    pub fn description(&self) -> Result<String, FolderError> {
        Ok(fs::read_to_string(self.path.join(DESCRIPTION))?)
    }

    /// The training items.
    ///
    /// # Errors
    /// [`FolderError`].
    pub fn train(&self) -> Result<Box<dyn Environment>, FolderError> {
        let path = self.public().join("train.jsonl");
        let text = fs::read_to_string(&path)?;
        self.read(Part::Train, &path, &text, 0)
    }

    /// The sealed half, for graders.
    ///
    /// # Errors
    /// [`FolderError::NotSealed`] if the folder is a copy for agents.
    pub fn sealed(&self) -> Result<SealedDir, FolderError> {
        let folder = self.path.join(SEALED);
        if !folder.is_dir() {
            return Err(FolderError::NotSealed(self.path.clone()));
        }
        Ok(SealedDir { task: self.clone() })
    }

    /// The items of `lines`, which begin after `skipped` lines of the file `path`.
    fn read(
        &self,
        part: Part,
        path: &Utf8Path,
        lines: &str,
        skipped: usize,
    ) -> Result<Box<dyn Environment>, FolderError> {
        let ground_path = self.public().join(GROUND);
        let ground = match fs::read_to_string(&ground_path) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(error.into()),
        };
        let (spec, ground) = (self.spec.clone(), ground.as_deref());
        let read = match self.spec.world {
            TaskWorld::Generated(world) => world.read(spec, part, ground, lines),
            TaskWorld::Custom => CustomWorld::read(spec, part, ground, lines),
            TaskWorld::HumanEval => HumanEvalWorld::read(spec, part, ground, lines),
        };
        let world = read.map_err(|(line, source)| match line {
            0 => FolderError::Line { path: ground_path, line: 1, source },
            line => FolderError::Line { path: path.to_owned(), line: line + skipped, source },
        })?;
        let (found, expected) = (world.items().len(), self.spec.items.of(part));
        if found != expected {
            return Err(FolderError::Count { path: path.to_owned(), found, expected });
        }
        Ok(world)
    }
}

impl SealedDir {
    /// The items whose scores may be told while a run lasts.
    ///
    /// # Errors
    /// [`FolderError`].
    pub fn dev(&self) -> Result<Box<dyn Environment>, FolderError> {
        self.part(Part::Dev)
    }

    /// The items that are scored once, after the end.
    ///
    /// # Errors
    /// [`FolderError`].
    pub fn test(&self) -> Result<Box<dyn Environment>, FolderError> {
        self.part(Part::Test)
    }

    /// The line that is in every sealed file and in no other.
    ///
    /// # Errors
    /// An I/O error naming the file.
    pub fn canary(&self) -> Result<String, FolderError> {
        Ok(fs::read_to_string(self.path().join(CANARY))?)
    }

    /// The folder itself.
    pub fn path(&self) -> Utf8PathBuf {
        self.task.path.join(SEALED)
    }

    fn part(&self, part: Part) -> Result<Box<dyn Environment>, FolderError> {
        let path = self.path().join(format!("{part}.jsonl"));
        let text = fs::read_to_string(&path)?;
        let canary = self.canary()?;
        let lines = text.strip_prefix(&canary).ok_or_else(|| FolderError::Canary(path.clone()))?;
        self.task.read(part, &path, lines, 1)
    }
}
