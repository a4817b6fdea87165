//! The thread that owns the model: it admits conversations to the engine, and hands their turns to
//! the workers.

use super::conversation::{AskedSummary, LaidOutReply, RolloutConversation};
use super::error::RolloutError;
use super::guided::RolloutGuide;
use super::result::{Rollout, RolloutResult};
use super::settings::{ContextOverflow, RolloutSettings};
use super::unsigned;
use super::worker::{EpisodeState, WorkerContext, WorkerReply, WorkerRequest, work};
use crate::generate::engine::{TurnEnd, TurnOptions};
use crate::generate::{ConversationId, Generated, Generator};
use crate::run::stop::Stop;
use crate::run::watchdog::{Heartbeat, Phase};
use crate::text::template::ChatTemplate;
use crate::text::tokenizer::Tokenizer;
use agents::guide::guidance::DeliveredGuidance;
use agents::guide::guided_run::Interrupted;
use agents::guide::ids::ConversationId as GuideConversation;
use agents::play::{Conversation, Reply, World};
use agents::summary::{REQUEST, summarised_prompt};
use agents::trajectory::{EpisodeEnding, Omission, Segment, Source, TrajectoryError};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;
use tasks::stream::Stream;
use tasks::task::TaskId;

/// The policy of a rollout.
#[derive(Debug, Clone, Copy)]
pub struct Policy<'a> {
    /// Its name in trajectories.
    pub name: &'a str,
    /// The tokenizer of the policy.
    pub tokenizer: &'a Tokenizer,
}

/// The environment, settings, stop request and heartbeat that all episodes of a rollout share.
#[derive(Debug, Clone, Copy)]
pub struct RolloutContext<'a> {
    /// The environment in which episodes are opened.
    pub world: &'a dyn World,
    /// How episodes are generated.
    pub settings: &'a RolloutSettings,
    /// People who may advise the episodes; `None` for unguided ones.
    pub guide: Option<RolloutGuide<'a>>,
    /// A request to stop ends the rollout.
    pub stop: &'a Stop,
    /// Is notified of progress and of scripts that are waited for.
    pub heartbeat: &'a Heartbeat,
}

/// One episode to play.
#[derive(Debug, Clone, Copy)]
pub struct EpisodeRequest<'a> {
    /// The item of the environment.
    pub task: &'a TaskId,
    /// Which attempt of the policy at it.
    pub attempt: u64,
    /// The random stream of its draws; each turn has a child stream of its own.
    pub stream: Stream,
}

/// Sets the number of libtorch threads until this value is dropped.
#[derive(Debug)]
struct Threads {
    before: i32,
}

impl Threads {
    fn lend(count: usize) -> Self {
        let before = tch::get_num_threads();
        tch::set_num_threads(i32::try_from(count.max(1)).unwrap_or(before));
        Self { before }
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        tch::set_num_threads(self.before);
    }
}

