//! `HumanRank`: the place of a score among people, as MLE-Dojo counts it.
//!
//! A board of N scores is sorted best first. `p` is the first place whose score the submission
//! meets or beats, N + 1 if there is none. MLE-Dojo's code takes `(N - p + 1) / N`, its paper
//! prints `1 - p / N`, which is 1/N less. Both are written; the one of the code is the headline.

use serde::{Deserialize, Serialize};
use tasks::metrics::Direction;

/// The scores of a leaderboard.
#[derive(Debug, Clone, PartialEq)]
pub struct RankBoard {
    /// Best first; all finite, at least one.
    scores: Vec<f64>,
    direction: Direction,
}

/// Why a file is no leaderboard.
#[derive(Debug, thiserror::Error)]
pub enum RankBoardError {
    /// A placeholder of Git LFS.
    #[error("it is a Git LFS pointer; fetch the file itself with `git lfs pull`")]
    Pointer,
    /// Not a CSV table.
    #[error("it is not a CSV table")]
    Csv(#[from] csv::Error),
    /// A row without a second column.
    #[error("row {row} has no second column; expected `rank,score`")]
    NoScore {
        /// Its number, the header being row 1.
        row: usize,
    },
    /// A score that is none.
    #[error("row {row} has the score `{text}`; expected a finite number")]
    BadScore {
        /// Its number, the header being row 1.
        row: usize,
        /// What stands there.
        text: String,
    },
    /// No rows.
    #[error("it has no rows; a place needs at least one score")]
    Empty,
}

/// The place of one submission, as shares in \[0, 1\]: higher is better.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BoardStanding {
    /// `(N - p + 1) / N`, as MLE-Dojo's code computes it.
    pub coded: f64,
    /// `1 - p / N`, as its paper prints it. Beyond the end of a board that is -1/N; it is written
    /// as 0, since a valid submission is not worse than none.
    pub printed: f64,
}

impl BoardStanding {
    /// That of a submission that is missing or not valid.
    pub const NOTHING: Self = Self { coded: 0.0, printed: 0.0 };

    /// The place of a score, the mean over several boards (public and private). `None` for the
    /// score means that there is no valid submission; a NaN meets and beats nothing. `None` is
    /// returned without boards.
    pub fn among(boards: &[RankBoard], score: Option<f64>) -> Option<Self> {
        if boards.is_empty() {
            return None;
        }
        let Some(score) = score else { return Some(Self::NOTHING) };
        let places: Vec<Self> = boards.iter().map(|board| board.standing(score)).collect();
        Self::mean(&places)
    }

    /// The mean of several; `None` of none.
    pub fn mean(several: &[Self]) -> Option<Self> {
        let count = several.len() as f64;
        (!several.is_empty()).then(|| Self {
            coded: several.iter().map(|standing| standing.coded).sum::<f64>() / count,
            printed: several.iter().map(|standing| standing.printed).sum::<f64>() / count,
        })
    }
}

impl RankBoard {
    /// From the scores of all teams, in any order.
    ///
    /// # Errors
    /// [`RankBoardError::Empty`], and [`RankBoardError::BadScore`] for one that is not finite.
    pub fn from_scores(mut scores: Vec<f64>, direction: Direction) -> Result<Self, RankBoardError> {
        if let Some(row) = scores.iter().position(|score| !score.is_finite()) {
            return Err(RankBoardError::BadScore { row: row + 2, text: scores[row].to_string() });
        }
        if scores.is_empty() {
            return Err(RankBoardError::Empty);
        }
        scores.sort_by(|a, b| direction.gain(*b).total_cmp(&direction.gain(*a)));
        Ok(Self { scores, direction })
    }

    /// From the bytes of a `public_leaderboard.csv` or `private_leaderboard.csv` of MLE-Dojo, of
    /// which the second column is read. Rows with an empty score are left out.
    ///
    /// # Errors
    /// [`RankBoardError`].
    ///
    /// # Examples
    /// ```rust
    /// use evals::bench::human_rank::{RankBoard, BoardStanding};
    /// use tasks::metrics::Direction;
    ///
    /// let csv = b"rank,score\n1,0.9\n2,0.8\n3,0.7\n4,0.6\n";
    /// let board = RankBoard::read(csv, Direction::HigherIsBetter)?;
    /// // 0.75 beats the third of four.
    /// assert_eq!(board.standing(0.75), BoardStanding { coded: 0.5, printed: 0.25 });
    /// # Ok::<(), evals::bench::human_rank::RankBoardError>(())
    /// ```
    pub fn read(bytes: &[u8], direction: Direction) -> Result<Self, RankBoardError> {
        if bytes.starts_with(b"version https://git-lfs") {
            return Err(RankBoardError::Pointer);
        }
        let mut scores = Vec::new();
        let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(bytes);
        for (index, record) in reader.records().enumerate() {
            let (row, record) = (index + 2, record?);
            let text = record.get(1).ok_or(RankBoardError::NoScore { row })?.trim();
            if text.is_empty() {
                continue;
            }
            match text.parse::<f64>() {
                Ok(score) if score.is_finite() => scores.push(score),
                _ => return Err(RankBoardError::BadScore { row, text: text.to_owned() }),
            }
        }
        Self::from_scores(scores, direction)
    }

    /// The first place, from 1, whose score is met or beaten; N + 1 if there is none.
    pub fn place(&self, score: f64) -> usize {
        let met = |theirs: &f64| self.direction.reaches(score, *theirs);
        self.scores.iter().position(met).map_or(self.scores.len() + 1, |index| index + 1)
    }

