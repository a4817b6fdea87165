//! Leaderboards: from their scores to the thresholds of medals, and the competitions whose
//! thresholds are known.

use super::frame::{FrameError, PandasFrame};
use crate::metrics::Direction;
use crate::metrics::text::levenshtein;
use crate::thresholds::Thresholds;

/// Competitions in the order of their splits, with what their private leaderboards gave.
const COMPETITIONS: &str = include_str!("competitions.csv");
/// Near names that an unknown one is answered with.
const NEAR_NAMES: usize = 3;
/// Characters of an unknown name that are looked at.
const NAME_LENGTH: usize = 200;

/// The milestones of a leaderboard and the direction of its scores.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Board {
    /// The scores at the medals' positions, and the median.
    pub thresholds: Thresholds,
    /// Which way scores improve.
    pub direction: Direction,
}

/// Why a leaderboard is none.
#[derive(Debug, thiserror::Error)]
pub enum BoardError {
    /// The file is not a CSV table.
    #[error("failed to read the leaderboard")]
    Frame(#[from] FrameError),
    /// A placeholder of Git LFS.
    #[error("it is a Git LFS pointer; fetch the file itself with `git lfs pull`")]
    Pointer,
    /// No scores, or none that are numbers.
    #[error("it has no column `score` of numbers")]
    NoScores,
    /// The leaderboard has no rows.
    #[error("it has no rows")]
    Empty,
}

/// The positions of gold, silver and bronze among `teams`, from 1. At least one team.
pub fn medal_positions(teams: usize) -> [usize; 3] {
    match teams {
        ..100 => [teams / 10, teams / 5, 2 * teams / 5].map(|position| position.max(1)),
        100..250 => [10, teams / 5, 2 * teams / 5],
        250..1000 => [10 + teams / 500, 50, 100],
        _ => [10 + teams / 500, teams / 20, teams / 10],
    }
}

impl Board {
    /// From the scores of all teams, the best first. A lower score is better exactly if the
    /// first is lower than the last.
    ///
    /// # Errors
    /// [`BoardError::Empty`] without scores.
    ///
    /// # Examples
    /// ```rust
    /// use tasks::metrics::Direction;
    /// use tasks::mlebench::board::Board;
    /// use tasks::thresholds::Milestone;
    ///
    /// // Ten teams, the best first: gold for one of them, silver for two, bronze for four.
    /// let scores = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0];
    /// let board = Board::from_scores(&scores)?;
    /// assert_eq!(board.direction, Direction::LowerIsBetter);
    /// assert_eq!(board.thresholds.tier(0.35, board.direction), Some(Milestone::Bronze));
    /// # Ok::<(), tasks::mlebench::board::BoardError>(())
    /// ```
    pub fn from_scores(scores: &[f64]) -> Result<Self, BoardError> {
        let (Some(first), Some(last)) = (scores.first(), scores.last()) else {
            return Err(BoardError::Empty);
        };
        let direction =
            if first < last { Direction::LowerIsBetter } else { Direction::HigherIsBetter };
        let [gold, silver, bronze] = medal_positions(scores.len()).map(|place| scores[place - 1]);
        let thresholds = Thresholds {
            gold_threshold: gold,
            silver_threshold: silver,
            bronze_threshold: bronze,
            median_threshold: median(scores),
        };
        Ok(Self { thresholds, direction })
    }

    /// From the bytes of a `leaderboard.csv`, of which only the column `score` is read.
    ///
    /// # Errors
    /// [`BoardError`] as documented on its variants.
    pub fn read(bytes: &[u8]) -> Result<Self, BoardError> {
        if bytes.starts_with(b"version https://git-lfs") {
            return Err(BoardError::Pointer);
        }
        let frame = PandasFrame::read(bytes)?;
        let scores = frame.column("score").and_then(super::column::PandasColumn::numbers);
        Self::from_scores(&scores.ok_or(BoardError::NoScores)?)
    }
}

/// The middle score, or the mean of the two in the middle; NaN where all are missing.
fn median(scores: &[f64]) -> f64 {
    let mut scores: Vec<f64> = scores.iter().copied().filter(|score| !score.is_nan()).collect();
    scores.sort_by(f64::total_cmp);
    let middle = scores.len() / 2;
    match scores.get(middle) {
        None => f64::NAN,
        Some(score) if scores.len() % 2 == 1 => *score,
        Some(score) => f64::midpoint(scores[middle - 1], *score),
    }
}

/// A competition of MLE-bench.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CompetitionInfo {
    /// Name of the competition, as in MLE-bench.
    pub id: &'static str,
    /// `low`, `medium`, `high` or `dev`.
    pub split: &'static str,
    /// Its leaderboard; `None` if there is no public one.
    pub board: Option<Board>,
    /// Name of its answer file in the private half; `None` but for the 22 of low complexity.
    pub answers: Option<&'static str>,
}

/// All competitions of MLE-bench, split by split.
pub fn competitions() -> impl Iterator<Item = CompetitionInfo> {
    COMPETITIONS.lines().skip(1).filter_map(competition_of_line)
}

