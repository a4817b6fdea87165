//! One agent working on one task: `reset -> step* -> close`, written down as it happens.

mod episode;
mod ledger;
mod observation;
mod record;
mod recorded;
mod replay;
mod suite;

pub use episode::{
    Action, Budget, Episode, EpisodeConfig, EpisodeFault, EpisodeResult, Feedback, ScoreFeedback,
    Step,
};
pub use ledger::{RecordQuota, Reservation};
pub use observation::Observation;
pub use record::{Ending, Event, RECORD_VERSION, Record, RecordError, Turn};
pub use recorded::{Label, Recorded};
pub use replay::{Difference, ReplayError, replay};
pub use suite::{SuiteError, TaskSuite};
