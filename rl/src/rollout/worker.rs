//! Worker threads: they own the episodes, run scripts, talk to people, and grade.

use super::EpisodeRequest;
use crate::run::stop::Stop;
use agents::guide::defuse::defused;
use agents::guide::guidance::DeliveredGuidance;
use agents::guide::guided_episode::GuidedEpisode;
use agents::guide::guided_run::Interrupted;
use agents::guide::turn::{End, TurnReport, TurnSummary};
use agents::play::{Conversation, EpisodeKey, Play, Reply, World};
use agents::trajectory::{Trajectory, TurnRecord};
use sandbox::env::EpisodeFault;
use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Mutex, PoisonError};

/// What workers keep of an episode between two requests.
pub(super) struct EpisodeState<'w> {
    /// The episode; `None` before its first turn.
    play: Option<Box<dyn Play + 'w>>,
    /// Its end of the conversation with people, if it is guided.
    pub(super) guide: Option<Box<GuidedEpisode>>,
}

impl EpisodeState<'_> {
    /// One that has taken no turn.
    pub(super) fn new(guide: Option<GuidedEpisode>) -> Self {
        Self { play: None, guide: guide.map(Box::new) }
    }

    /// The turns so far.
    pub(super) fn turns(&self) -> &[TurnRecord] {
        self.play.as_ref().map_or(&[], |play| play.turns())
    }
}

/// What a worker is asked for.
pub(super) enum WorkerRequest<'w> {
    Respond {
        job: usize,
        state: EpisodeState<'w>,
        text: String,
        /// Earlier turns that the policy was not shown when it took this one.
        left_out: Vec<u32>,
        /// Summaries that the policy wrote since the turn before.
        summaries: Vec<TurnSummary>,
    },
    Close {
        job: usize,
        state: EpisodeState<'w>,
        conversation: Conversation,
    },
}

/// The answer of a worker to a request.
pub(super) enum WorkerReply<'w> {
    Reply {
        job: usize,
        state: EpisodeState<'w>,
        reply: Reply,
        /// What people advise, in order.
        guidance: Vec<DeliveredGuidance>,
    },
    Closed {
        job: usize,
        trajectory: Box<Trajectory>,
    },
    Fault {
        job: usize,
        fault: EpisodeFault,
    },
    /// The episode waits for people who do not answer, or the rollout was asked to stop meanwhile.
    Interrupted {
        job: usize,
        why: Interrupted,
    },
    Panicked {
        job: usize,
    },
}

impl WorkerReply<'_> {
    pub(super) fn job(&self) -> usize {
        let (Self::Reply { job, .. }
        | Self::Closed { job, .. }
        | Self::Fault { job, .. }
        | Self::Interrupted { job, .. }
        | Self::Panicked { job }) = self;
        *job
    }
}

/// Why a request came to nothing.
enum Failure {
    Fault(EpisodeFault),
    Interrupted(Interrupted),
}

impl From<EpisodeFault> for Failure {
    fn from(fault: EpisodeFault) -> Self {
        Self::Fault(fault)
    }
}

impl From<Interrupted> for Failure {
    fn from(why: Interrupted) -> Self {
        Self::Interrupted(why)
    }
}

/// The environment and jobs that all workers share.
pub(super) struct WorkerContext<'a> {
    pub(super) agent: &'a str,
    pub(super) world: &'a dyn World,
    pub(super) jobs: &'a [EpisodeRequest<'a>],
    pub(super) stop: &'a Stop,
    /// Whether the rollout has ended, perhaps with an error: nobody waits for people any more.
    pub(super) is_over: &'a AtomicBool,
}

/// Serves requests until their channel is closed.
pub(super) fn work<'w>(
    stage: &WorkerContext<'w>,
    requests: &Mutex<Receiver<WorkerRequest<'w>>>,
    answers: &Sender<WorkerReply<'w>>,
) {
    loop {
        let request = requests.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(request) = request else { return };
        let (WorkerRequest::Respond { job, .. } | WorkerRequest::Close { job, .. }) = request;
        let answer = catch_unwind(AssertUnwindSafe(|| stage.serve(request)));
        // If the receiver is gone, the rollout has failed and reports its own error.
        if answers.send(answer.unwrap_or(WorkerReply::Panicked { job })).is_err() {
            return;
        }
    }
}

impl<'w> WorkerContext<'w> {
    fn serve(&self, request: WorkerRequest<'w>) -> WorkerReply<'w> {
        let (job, reply) = match request {
            WorkerRequest::Respond { job, state, text, left_out, summaries } => {
                (job, self.respond(job, state, &text, (left_out, summaries)))
            }
            WorkerRequest::Close { job, state, conversation } => {
                (job, self.close(job, state, conversation))
            }
        };
        reply.unwrap_or_else(|failure| match failure {
            Failure::Fault(fault) => WorkerReply::Fault { job, fault },
            Failure::Interrupted(why) => WorkerReply::Interrupted { job, why },
        })
    }

    fn is_stopped(&self) -> bool {
        self.stop.is_requested() || self.is_over.load(Ordering::Relaxed)
    }

    fn open(
        &self,
        job: usize,
        play: Option<Box<dyn Play + 'w>>,
    ) -> Result<Box<dyn Play + 'w>, EpisodeFault> {
        play.map_or_else(|| self.world.open(self.jobs[job].task), Ok)
    }

    /// Carries out a turn, and tells it to people.
    fn respond(
        &self,
        job: usize,
        state: EpisodeState<'w>,
        text: &str,
        (left_out, summaries): (Vec<u32>, Vec<TurnSummary>),
    ) -> Result<WorkerReply<'w>, Failure> {
        let mut play = self.open(job, state.play)?;
        let mut reply = play.respond(text)?;
        let (mut guide, mut guidance) = (state.guide, Vec::new());
        if let Some(guide) = &mut guide
            && let Some(record) = play.turns().last()
        {
            let observation = match &mut reply {
                Reply::End(_) => None,
                Reply::Observe(text) => {
                    // Scripts must not speak as a person to a policy that does what a person says.
                    if let Cow::Owned(harmless) = defused(text) {
                        *text = harmless;
                    }
                    Some(text.clone())
                }
            };
            let report = TurnReport {
                summaries,
                ..TurnReport::new(text, observation, record.clone(), left_out)
            };
            guidance = guide.exchange(report, &|| self.is_stopped())?;
        }
        let state = EpisodeState { play: Some(play), guide };
        Ok(WorkerReply::Reply { job, state, reply, guidance })
    }

    /// Grades an episode, and tells people how it ended.
    fn close(
        &self,
        job: usize,
        state: EpisodeState<'w>,
        conversation: Conversation,
    ) -> Result<WorkerReply<'w>, Failure> {
        let EpisodeRequest { task, attempt: number, .. } = self.jobs[job];
        let key = EpisodeKey { task, agent: self.agent, number };
        let closed = self.open(job, state.play)?.close()?;
        let trajectory = Box::new(closed.trajectory(key, conversation));
        if let Some(mut guide) = state.guide {
            let end = End::of(&trajectory, guide.turns());
            guide.finish(&end, &|| self.is_stopped())?;
        }
        Ok(WorkerReply::Closed { job, trajectory })
    }
}
