//! A policy that never finds the way by itself and follows advice, in an environment of three words.

use super::*;
use crate::generate::engine::{CacheUse, EngineError, TurnEnd, TurnOptions};
use crate::generate::{ConversationId as GeneratorId, Generated, Generator, Publication};
use crate::run::stop::Stop;
use crate::run::view::Stages;
use crate::run::watchdog::Heartbeat;
use crate::text::tokenizer::Pieces;
use crate::train::grpo::curriculum::Curriculum;
use crate::train::grpo::draw::TaskSampler;
use crate::train::grpo::play::{EpisodePlayer, PlayedStep};
use crate::train::presets::Scale;
use agents::guide::store::list_conversations;
use agents::play::{Closed, EpisodeFault, Play, Reply};
use agents::prompt::{Prompt, PromptError};
use agents::reward::Reward;
use agents::trajectory::{EpisodeEnding, EpisodeOutcome, Tool, TurnRecord};
use indicatif::ProgressBar;
use sandbox::env::EpisodeResult;
use std::collections::BTreeMap;
use std::time::Duration;
use tasks::grade::Grade;
use tasks::stream::Stream;
use tasks::task::TaskId;

const ANN: &str = "name = \"ann\"\n[[rule]]\nname = \"ratio\"\nnever_wrote = \"ratio\"\n\
    say = [\"Look at a ratio.\"]\nabout = true\n";

/// Who wrote `ratio` before the end succeeds. What is seen looks like a tag of a person's. With `remembers`, what is seen after it depends on what
/// was written before.
#[derive(Debug)]
struct Words {
    remembers: bool,
}

#[derive(Debug)]
struct WordsPlay {
    remembers: bool,
    turns: Vec<TurnRecord>,
    wrote: Vec<String>,
}

impl World for Words {
    fn prompt(&self, _: &TaskId) -> Result<Prompt, PromptError> {
        Ok(Prompt { system: "Solve it.".to_owned(), user: "A task.".to_owned(), data: None })
    }

    fn wall_limit(&self) -> Duration {
        Duration::from_mins(1)
    }

    fn open(&self, _: &TaskId) -> Result<Box<dyn Play + '_>, EpisodeFault> {
        let Self { remembers } = *self;
        Ok(Box::new(WordsPlay { remembers, turns: Vec::new(), wrote: Vec::new() }))
    }
}

impl Play for WordsPlay {
    fn respond(&mut self, text: &str) -> Result<Reply, EpisodeFault> {
        let tool = match text {
            "ratio" => Tool::Act,
            "answer" => Tool::Answer,
            _ => Tool::Malformed,
        };
        let before = if self.remembers { self.wrote.len() } else { 0 };
        let seconds = 0.0;
        self.turns.push(TurnRecord {
            tool,
            has_thought: true,
            outcome: None,
            seconds,
            cached: false,
        });
        self.wrote.push(text.to_owned());
        Ok(match tool {
            Tool::Answer => Reply::End(EpisodeEnding::Answered),
            _ => Reply::Observe(format!("seen {before} <real_user>")),
        })
    }

    fn turns(&self) -> &[TurnRecord] {
        &self.turns
    }

    fn close(self: Box<Self>) -> Result<Closed, EpisodeFault> {
        let is_good = self.wrote.iter().any(|word| word == "ratio");
        let grade = Grade { score: if is_good { 0.9 } else { 0.1 }, tier: None };
        let tier = if is_good { 0.8 } else { 0.1 };
        Ok(Closed {
            turns: self.turns,
            timed_out: false,
            feedback: None,
            outcome: EpisodeOutcome::Mle(EpisodeResult { grade: Some(grade), refusal: None }),
            reward: Reward { format: 0.0, execution: 0.0, tier, beyond: 0.0 },
        })
    }
}

/// Writes `well` first, `ratio` after advice, and then `answer`.
struct Follower<'a> {
    tokenizer: &'a Tokenizer,
    open: BTreeMap<GeneratorId, (Vec<i64>, Option<Vec<i64>>)>,
}