/// `competition,split,teams,better,gold,silver,bronze,median,answers`, empty where unknown.
fn competition_of_line(line: &'static str) -> Option<CompetitionInfo> {
    let fields: Vec<&str> = line.split(',').collect();
    let [id, split, _teams, better, gold, silver, bronze, median, answers] =
        fields.try_into().ok()?;
    let direction = match better {
        "lower" => Direction::LowerIsBetter,
        "higher" => Direction::HigherIsBetter,
        _ => return None,
    };
    let board = || {
        let thresholds = Thresholds {
            gold_threshold: gold.parse().ok()?,
            silver_threshold: silver.parse().ok()?,
            bronze_threshold: bronze.parse().ok()?,
            median_threshold: median.parse().ok()?,
        };
        Some(Board { thresholds, direction })
    };
    let answers = Some(answers).filter(|name| !name.is_empty());
    Some(CompetitionInfo { id, split, board: board(), answers })
}

/// The competition of a name.
pub fn competition(id: &str) -> Option<CompetitionInfo> {
    competitions().find(|competition| competition.id == id)
}

/// The names that are nearest to one that is none.
///
/// # Examples
/// ```rust
/// use tasks::mlebench::board::near_names;
///
/// assert!(near_names("leaf-clasification").contains(&"leaf-classification"));
/// ```
pub fn near_names(id: &str) -> Vec<&'static str> {
    // Distances take the product of both lengths.
    let end = id.char_indices().nth(NAME_LENGTH).map_or(id.len(), |(end, _)| end);
    let id = &id[..end];
    let mut names: Vec<&'static str> = competitions().map(|competition| competition.id).collect();
    // A name typed in part counts as near.
    let distance = |name: &str| {
        let part = !id.is_empty() && name.to_lowercase().contains(&id.to_lowercase());
        (!part, levenshtein(name, id))
    };
    names.sort_by_cached_key(|name| distance(name));
    names.truncate(NEAR_NAMES);
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Medal positions and medians on boards 1, 2, ..., n, as the original gave them.
    const POSITIONS: [(u32, [f64; 4]); 15] = [
        (1, [1.0, 1.0, 1.0, 1.0]),
        (2, [1.0, 1.0, 1.0, 1.5]),
        (9, [1.0, 1.0, 3.0, 5.0]),
        (10, [1.0, 2.0, 4.0, 5.5]),
        (19, [1.0, 3.0, 7.0, 10.0]),
        (50, [5.0, 10.0, 20.0, 25.5]),
        (99, [9.0, 19.0, 39.0, 50.0]),
        (100, [10.0, 20.0, 40.0, 50.5]),
        (249, [10.0, 49.0, 99.0, 125.0]),
        (250, [10.0, 50.0, 100.0, 125.5]),
        (500, [11.0, 50.0, 100.0, 250.5]),
        (999, [11.0, 50.0, 100.0, 500.0]),
        (1000, [12.0, 50.0, 100.0, 500.5]),
        (1499, [12.0, 74.0, 149.0, 750.0]),
        (4539, [19.0, 226.0, 453.0, 2270.0]),
    ];

    #[test]
    fn medals_are_where_the_original_puts_them() {
        for (teams, expected) in POSITIONS {
            let scores: Vec<f64> = (1..=teams).map(f64::from).collect();
            let Board { thresholds, direction } = Board::from_scores(&scores).unwrap();
            let found = thresholds.ascending().map(|(_, threshold)| threshold);
            let [gold, silver, bronze, median] = expected;
            assert_eq!(found, [median, bronze, silver, gold], "{teams}");
            // Equal ends mean that higher is better.
            assert_eq!(direction == Direction::LowerIsBetter, teams > 1);
        }
        assert!(matches!(Board::from_scores(&[]), Err(BoardError::Empty)));
    }

    #[test]
    fn every_line_of_the_table_is_read() {
        assert_eq!(competitions().count(), COMPETITIONS.lines().count() - 1);
        let of_split = |split| competitions().filter(|other| other.split == split).count();
        assert_eq!(["low", "medium", "high", "dev"].map(of_split), [22, 38, 15, 7]);
        let unknown: Vec<&str> =
            competitions().filter(|other| other.board.is_none()).map(|other| other.id).collect();
        assert_eq!(unknown, ["ventilator-pressure-prediction"]);
        let graded = |other: &CompetitionInfo| other.answers.is_some();
        let splits: Vec<&str> = competitions().filter(graded).map(|other| other.split).collect();
        assert_eq!(splits, ["low"; 22]);
    }

    #[test]
    fn thresholds_stand_in_the_order_of_their_direction() {
        for CompetitionInfo { id, board, .. } in competitions() {
            let Some(Board { thresholds, direction }) = board else { continue };
            let scores = thresholds.ascending().map(|(_, threshold)| threshold);
            // Boards are monotone, so that a later position is never better; gold, silver and
            // bronze lie in the better half.
            assert!(scores.is_sorted_by(|a, b| direction.reaches(*b, *a)), "{id}");
        }
    }

    #[test]
    fn boards_are_read_and_pointers_refused() {
        let board = Board::read(b"teamId,score,x\n1,0.25,\n2,0.5,\n").unwrap();
        assert_eq!(board.direction, Direction::LowerIsBetter);
        assert_eq!(board.thresholds.median_threshold, 0.375);
        let pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n";
        assert!(matches!(Board::read(pointer), Err(BoardError::Pointer)));
        assert!(matches!(Board::read(b"a\n1\n"), Err(BoardError::NoScores)));
        assert!(matches!(Board::read(b"score\n"), Err(BoardError::Empty)));
    }

    #[test]
    fn near_names_begin_with_the_nearest() {
        assert_eq!(near_names("aerial-cactus-identifikation")[0], "aerial-cactus-identification");
        assert_eq!(near_names("spooky")[0], "spooky-author-identification");
    }
}