/// Plays all `jobs` with turns from `generator`, and returns the outcome of each, in their order.
/// `ended` is shown each as soon as it is over, in no certain order; if it cannot store one, the
/// rollout ends.
///
/// # Errors
/// [`RolloutError`]; faults of single episodes are not errors.
pub fn rollout(
    generator: &mut dyn Generator,
    policy: Policy<'_>,
    shared: RolloutContext<'_>,
    jobs: &[EpisodeRequest<'_>],
    ended: &mut dyn FnMut(&RolloutResult) -> Result<(), TrajectoryError>,
) -> Result<Rollout, RolloutError> {
    let RolloutContext { world, settings, guide, stop, .. } = shared;
    let is_over = AtomicBool::new(false);
    let (to_workers, requests) = channel::<WorkerRequest<'_>>();
    let (to_engine, answers) = channel::<WorkerReply<'_>>();
    let requests = Mutex::new(requests);
    std::thread::scope(|scope| {
        for _ in 0..settings.waiting_threads(guide.is_some()).clamp(1, jobs.len().max(1)) {
            let (requests, to_engine, is_over) = (&requests, to_engine.clone(), &is_over);
            scope.spawn(move || {
                let stage = WorkerContext { agent: policy.name, world, jobs, stop, is_over };
                work(&stage, requests, &to_engine);
            });
        }
        drop(to_engine);
        // The sender goes with this call, which lets the workers end whatever happens in it.
        let _threads = Threads::lend(settings.threads);
        let driver = RolloutDriver::new(generator, policy, shared, jobs)?;
        let played = driver.run(to_workers, &answers, ended);
        is_over.store(true, Ordering::Relaxed);
        let cache = generator.finish();
        let (played, conversations) = played?;
        Ok(Rollout { played, conversations, cache: cache? })
    })
}

/// The state of a rollout: which conversation is open, generating or waiting for a script.
struct RolloutDriver<'a, 'g> {
    policy: Policy<'a>,
    template: ChatTemplate<&'a Tokenizer>,
    shared: RolloutContext<'a>,
    jobs: &'a [EpisodeRequest<'a>],
    generator: &'g mut dyn Generator,
    /// The version of the weights that all turns are to be sampled with.
    version: u64,
    /// How many conversations may be open at a time.
    places: usize,
    conversations: Vec<RolloutConversation>,
    /// Conversations whose turn is under way.
    generating: BTreeSet<usize>,
    /// Episodes that no worker has, from their admission on.
    states: BTreeMap<usize, EpisodeState<'a>>,
    /// Of guided and summarised episodes: the tokens that invite to a turn.
    invitation: Vec<i64>,
    /// Of summarised episodes: the tokens that ask for a summary.
    request: Vec<i64>,
    /// How many requests are not answered yet.
    asked: usize,
    played: Vec<Option<RolloutResult>>,
}

