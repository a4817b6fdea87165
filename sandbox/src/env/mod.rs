//! Episodes: one agent works on one task, `reset -> step* -> close`; each event is recorded.

mod episode;
mod observation;
mod quota;
mod record;
mod recorded;
mod replay;
mod suite;
mod trial;

pub use episode::{
    Action, Budget, Episode, EpisodeConfig, EpisodeFault, EpisodeResult, Feedback, ScoreFeedback,
    StepResult,
};
pub use observation::Observation;
pub use quota::{RecordQuota, Reservation};
pub use record::{CloseReason, EpisodeRecord, Event, RECORD_VERSION, RecordError, RecordedTurn};
pub use recorded::{Label, Recorded};
pub use replay::{Difference, ReplayError, replay, without_time};
pub use suite::{SuiteError, TaskSuite};
pub use trial::{TrialDir, TrialResult, grade_submission, try_script};
