//! Scenarios: the stories that justify a task's columns and target, by domain.
//!
//! Most are data, in `factory/scenarios/<domain>.toml`, embedded in the program; a chat model can
//! write others, as JSON with the same fields. A table scenario serves binary, graded and numeric
//! targets, or graded ones alone where its rows are the nodes of a network; a series scenario
//! serves forecasting; a scene scenario serves one question about pictures. [`Story::check`] says
//! what is wrong with a story, embedded or written by a model.

mod causes;
mod challenge;
mod check;
mod columns;
mod library;
mod positions;
mod scene;
mod series;
mod story;
mod table;
mod targets;

pub use causes::{Cause, Causes, ColumnRole, Effect, Follows, bearing_on, correlation};
pub use challenge::{ChallengeColumn, ChallengeScenario};
pub use check::StoryError;
pub use columns::{NumberColumn, Shape, WordColumn};
pub use library::{ScenarioError, all, domains};
pub use positions::{ClassStory, Direction, PositionNumber, PositionStory};
pub use scene::SceneScenario;
pub use series::SeriesScenario;
pub use story::{Scenario, Story};
pub use table::{ItemSpec, MapSpec, NetworkSpec, TableScenario};
pub use targets::{BinaryTarget, NumberTarget, RankingTarget};
