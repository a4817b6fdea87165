//! Leaderboards of people, for [`HumanRank`](super::human_rank).

use super::human_rank::{RankBoard, RankBoardError};
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use std::io;
use tasks::metrics::Direction;
use tasks::task::Task;

/// Why leaderboards cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BoardsError {
    /// A file cannot be read.
    #[error("failed to read a leaderboard")]
    Io(#[from] io::Error),
    /// A file is no leaderboard.
    #[error("`{path}` is no leaderboard")]
    Malformed {
        /// The file.
        path: Utf8PathBuf,
        /// What is wrong with it.
        #[source]
        source: RankBoardError,
    },
}

/// The leaderboards of `task`, whose scores improve in `direction`: those of MLE-Dojo, else
/// `ID.csv` in the folder `boards`; none if there is no such file.
///
/// # Errors
/// [`BoardsError`].
pub fn of(
    task: &Task,
    boards: Option<&Utf8Path>,
    direction: Direction,
) -> Result<Vec<RankBoard>, BoardsError> {
    let given = boards.map(|folder| folder.join(format!("{}.csv", task.id())));
    let paths: Vec<Utf8PathBuf> = match task.dojo() {
        Some(competition) => competition.boards().to_vec(),
        None => given.into_iter().filter(|path| path.is_file()).collect(),
    };
    let read = |path: Utf8PathBuf| {
        let bytes = fs::read(&path)?;
        RankBoard::read(&bytes, direction).map_err(|source| BoardsError::Malformed { path, source })
    };
    paths.into_iter().map(read).collect()
}