    /// The place as shares.
    pub fn standing(&self, score: f64) -> BoardStanding {
        let (count, place) = (self.scores.len(), self.place(score));
        let behind = (count + 1 - place) as f64;
        BoardStanding {
            coded: behind / count as f64,
            printed: (behind - 1.0).max(0.0) / count as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Direction::{HigherIsBetter as Higher, LowerIsBetter as Lower};

    /// Boards of the worked cases.
    const FOUR: &[f64] = &[0.9, 0.8, 0.7, 0.6];
    const TIES: &[f64] = &[0.9, 0.8, 0.8, 0.8, 0.5];
    const ERRORS: &[f64] = &[0.1, 0.2, 0.2, 0.4, 0.8];
    const ONE: &[f64] = &[0.5];
    const SHUFFLED: &[f64] = &[3.0, -1.0, 10.0, 0.0, 2.0, 5.0, 1.0, 4.0];

    /// Board, direction, score; place, and both formulas times N.
    type RankCase = (&'static [f64], Direction, f64, usize, f64, f64);

    #[test]
    fn standing_agrees_with_cases_worked_by_hand() {
        let cases: [RankCase; 32] = [
            (FOUR, Higher, 1.0, 1, 4.0, 3.0),
            (FOUR, Higher, 0.9, 1, 4.0, 3.0),
            (FOUR, Higher, 0.89, 2, 3.0, 2.0),
            (FOUR, Higher, 0.8, 2, 3.0, 2.0),
            (FOUR, Higher, 0.75, 3, 2.0, 1.0),
            (FOUR, Higher, 0.7, 3, 2.0, 1.0),
            (FOUR, Higher, 0.6, 4, 1.0, 0.0),
            (FOUR, Higher, 0.59, 5, 0.0, 0.0),
            (FOUR, Higher, f64::NAN, 5, 0.0, 0.0),
            (FOUR, Higher, f64::INFINITY, 1, 4.0, 3.0),
            (FOUR, Higher, f64::NEG_INFINITY, 5, 0.0, 0.0),
            // The same scores where lower is better: sorted the other way.
            (FOUR, Lower, 0.5, 1, 4.0, 3.0),
            (FOUR, Lower, 0.6, 1, 4.0, 3.0),
            (FOUR, Lower, 0.65, 2, 3.0, 2.0),
            (FOUR, Lower, 0.9, 4, 1.0, 0.0),
            (FOUR, Lower, 0.91, 5, 0.0, 0.0),
            // Ties: the first of equals counts.
            (TIES, Higher, 0.8, 2, 4.0, 3.0),
            (TIES, Higher, 0.85, 2, 4.0, 3.0),
            (TIES, Higher, 0.79, 5, 1.0, 0.0),
            (TIES, Higher, 0.5, 5, 1.0, 0.0),
            (TIES, Higher, 0.4, 6, 0.0, 0.0),
            (TIES, Lower, 0.8, 2, 4.0, 3.0),
            (TIES, Lower, 0.81, 5, 1.0, 0.0),
            (ERRORS, Lower, 0.05, 1, 5.0, 4.0),
            (ERRORS, Lower, 0.2, 2, 4.0, 3.0),
            (ERRORS, Lower, 0.3, 4, 2.0, 1.0),
            (ERRORS, Lower, f64::NAN, 6, 0.0, 0.0),
            (ONE, Higher, 0.5, 1, 1.0, 0.0),
            (ONE, Higher, 0.4, 2, 0.0, 0.0),
            (ONE, Lower, 0.4, 1, 1.0, 0.0),
            // In any order: 10 5 4 3 2 1 0 -1.
            (SHUFFLED, Higher, 3.5, 4, 5.0, 4.0),
            (SHUFFLED, Lower, 3.5, 6, 3.0, 2.0),
        ];
        for (scores, direction, score, place, coded, printed) in cases {
            let board = RankBoard::from_scores(scores.to_vec(), direction).unwrap();
            let count = scores.len() as f64;
            let case = format!("{score} on {scores:?}, {direction:?}");
            assert_eq!(board.place(score), place, "{case}");
            let expected = BoardStanding { coded: coded / count, printed: printed / count };
            assert_eq!(board.standing(score), expected, "{case}");
        }
    }

    #[test]
    fn standing_is_the_mean_over_the_boards_there_are() {
        let board = |scores: &[f64]| RankBoard::from_scores(scores.to_vec(), Higher).unwrap();
        let both = [board(FOUR), board(ONE)];
        let expected = BoardStanding { coded: f64::midpoint(0.75, 1.0), printed: 0.25 };
        assert_eq!(BoardStanding::among(&both, Some(0.8)), Some(expected));
        assert_eq!(BoardStanding::among(&both, None), Some(BoardStanding::NOTHING));
        assert_eq!(BoardStanding::among(&[], Some(0.8)), None);
        assert_eq!(BoardStanding::mean(&[]), None);
    }

    #[test]
    fn board_that_is_none_is_refused_with_its_row() {
        let error = |text: &str| RankBoard::read(text.as_bytes(), Higher).unwrap_err().to_string();
        assert!(error("version https://git-lfs.github.com/spec/v1\n").contains("git lfs pull"));
        assert_eq!(error("rank,score\n"), "it has no rows; a place needs at least one score");
        assert_eq!(
            error("rank,score\n1,0.5\n2\n"),
            "row 3 has no second column; expected `rank,score`"
        );
        assert_eq!(
            error("rank,score\n1,best\n"),
            "row 2 has the score `best`; expected a finite number"
        );
        assert!(error("rank,score\n1,NaN\n").contains("`NaN`"));
        let board = RankBoard::read(b"rank,score\n1,0.5\n2,\n3, 0.25\n", Higher).unwrap();
        assert_eq!(board, RankBoard::from_scores(vec![0.25, 0.5], Higher).unwrap());
    }
}