impl<'a, 'g> RolloutDriver<'a, 'g> {
    fn new(
        generator: &'g mut dyn Generator,
        policy: Policy<'a>,
        shared: RolloutContext<'a>,
        jobs: &'a [EpisodeRequest<'a>],
    ) -> Result<Self, RolloutError> {
        let template = ChatTemplate::new(policy.tokenizer)?;
        let is_guided = shared.guide.is_some();
        let (mut invitation, mut request) = (Vec::new(), Vec::new());
        let summarises = shared.settings.context_overflow == ContextOverflow::Summarise;
        if is_guided || summarises {
            template.check_advice()?;
            invitation = template.invitation()?;
        }
        if summarises {
            request = template.request(REQUEST)?;
        }
        let conversation = |job: &EpisodeRequest<'_>| {
            let prompt = shared
                .world
                .prompt(job.task)
                .map_err(|source| RolloutError::Prompt { task: job.task.clone(), source })?;
            let prompt = if is_guided { RolloutGuide::prompt(prompt) } else { prompt };
            let ids = template.prompt(&prompt.system, &prompt.user)?;
            Ok::<_, RolloutError>(RolloutConversation {
                prompt,
                ids,
                segments: Vec::new(),
                omissions: Vec::new(),
                summaries: Vec::new(),
                shown_from: 0,
                asked: None,
                guidance: is_guided.then(Vec::new),
                guide: None,
                contexts: Vec::new(),
                is_open: false,
                turns: 0,
                sampled_tokens: 0,
                began: None,
            })
        };
        let conversations = jobs.iter().map(conversation).collect::<Result<_, _>>()?;
        let places = generator.begin(jobs.len())?;
        Ok(Self {
            policy,
            template,
            shared,
            jobs,
            version: generator.version(),
            generator,
            places,
            conversations,
            generating: BTreeSet::new(),
            states: BTreeMap::new(),
            invitation,
            request,
            asked: 0,
            played: jobs.iter().map(|_| None).collect(),
        })
    }

    #[expect(
        clippy::needless_pass_by_value,
        reason = "dropping the sender tells the workers to end"
    )]
    fn run(
        mut self,
        workers: Sender<WorkerRequest<'a>>,
        answers: &Receiver<WorkerReply<'a>>,
        ended: &mut dyn FnMut(&RolloutResult) -> Result<(), TrajectoryError>,
    ) -> Result<(Vec<RolloutResult>, Vec<Option<GuideConversation>>), RolloutError> {
        let RolloutContext { stop, heartbeat, .. } = self.shared;
        let (mut next, mut left) = (0, self.jobs.len());
        heartbeat.has_all();
        while left > 0 {
            if stop.is_requested() {
                return Err(RolloutError::Stopped);
            }
            while next < self.jobs.len() && self.open() < self.places {
                self.admit(next)?;
                next += 1;
            }
            for answer in self.arrived(answers) {
                if let Some(played) = self.receive(answer, &workers)? {
                    left -= 1;
                    ended(played)?;
                }
            }
            if !self.generating.is_empty() {
                for finished in self.generator.poll(heartbeat)? {
                    self.turn_ended(finished, &workers)?;
                }
                self.end_late(&workers)?;
            }
        }
        // Episodes that broke because the sandbox was stopped are no faults.
        if stop.is_requested() {
            return Err(RolloutError::Stopped);
        }
        let conversations = self.conversations.into_iter().map(|of_job| of_job.guide).collect();
        Ok((self.played.into_iter().flatten().collect(), conversations))
    }

    /// How many conversations are open.
    fn open(&self) -> usize {
        self.conversations.iter().filter(|conversation| conversation.is_open).count()
    }

    /// What the environment has answered. Waits only when there is nothing to generate: for one
    /// answer, or in lockstep for all of them.
    fn arrived(&mut self, answers: &Receiver<WorkerReply<'a>>) -> Vec<WorkerReply<'a>> {
        let lockstep = self.shared.settings.deterministic;
        let wanted = match (self.generating.is_empty(), lockstep) {
            (true, true) => self.asked,
            (true, false) => 1,
            (false, _) => 0,
        };
        if wanted > 0 {
            self.shared.heartbeat.enter(Phase::Waiting);
        }
        let mut arrived: Vec<WorkerReply<'a>> = answers.iter().take(wanted).collect();
        if lockstep {
            arrived.sort_by_key(WorkerReply::job);
        } else {
            arrived.extend(answers.try_iter());
        }
        self.asked -= arrived.len();
        arrived
    }

    fn turn(&self, job: usize) -> TurnOptions {
        let stream = self.jobs[job].stream.child("turn").index(self.conversations[job].turns);
        let RolloutSettings { sampling, turn_tokens, .. } = *self.shared.settings;
        let max_tokens = turn_tokens.min(self.tokens_left(job));
        TurnOptions { sampling, stream, max_tokens, ignore_eos: false }
    }

    /// The number of tokens that the policy may still sample.
    fn tokens_left(&self, job: usize) -> usize {
        match self.shared.settings.trajectory_tokens {
            0 => usize::MAX,
            most => most.saturating_sub(self.conversations[job].sampled_tokens),
        }
    }

    /// Ends conversations whose wall time is over while they generate: the episode itself looks at
    /// the clock only when there is an action. Time in which a conversation waited for its first
    /// token does not count.
    fn end_late(&mut self, workers: &Sender<WorkerRequest<'a>>) -> Result<(), RolloutError> {
        let limit = self.shared.world.wall_limit();
        let mut late = Vec::new();
        for &job in &self.generating {
            let (ids, log_probs) = self.generator.partial_turn(id_of(job))?;
            let began = &mut self.conversations[job].began;
            if began.is_none() && !ids.is_empty() {
                *began = Some(Instant::now());
            }
            if began.is_some_and(|began| began.elapsed() >= limit) {
                late.push((job, ids.to_vec(), log_probs.to_vec()));
            }
        }
        for (job, ids, log_probs) in late {
            // Part of a summary is none.
            if !ids.is_empty() && self.conversations[job].asked.is_none() {
                let text = self.policy.tokenizer.decode(&ids)?;
                self.record_turn(job, text, &ids, log_probs);
            }
            self.end(job, EpisodeEnding::Budget, workers)?;
        }
        Ok(())
    }

    /// Appends sampled tokens to the conversation, as a segment.
    fn record_turn(&mut self, job: usize, text: String, ids: &[i64], log_probs: Vec<f32>) {
        let conversation = &mut self.conversations[job];
        conversation.began.get_or_insert_with(Instant::now);
        conversation.turns += 1;
        conversation.sampled_tokens += ids.len();
        let (source, ids) = (Source::Model, unsigned(ids));
        conversation.segments.push(Segment { source, text, ids, log_probs });
    }

    fn admit(&mut self, job: usize) -> Result<(), RolloutError> {
        let turn = self.turn(job);
        let conversation = &mut self.conversations[job];
        let limit = self.shared.world.wall_limit();
        let guide = self.shared.guide.map(|guide| {
            guide.episode(&self.jobs[job], self.policy.name, &conversation.prompt, limit)
        });
        let guide = guide.transpose().map_err(RolloutError::Name)?.flatten();
        conversation.guide = guide.as_ref().map(|guide| guide.id().clone());
        self.states.insert(job, EpisodeState::new(guide));
        self.generator
            .start(id_of(job), &conversation.ids, turn)
            .map_err(|source| RolloutError::Admit { task: self.jobs[job].task.clone(), source })?;
        let segment = |text: &str, ids: &[i64]| Segment {
            ids: unsigned(ids),
            ..Segment::text(Source::Prompt, text)
        };
        // The layout belongs to both messages together, so the ids stand with the second.
        conversation.segments.push(segment(&conversation.prompt.system, &[]));
        conversation.segments.push(segment(&conversation.prompt.user, &conversation.ids));
        conversation.is_open = true;
        self.generating.insert(job);
        Ok(())
    }

    /// Handles a turn that has ended: passes it to the environment, or ends the episode if tokens ran
    /// out.
    fn turn_ended(
        &mut self,
        finished: Generated,
        workers: &Sender<WorkerRequest<'a>>,
    ) -> Result<(), RolloutError> {
        let (expected, found) = (self.version, finished.version);
        if found != expected {
            return Err(RolloutError::Version { expected, found });
        }
        let job = usize::try_from(finished.conversation.0).expect("ids of conversations are jobs");
        self.generating.remove(&job);
        let closed = finished.ending == TurnEnd::EndOfTurn;
        let content = finished.ids.len() - usize::from(closed);
        let text = self.policy.tokenizer.decode(&finished.ids[..content])?;
        if self.conversations[job].asked.is_some() {
            return self.summary_ended(job, text, &finished.ids, finished.log_probs, workers);
        }
        self.record_turn(job, text.clone(), &finished.ids, finished.log_probs);
        if closed {
            let state = self.state(job);
            let conversation = &self.conversations[job];
            let (left_out, summaries) = (conversation.left_out(), conversation.told_summaries());
            self.shared.heartbeat.waits_for(job, "script", self.jobs[job].task.as_str());
            self.ask(workers, WorkerRequest::Respond { job, state, text, left_out, summaries });
        } else {
            self.end(job, EpisodeEnding::Tokens, workers)?;
        }
        Ok(())
    }

    /// Processes the answer of a worker. Returns the result of the episode if it has ended.
    fn receive(
        &mut self,
        answer: WorkerReply<'a>,
        workers: &Sender<WorkerRequest<'a>>,
    ) -> Result<Option<&RolloutResult>, RolloutError> {
        self.shared.heartbeat.has(answer.job());
        match answer {
            WorkerReply::Reply { job, state, reply, guidance } => {
                self.states.insert(job, state);
                match reply {
                    Reply::End(ending) => self.end(job, ending, workers)?,
                    Reply::Observe(text) => self.observe(job, text, guidance, workers)?,
                }
                Ok(None)
            }
            WorkerReply::Interrupted { why: Interrupted::Stopped, .. } => {
                Err(RolloutError::Stopped)
            }
            WorkerReply::Interrupted { job, why } => {
                Err(RolloutError::Guide { task: self.jobs[job].task.clone(), source: why })
            }
            WorkerReply::Closed { job, trajectory } => {
                let contexts = std::mem::take(&mut self.conversations[job].contexts);
                let played = RolloutResult::Finished { trajectory, contexts };
                Ok(Some(self.played[job].insert(played)))
            }
            WorkerReply::Fault { job, fault } => {
                if std::mem::take(&mut self.conversations[job].is_open) {
                    self.generating.remove(&job);
                    self.generator.end(id_of(job))?;
                }
                let played = RolloutResult::Fault { task: self.jobs[job].task.clone(), fault };
                Ok(Some(self.played[job].insert(played)))
            }
            WorkerReply::Panicked { job } => Err(RolloutError::Worker(self.jobs[job].task.clone())),
        }
    }

    /// Lays out the answer to a turn, and what people advise, and goes on.
    fn observe(
        &mut self,
        job: usize,
        text: String,
        advice: Vec<DeliveredGuidance>,
        workers: &Sender<WorkerRequest<'a>>,
    ) -> Result<(), RolloutError> {
        let read: Vec<String> = advice.iter().map(DeliveredGuidance::advice).collect();
        let (ids, of_advice) = if advice.is_empty() {
            (self.template.observation(&text)?, Vec::new())
        } else {
            self.template.advised_observation(&text, &read)?
        };
        let conversation = &mut self.conversations[job];
        let from = conversation.segments.len();
        let segment = |source, text: String, ids: &[i64]| Segment {
            ids: unsigned(ids),
            ..Segment::text(source, text)
        };
        conversation.segments.push(segment(Source::Environment, text, &ids));
        for (read, ids) in read.into_iter().zip(&of_advice) {
            conversation.segments.push(segment(Source::Guide, read, ids));
        }
        self.go_on(job, LaidOutReply { from, advice }, workers)
    }

    /// Starts the next turn after a reply; or ends the episode if there is no room for that. Where the
    /// conversation is to be summarised then, starts the summary instead.
    fn go_on(
        &mut self,
        job: usize,
        mut reply: LaidOutReply,
        workers: &Sender<WorkerRequest<'a>>,
    ) -> Result<(), RolloutError> {
        let capacity = self.generator.capacity();
        let room = capacity.saturating_sub(self.shared.settings.turn_room());
        let has_tokens = self.tokens_left(job) > 0;
        let conversation = &self.conversations[job];
        let mut tokens = conversation.seen_tokens();
        let mut omitted = Vec::new();
        match self.shared.settings.context_overflow {
            ContextOverflow::Evict => {
                let records = self.states.get(&job).map_or(&[][..], EpisodeState::turns);
                omitted = conversation.surplus(records, room);
                tokens -= conversation.tokens(&omitted);
            }
            ContextOverflow::Summarise if tokens > room && has_tokens => {
                match conversation.summary_question(&self.request, &self.invitation, reply) {
                    Ok(asked) if asked.prompt.len() < capacity => {
                        return self.ask_for_summary(job, asked);
                    }
                    Ok(asked) => reply = asked.reply,
                    Err(single) => reply = single,
                }
            }
            ContextOverflow::End | ContextOverflow::Summarise => {}
        }
        if !has_tokens || tokens >= capacity {
            // There is no room for the reply: the conversation is as long as it can be, and the
            // reply no part of it. Advice that came with it is late.
            self.conversations[job].take_back(&reply);
            return self.end(job, EpisodeEnding::Tokens, workers);
        }
        let turn = self.turn(job);
        let conversation = &mut self.conversations[job];
        let LaidOutReply { from, advice } = reply;
        if let Some(guidance) = &mut conversation.guidance {
            guidance.extend((from + 1..).zip(&advice).map(|(place, piece)| piece.heard_in(place)));
        }
        if let Some(guide) = self.states.get_mut(&job).and_then(|state| state.guide.as_mut()) {
            guide.wrote_down(&advice);
        }
        if !omitted.is_empty() {
            let before = conversation.segments.len();
            conversation.omissions.push(Omission { before, segments: omitted });
        }
        let ids = conversation.seen_ids(&self.invitation);
        self.generator.start(id_of(job), &ids, turn)?;
        conversation.is_open = true;
        self.generating.insert(job);
        Ok(())
    }

    /// Has the policy write a summary, in a conversation beside the episode's.
    fn ask_for_summary(&mut self, job: usize, asked: AskedSummary) -> Result<(), RolloutError> {
        let turn = self.turn(job);
        let conversation = &mut self.conversations[job];
        let number = conversation.summaries.len() as u64;
        let stream = self.jobs[job].stream.child("summary").index(number);
        if conversation.is_open {
            conversation.contexts.push(self.generator.end(id_of(job))?);
        }
        self.generator.start(id_of(job), &asked.prompt, TurnOptions { stream, ..turn })?;
        conversation.is_open = true;
        conversation.asked = Some(asked);
        self.generating.insert(job);
        Ok(())
    }

    /// Goes on with a summary, whole or as far as it came, in the place of the turns that it is of.
    fn summary_ended(
        &mut self,
        job: usize,
        text: String,
        ids: &[i64],
        log_probs: Vec<f32>,
        workers: &Sender<WorkerRequest<'a>>,
    ) -> Result<(), RolloutError> {
        let conversation = &mut self.conversations[job];
        conversation.contexts.push(self.generator.end(id_of(job))?);
        conversation.is_open = false;
        let prompt = &conversation.prompt;
        let user = summarised_prompt(&prompt.user, &text);
        let prompt = self.template.prompt(&prompt.system, &user)?;
        let asked = conversation.asked.take().expect("only who was asked writes a summary");
        let written = (text, ids, log_probs);
        let reply = conversation.take_summary(asked, written, &prompt, &self.invitation);
        self.go_on(job, reply, workers)
    }

    /// Takes an episode, to hand it to a worker.
    fn state(&mut self, job: usize) -> EpisodeState<'a> {
        self.states
            .remove(&job)
            .expect("an open episode is here or with a worker, which asks nothing")
    }

    fn end(
        &mut self,
        job: usize,
        ending: EpisodeEnding,
        workers: &Sender<WorkerRequest<'a>>,
    ) -> Result<(), RolloutError> {
        let conversation = &mut self.conversations[job];
        if std::mem::take(&mut conversation.is_open) {
            let context = self.generator.end(id_of(job))?;
            match conversation.asked.take() {
                // What it was to make room for is no part of the conversation, nor is what is there of it.
                Some(asked) => conversation.take_back(&asked.reply),
                None if conversation.has_turn_since_summary() => {
                    conversation.contexts.push(context);
                }
                None => {}
            }
        }
        self.generating.remove(&job);
        let segments = std::mem::take(&mut conversation.segments);
        let omissions = std::mem::take(&mut conversation.omissions);
        let summaries = std::mem::take(&mut conversation.summaries);
        let guidance = conversation.guidance.take();
        let conversation = Conversation { segments, omissions, guidance, summaries, ending };
        self.shared.heartbeat.waits_for(job, "grade", self.jobs[job].task.as_str());
        let state = self.state(job);
        self.ask(workers, WorkerRequest::Close { job, state, conversation });
        Ok(())
    }

    /// Workers end only after the sender is dropped, so the channel is open.
    fn ask(&mut self, workers: &Sender<WorkerRequest<'a>>, request: WorkerRequest<'a>) {
        self.asked += 1;
        workers.send(request).expect("workers outlive the driver");
    }
}

/// The conversation of a job.
fn id_of(job: usize) -> ConversationId {
    ConversationId(job as u64)
}
