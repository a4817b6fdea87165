//! Worker threads: they own the episodes, run scripts and grade.

use super::EpisodeRequest;
use agents::play::{Conversation, EpisodeKey, Play, Reply, World};
use agents::trajectory::{EpisodeEnding, Omission, Segment, Trajectory};
use sandbox::env::EpisodeFault;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Mutex, PoisonError};

/// What a worker is asked for.
pub(super) enum WorkerRequest<'w> {
    Respond {
        job: usize,
        session: Option<Box<dyn Play + 'w>>,
        text: String,
    },
    Close {
        job: usize,
        session: Option<Box<dyn Play + 'w>>,
        segments: Vec<Segment>,
        omissions: Vec<Omission>,
        ending: EpisodeEnding,
    },
}

/// The answer of a worker to a request.
pub(super) enum WorkerReply<'w> {
    Reply { job: usize, session: Box<dyn Play + 'w>, reply: Reply },
    Closed { job: usize, trajectory: Box<Trajectory> },
    Fault { job: usize, fault: EpisodeFault },
    Panicked { job: usize },
}

impl WorkerReply<'_> {
    pub(super) fn job(&self) -> usize {
        let (Self::Reply { job, .. }
        | Self::Closed { job, .. }
        | Self::Fault { job, .. }
        | Self::Panicked { job }) = self;
        *job
    }
}

/// The environment and jobs that all workers share.
pub(super) struct WorkerContext<'a> {
    pub(super) agent: &'a str,
    pub(super) world: &'a dyn World,
    pub(super) jobs: &'a [EpisodeRequest<'a>],
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
    fn open(
        &self,
        job: usize,
        session: Option<Box<dyn Play + 'w>>,
    ) -> Result<Box<dyn Play + 'w>, EpisodeFault> {
        session.map_or_else(|| self.world.open(self.jobs[job].task), Ok)
    }

    fn serve(&self, request: WorkerRequest<'w>) -> WorkerReply<'w> {
        match request {
            WorkerRequest::Respond { job, session, text } => {
                let reply = self.open(job, session).and_then(|mut session| {
                    let reply = session.respond(&text)?;
                    Ok(WorkerReply::Reply { job, session, reply })
                });
                reply.unwrap_or_else(|fault| WorkerReply::Fault { job, fault })
            }
            WorkerRequest::Close { job, session, segments, omissions, ending } => {
                let EpisodeRequest { task, attempt: number, .. } = self.jobs[job];
                let attempt = EpisodeKey { task, agent: self.agent, number };
                match self.open(job, session).and_then(Play::close) {
                    Ok(closed) => {
                        let conversation = Conversation { segments, omissions, ending };
                        let trajectory = Box::new(closed.trajectory(attempt, conversation));
                        WorkerReply::Closed { job, trajectory }
                    }
                    Err(fault) => WorkerReply::Fault { job, fault },
                }
            }
        }
    }
}
