//! A competition as MLE-Dojo prepares it: `<id>/data/{public,private}`. Its metric is a Python
//! class in a checkout of MLE-Dojo.

use super::data_source::StandIn;
use super::error::TaskError;
use super::id::TaskId;
use super::open::Opening;
use super::public::PublicDir;
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use std::io::Read as _;

/// What an agent sees.
pub(super) const PUBLIC: &str = "data/public";
/// What a grader reads.
const PRIVATE: &str = "data/private";
/// The answers, in the private folder.
pub const DOJO_ANSWERS: &str = "test_answer.csv";
/// The file that makes a folder a competition of MLE-Dojo.
pub(super) const MARK: &str = "data/private/test_answer.csv";
/// Where a checkout keeps its competitions.
const COMPETITIONS: [&str; 2] = ["mledojo/competitions", "competitions"];
/// Leaderboards of people, in the private folder, else in the checkout.
const BOARDS: [&str; 2] = ["private_leaderboard.csv", "public_leaderboard.csv"];
/// What a file begins with that Git LFS has not fetched.
const LFS_POINTER: &[u8] = b"version https://git-lfs.github.com/spec/v1";

/// A competition of MLE-Dojo.
#[derive(Debug, Clone, PartialEq)]
pub struct DojoCompetition {
    id: TaskId,
    folder: Utf8PathBuf,
    metric: Utf8PathBuf,
    boards: Vec<Utf8PathBuf>,
    stand_in: Option<StandIn>,
}

impl DojoCompetition {
    pub(super) fn open(path: &Utf8Path, opening: &Opening) -> Result<Self, TaskError> {
        let folder = path.canonicalize_utf8()?;
        let name = folder.file_name().unwrap_or_default();
        let checkout = opening.mledojo.as_deref();
        let checkout = checkout.ok_or_else(|| TaskError::NoMledojo(folder.clone()))?;
        if !folder.join(PUBLIC).is_dir() {
            return Err(TaskError::Incomplete { path: folder, missing: PUBLIC.to_owned() });
        }
        let mut places = COMPETITIONS.iter().map(|below| checkout.join(below).join(name));
        let theirs = places.find(|place| place.join("utils/metric.py").is_file());
        let theirs = theirs.ok_or_else(|| TaskError::NoMetric {
            checkout: checkout.to_owned(),
            competition: name.to_owned(),
        })?;
        let metric = theirs.join("utils/metric.py");
        let places = [folder.join(PRIVATE), theirs.join("info")];
        let board =
            |name: &&str| places.iter().map(|place| place.join(name)).find(|path| path.is_file());
        let boards: Vec<Utf8PathBuf> = BOARDS.iter().filter_map(board).collect();
        let answers = folder.join(PRIVATE).join(DOJO_ANSWERS);
        for file in boards.iter().chain([&metric, &answers]) {
            if is_pointer(file)? {
                return Err(TaskError::LfsPointer(file.clone()));
            }
        }
        let stand_in = StandIn::read(&folder)?;
        Ok(Self { id: TaskId::from_folder_name(name)?, folder, metric, boards, stand_in })
    }

    /// The task's name, made of the folder's.
    pub fn id(&self) -> &TaskId {
        &self.id
    }

    /// How its data was invented; `None` for real data.
    pub fn stand_in(&self) -> Option<&StandIn> {
        self.stand_in.as_ref()
    }

    /// The Python file that defines the metric.
    pub fn metric(&self) -> &Utf8Path {
        &self.metric
    }

    /// The leaderboards that there are, `rank,score` each.
    pub fn boards(&self) -> &[Utf8PathBuf] {
        &self.boards
    }

    /// The folder with the answers. Only for the box in which the metric is computed.
    pub fn answers(&self) -> PublicDir {
        PublicDir::plain(self.folder.join(PRIVATE))
    }
}

/// Whether Git LFS has a pointer in the place of a file.
fn is_pointer(path: &Utf8Path) -> std::io::Result<bool> {
    let mut start = Vec::new();
    fs::File::open(path)?.take(LFS_POINTER.len() as u64).read_to_end(&mut start)?;
    Ok(start == LFS_POINTER)
}

#[cfg(test)]
mod tests {
    use super::super::open::Task;
    use super::*;

    fn write(path: &Utf8Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn competition_needs_a_checkout_with_its_metric_and_files_that_were_fetched() {
        let folder = tempfile::tempdir().unwrap();
        let root = Utf8Path::from_path(folder.path()).unwrap();
        let (path, checkout) = (root.join("AI4Code"), root.join("checkout"));
        write(&path.join("data/public/description.txt"), "Order the cells.\n");
        write(&path.join(MARK), "id,y\n1,2\n");
        let opening = Opening { mledojo: Some(checkout.clone()), ..Opening::default() };
        let error = Task::open(&path, &Opening::default()).unwrap_err();
        assert!(error.to_string().contains("--mledojo"), "{error}");
        let error = Task::open(&path, &opening).unwrap_err();
        assert!(error.to_string().contains("has no metric of `AI4Code`"), "{error}");
        let theirs = checkout.join("mledojo/competitions/AI4Code");
        write(&theirs.join("utils/metric.py"), "class M: pass\n");
        let board = theirs.join("info/private_leaderboard.csv");
        write(&board, "version https://git-lfs.github.com/spec/v1\noid sha256:1\n");
        let error = Task::open(&path, &opening).unwrap_err();
        assert!(error.to_string().contains("git lfs pull"), "{error}");
        write(&board, "rank,score\n1,0.5\n");
        let task = Task::open(&path, &opening).unwrap();
        assert_eq!(task.id().as_str(), "ai4code");
        assert_eq!(task.description().unwrap(), "Order the cells.\n");
        assert_eq!(task.dojo().unwrap().boards(), [board.canonicalize_utf8().unwrap()]);
        assert!(!task.takes_parts() && task.is_competition());
        assert!(task.public().path().ends_with("data/public"));
    }
}