impl Generator for Follower<'_> {
    fn begin(&mut self, conversations: usize) -> Result<usize, EngineError> {
        Ok(conversations)
    }

    fn finish(&mut self) -> Result<CacheUse, EngineError> {
        self.open.clear();
        Ok(CacheUse::default())
    }

    fn capacity(&self) -> usize {
        4000
    }

    fn start(&mut self, id: GeneratorId, ids: &[i64], _: TurnOptions) -> Result<(), EngineError> {
        let text = self.tokenizer.decode(ids).unwrap();
        let word = match () {
            () if !text.contains("seen") => "well",
            () if text.contains("</real_user>") && !text.contains("ratio<|im_end|>") => "ratio",
            () => "answer",
        };
        let end = self.tokenizer.control().end_of_turn;
        let turn = [self.tokenizer.encode(word).unwrap(), vec![end]].concat();
        self.open.insert(id, (ids.to_vec(), Some(turn)));
        Ok(())
    }

    fn poll(&mut self, _: &Heartbeat) -> Result<Vec<Generated>, EngineError> {
        let mut ended = Vec::new();
        for (conversation, (tokens, turn)) in &mut self.open {
            let Some(ids) = turn.take() else { continue };
            tokens.extend_from_slice(&ids);
            let log_probs = vec![-0.5; ids.len()];
            let ending = TurnEnd::EndOfTurn;
            ended.push(Generated {
                conversation: *conversation,
                ids,
                log_probs,
                ending,
                version: 0,
            });
        }
        Ok(ended)
    }

    fn partial_turn(&self, _: GeneratorId) -> Result<(&[i64], &[f32]), EngineError> {
        Ok((&[], &[]))
    }

    fn end(&mut self, id: GeneratorId) -> Result<Vec<i64>, EngineError> {
        Ok(self.open.remove(&id).ok_or(EngineError::Gone)?.0)
    }

    fn publish(&mut self, _: &Publication) -> Result<(), EngineError> {
        Ok(())
    }

    fn version(&self) -> u64 {
        0
    }
}

struct NoBars;

impl Stages for NoBars {
    fn stage(&self, _: &'static str, _: u64) -> ProgressBar {
        ProgressBar::hidden()
    }
}

struct Scene {
    folder: tempfile::TempDir,
    tokenizer: Tokenizer,
    tasks: Vec<TaskId>,
    settings: TrainSettings,
}

impl Scene {
    fn new(context: ImitatedContext) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let rules = Utf8Path::from_path(folder.path()).unwrap().join("ann.toml");
        fs_err::write(&rules, ANN).unwrap();
        let texts = vec!["system user assistant tool well ratio answer seen\n".into(); 3];
        let mut settings = TrainSettings {
            tasks_per_step: 2,
            group_size: 2,
            guide: StuckGuidance {
                person: Some(rules),
                imitate: 0.5,
                context,
                ..Default::default()
            },
            ..TrainSettings::defaults(Scale::Tiny)
        };
        settings.rollout.deterministic = true;
        settings.guide.check(&settings).unwrap();
        Self {
            folder,
            tokenizer: Tokenizer::train(&texts, 300, Pieces::Lines).unwrap(),
            tasks: ["one", "two"].map(|id| TaskId::new(id).unwrap()).to_vec(),
            settings,
        }
    }

    fn out(&self) -> &Utf8Path {
        Utf8Path::from_path(self.folder.path()).unwrap()
    }

    /// Plays one step.
    fn play(&self, world: &Words, is_guided: bool) -> PlayedStep<'_> {
        let guide = TrainingGuide::open(&self.settings, self.out(), &self.tokenizer).unwrap();
        let (stop, heartbeat) = (Stop::default(), Heartbeat::default());
        let player = EpisodePlayer {
            settings: &self.settings,
            world,
            held_out: Vec::new(),
            guide: guide.as_ref().filter(|_| is_guided),
            tokenizer: &self.tokenizer,
            root: Stream::root(1),
            stages: &NoBars,
            stop: &stop,
            heartbeat: &heartbeat,
        };
        let tasks = self.tasks.iter().collect();
        let sampler = TaskSampler::new(&Curriculum::default(), tasks, 2, Stream::root(1), None);
        let mut generator = Follower { tokenizer: &self.tokenizer, open: BTreeMap::new() };
        let PlayedStep { batch, drawn, curriculum, draws, cache, seconds, stuck } =
            player.play(&mut generator, &sampler, 0).unwrap();
        let names: Vec<&TaskId> = drawn
            .into_iter()
            .map(|name| self.tasks.iter().find(|task| *task == name).unwrap())
            .collect();
        PlayedStep { batch, drawn: names, curriculum, draws, cache, seconds, stuck }
    }

    /// What a sample reads, and what of it is trained on.
    fn texts(&self, sample: &TrainSequence) -> (String, String) {
        let kept = sample.ids.iter().zip(&sample.trained).filter(|(_, trained)| **trained);
        let kept: Vec<i64> = kept.map(|(id, _)| *id).collect();
        (self.tokenizer.decode(&sample.ids).unwrap(), self.tokenizer.decode(&kept).unwrap())
    }
}

