//! One agent working on one task: `reset -> step* -> close`.

mod episode;
mod observation;

pub use episode::{
    Action, Budget, Episode, EpisodeConfig, EpisodeFault, Feedback, Finish, Step, Told,
};
pub use observation::Observation;
