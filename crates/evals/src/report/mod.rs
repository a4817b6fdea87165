//! Self-contained HTML pages: a run with its tasks, curves and trajectories, and agents side by
//! side on a benchmark.

mod leaderboard;
mod page;

pub use leaderboard::{LeaderboardPage, LeaderboardTable};
pub use page::{CardError, Report, TaskCard};