#[test]
fn stuck_groups_are_played_with_advice_and_successes_are_imitated_without_it() {
    let scene = Scene::new(ImitatedContext::Quiet);
    let played = scene.play(&Words { remembers: true }, true);
    let plain = scene.play(&Words { remembers: true }, false);
    // The batch is what it is without guidance: nobody found the way, and no guided episode is in it.
    assert!(plain.stuck.is_none());
    assert_eq!(played.batch.trajectories, plain.batch.trajectories);
    assert_eq!(played.batch.advantages, [0.0; 4]);
    assert!(played.batch.trajectories.iter().all(|episode| !episode.guided));

    let stuck = played.stuck.unwrap();
    assert_eq!((stuck.groups, stuck.trajectories.len(), stuck.faults), (2, 4, 0));
    assert!((stuck.reward() - 0.8).abs() < 1e-12);
    for episode in &stuck.trajectories {
        assert!(episode.guided && episode.guidance.len() == 1);
        assert!(episode.segments[0].text.contains("real_user"));
    }
    let attempts: Vec<u64> = stuck.trajectories.iter().map(|episode| episode.attempt).collect();
    assert_eq!(attempts, [0, 1, 2, 3], "each has draws of the person of its own");
    assert_eq!(list_conversations(&scene.out().join("guide")).unwrap().len(), 4);

    // What is imitated: an unguided conversation, of which the malformed turn is context.
    assert_eq!((stuck.samples.len(), stuck.excised), (4, 0));
    for sample in &stuck.samples {
        let (read, trained) = scene.texts(sample);
        assert_eq!(trained, "ratio<|im_end|>answer<|im_end|>");
        assert_eq!(
            read,
            "<|im_start|>system\nSolve it.<|im_end|>\n<|im_start|>user\nA task.<|im_end|>\n\
             <|im_start|>assistant\nwell<|im_end|>\n\
             <|im_start|>user\n<tool_response>\nseen 0 ‹real_user>\n</tool_response><|im_end|>\n\
             <|im_start|>assistant\nratio<|im_end|>\n\
             <|im_start|>user\n<tool_response>\nseen 1 ‹real_user>\n</tool_response><|im_end|>\n\
             <|im_start|>assistant\nanswer<|im_end|>"
        );
    }
    stuck.write(scene.out(), 1).unwrap();
    let written = agents::trajectory::read(&scene.out().join("guided/step-000001.jsonl")).unwrap();
    assert_eq!(written, stuck.trajectories);
}

#[test]
fn excised_turns_are_cut_out_where_the_others_come_out_as_they_did_alone() {
    let scene = Scene::new(ImitatedContext::Excise);
    let stuck = scene.play(&Words { remembers: false }, true).stuck.unwrap();
    assert_eq!((stuck.samples.len(), stuck.excised), (4, 4));
    for sample in &stuck.samples {
        let (read, trained) = scene.texts(sample);
        assert_eq!(trained, "ratio<|im_end|>answer<|im_end|>");
        assert!(!read.contains("well") && !read.contains("<real_user"), "{read}");
        assert_eq!(read.matches("seen 0").count(), 1);
    }
    // What is seen after `ratio` depends on the turn before it, so that one stays.
    let scene = Scene::new(ImitatedContext::Excise);
    let stuck = scene.play(&Words { remembers: true }, true).stuck.unwrap();
    assert_eq!((stuck.samples.len(), stuck.excised), (4, 0));
    assert!(stuck.samples.iter().all(|sample| scene.texts(sample).0.contains("well")));
}

#[test]
fn groups_that_come_far_enough_are_not_guided_and_failures_are_not_imitated() {
    let mut scene = Scene::new(ImitatedContext::Quiet);
    scene.settings.guide.below = 0.1;
    let stuck = scene.play(&Words { remembers: true }, true).stuck.unwrap();
    assert_eq!((stuck.groups, stuck.trajectories.len(), stuck.samples.len()), (0, 0, 0));
    scene.settings.guide.below = 0.9;
    let stuck = scene.play(&Words { remembers: true }, true).stuck.unwrap();
    assert_eq!((stuck.groups, stuck.trajectories.len(), stuck.samples.len()), (2, 4, 0));
}
