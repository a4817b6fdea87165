//! Self-contained HTML pages: a run with its tasks, curves and trajectories, agents side by side on
//! a benchmark, and one run with its tree or its turns.

mod leaderboard;
mod page;
mod run_pages;
mod table;
mod tree_page;

pub use leaderboard::{LeaderboardPage, LeaderboardTable};
pub use page::{CardError, Report, ReportSection, TaskCard};
pub use run_pages::RunPages;
pub use table::ReportTable;
pub use tree_page::TreePage;
