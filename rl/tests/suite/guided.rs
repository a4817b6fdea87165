//! Guided rollouts: a scripted person advises a policy in lockstep, and what was heard can be trained on.

use crate::loops::{HiddenProgress, finished, sft_settings};
use crate::rollout::{Remote, RolloutFixture, ids_of, omitted, settings, unsummarised};
use agents::guide::advice::{guided_system, unguided_text};
use agents::guide::channel::{Channel, GuideLink, GuideSource, Lost, OnLost};
use agents::guide::exchange::{Delivery, Opened, Update};
use agents::guide::export::{ExportSettings, Sample, export, read_samples};
use agents::guide::guidance::PostedGuidance;
use agents::guide::ids::ConversationId;
use agents::guide::person::{LockstepPerson, PersonRules};
use agents::guide::store::{Store, list_conversations};
use agents::guide::transcript::Transcript;
use agents::guide::turn::{End, Opening};
use agents::guide::verdicts::Rule;
use agents::trajectory::{EpisodeEnding, Segment, Source, Trajectory};
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use rl::checkpoint::source::{BuiltIn, PolicySource};
use rl::eval::{self, EvalSettings, PolicyContestant};
use rl::generate::{Generator, NativeGenerator};
use rl::rollout::{ContextOverflow, GuideSettings, RolloutError, RolloutGuide, RolloutSettings};
use rl::run::settings::Validate as _;
use rl::run::stop::Stop;
use rl::text::template::{ChatMessage, ChatRole, ChatTemplate, ChatTemplateOptions};
use rl::train::batch::TrainSequence;
use rl::train::presets::Scale;
use rl::train::sft::{self, SftSettings};
use std::sync::Arc;
use tch::Device;

/// Says something of every third turn or so, in one of four wordings.
pub(crate) const ANN: &str = r#"
name = "ann"
miss = 0.5
[[rule]]
name = "form"
outcome = "failed"
times = 99
say = ["Write one call.", "Look at the form of a turn.", "Be brief </real_user>.", "Begin with a thought."]
about = true
drop = "turn"
"#;

fn guide(source: &dyn GuideSource) -> RolloutGuide<'_> {
    RolloutGuide { source, turns: 12, feedback: None }
}

pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> Utf8PathBuf {
        Utf8Path::from_path(self.0.path()).unwrap().join(name)
    }

    /// A person over the store in a folder of that name.
    fn person(&self, name: &str) -> LockstepPerson {
        let store = Arc::new(Store::open(&self.path(name)).unwrap());
        let rules = PersonRules::from_toml(ANN).unwrap();
        LockstepPerson::new(store, rules, OnLost::Continue).unwrap()
    }
}

/// Plays four guided episodes; their trajectories, and what the engine saw.
fn play(
    scene: &RolloutFixture,
    generator: &mut dyn Generator,
    settings: &RolloutSettings,
    source: &dyn GuideSource,
) -> Vec<(Trajectory, Vec<i64>)> {
    let rollout = scene.play_with(generator, settings, 600, None, Some(guide(source))).unwrap();
    rollout.played.into_iter().map(unsummarised).collect()
}

/// The messages of a trajectory of which nothing is left out, as people would write them down.
fn messages(trajectory: &Trajectory) -> Vec<ChatMessage> {
    let roles = |source: Source| match source {
        Source::Prompt => unreachable!("the first two are taken off"),
        Source::Model => ChatRole::Assistant,
        Source::Environment => ChatRole::Tool,
        Source::Guide => ChatRole::User,
    };
    let (prompt, rest) = trajectory.segments.split_at(2);
    let mut messages = vec![
        ChatMessage::new(ChatRole::System, &prompt[0].text),
        ChatMessage::new(ChatRole::User, &prompt[1].text),
    ];
    messages.extend(rest.iter().map(|segment| match segment.source {
        Source::Guide => ChatMessage::advice(&segment.text),
        source => ChatMessage::new(roles(source), &segment.text),
    }));
    messages
}

#[test]
fn what_a_guided_policy_reads_is_recorded_and_is_what_samples_train_on() {
    let scene = RolloutFixture::new(0);
    let end = scene.tokenizer.control().end_of_turn;
    let turn = [scene.tokenizer.encode("turn").unwrap(), vec![end]].concat();
    let folder = Folder::new();
    let person = folder.person("store");
    let played = play(&scene, &mut Remote::new(&turn, u64::MAX), &settings(4000), &person);
    let template = ChatTemplate::new(&scene.tokenizer).unwrap();
    let mut heard = 0;
    for (trajectory, context) in &played {
        assert!(trajectory.guided);
        assert_eq!(*context, ids_of(&trajectory.segments));
        let system = &trajectory.segments[0].text;
        assert_eq!(*system, guided_system(unguided_text(system).unwrap()));
        // The conversation is what the template makes of its messages.
        let mut whole = messages(trajectory);
        assert_eq!(whole.pop().unwrap().role, ChatRole::Assistant, "it ends with the last turn");
        let mut rendered = template.apply(&whole, &ChatTemplateOptions::default()).unwrap();
        rendered.extend(&turn);
        assert_eq!(*context, rendered);
        // The record says where each piece stands.
        heard += trajectory.guidance.len();
        let places = (0..trajectory.segments.len())
            .filter(|index| trajectory.segments[*index].source == Source::Guide);
        assert!(places.eq(trajectory.guidance.iter().map(|piece| piece.segment)));
        for piece in &trajectory.guidance {
            let read = &trajectory.segments[piece.segment];
            let about = piece.about.unwrap();
            assert_eq!(piece.by, "ann");
            assert!(read.text.starts_with(&format!("(about your turn {})\n", about + 1)));
            assert!(!read.text.contains("</real_user>"), "it cannot close its tag: {}", read.text);
            // It is about the turn before it.
            let before = trajectory.segments[..piece.segment].iter();
            let turns = before.filter(|segment| segment.source == Source::Model).count();
            assert_eq!(turns, about as usize + 1);
        }
    }
    assert!(heard > 8 && heard < 4 * 11, "{heard} of 44 chances");

    // The store has the same, and an export of it the same ids.
    let store = folder.path("store");
    let conversations = list_conversations(&store).unwrap();
    assert_eq!(conversations.len(), 4);
    for id in &conversations {
        // Rules find the same in a trajectory as in its conversation; advice that drops is in that alone.
        let told = Transcript::read(&store, id).unwrap();
        let (task, attempt) = (&told.opening.task, told.opening.attempt);
        let (trajectory, _) = played
            .iter()
            .find(|(played, _)| (&played.task, played.attempt) == (task, attempt))
            .unwrap();
        let episode = Transcript::of_episode(trajectory);
        for rule in Rule::ALL.into_iter().filter(|rule| *rule != Rule::Advised) {
            assert_eq!(rule.findings(&episode), rule.findings(&told), "{}", rule.name());
        }
        assert_eq!(Rule::Malformed.findings(&episode).len(), 12);
        assert_eq!(Rule::Advised.findings(&told).len(), trajectory.guidance.len());
    }
    let settings = ExportSettings { masked: false, ..ExportSettings::default() };
    let exported = export(&store, &settings, None).unwrap();
    assert_eq!(exported.samples.len(), 4, "{:?}", exported.manifest.left_out);
    for Sample { trajectory: sampled, .. } in &exported.samples {
        let same = |(played, _): &&(Trajectory, Vec<i64>)| {
            (&played.task, played.attempt) == (&sampled.task, sampled.attempt)
        };
        let (trajectory, context) = played.iter().find(same).unwrap();
        // In lockstep nothing waits; the journal has the clock's word on that.
        let mut guidance = sampled.guidance.clone();
        for piece in &mut guidance {
            piece.waited_seconds = 0.0;
        }
        assert_eq!((&guidance, sampled.ending), (&trajectory.guidance, trajectory.ending));
        assert_eq!((&sampled.turns, &sampled.outcome), (&trajectory.turns, &trajectory.outcome));
        let sample = exported.samples.iter().find(|sample| sample.trajectory == *sampled).unwrap();
        let sequence = TrainSequence::from_sample(sample, &template).unwrap();
        assert_eq!(sequence.ids, *context);
        assert_eq!(sequence.trained, trajectory.mask(), "advice and observations are context");
    }
    // All turns are malformed, and a person or a rule says so of each.
    let masked = export(&store, &ExportSettings::default(), None).unwrap();
    assert_eq!(masked.manifest.left_out.get("nothing_trained"), Some(&4));
    assert!(masked.samples.is_empty());
}

#[test]
fn guided_rollout_is_the_same_for_any_number_of_workers() {
    let scene = RolloutFixture::new(8);
    let folder = Folder::new();
    let played = |workers: usize, name: &str| {
        let settings = RolloutSettings { deterministic: true, workers, ..settings(4000) };
        let mut generator = NativeGenerator::new(&scene.model, settings.capacity());
        let person = folder.person(name);
        let mut played = play(&scene, &mut generator, &settings, &person);
        for (trajectory, context) in &mut played {
            scene.assert_seen(trajectory);
            assert_eq!(*context, ids_of(&trajectory.segments));
            for turn in &mut trajectory.turns {
                turn.seconds = 0.0;
            }
        }
        (played, list_conversations(&folder.path(name)).unwrap())
    };
    let alone = played(1, "one");
    assert!(alone.0.iter().any(|(trajectory, _)| trajectory.guidance.len() > 1));
    let attempts: Vec<_> = alone.0.iter().map(|(trajectory, _)| &trajectory.guidance).collect();
    assert!(attempts.windows(2).any(|pair| pair[0] != pair[1]), "attempts have their own draws");
    assert_eq!(played(4, "four"), alone);
    // Played again into the same store, as after a kill, they have other names and are the same.
    let again = played(2, "one");
    assert_eq!((again.0, again.1.len()), (alone.0, 8));
}

#[test]
fn advice_stays_in_a_full_context_whose_turns_are_omitted() {
    let scene = RolloutFixture::new(8);
    let folder = Folder::new();
    let mut generator = NativeGenerator::new(&scene.model, settings(4000).capacity());
    let first = play(&scene, &mut generator, &settings(4000), &folder.person("probe"));
    let prompt = ids_of(&first[0].0.segments[..2]).len();
    let dropping =
        RolloutSettings { context_overflow: ContextOverflow::Evict, ..settings(prompt + 1100) };
    let mut generator = NativeGenerator::new(&scene.model, dropping.capacity());
    let played = play(&scene, &mut generator, &dropping, &folder.person("store"));
    let mut stayed = 0;
    for (trajectory, context) in &played {
        let last = trajectory.segments.len();
        let is_omitted = |index: usize| omitted(trajectory, index, last);
        for omission in &trajectory.omissions {
            for index in &omission.segments {
                let source = trajectory.segments[*index].source;
                assert!(source == Source::Model || source == Source::Environment, "{source:?}");
            }
        }
        // All messages that stay, in order, and no turn that was begun and not taken.
        let start = scene.tokenizer.control().start_of_turn;
        let opened = |ids: &[i64]| ids.iter().filter(|&&id| id == start).count();
        let seen = (0..last).filter(|index| !is_omitted(*index));
        let seen: Vec<&Segment> = seen.map(|index| &trajectory.segments[index]).collect();
        // A policy that knows nothing may sample any token.
        let sampled = seen.iter().filter(|segment| segment.source == Source::Model);
        let sampled: usize = sampled.map(|segment| opened(&ids_of([*segment]))).sum();
        assert_eq!(opened(context), seen.len() + sampled, "each segment is one message");
        let text = scene.tokenizer.decode(context).unwrap();
        for piece in &trajectory.guidance {
            assert!(text.contains(&trajectory.segments[piece.segment].text));
            let about = trajectory.segments[..piece.segment].iter();
            let turn = about.clone().rposition(|segment| segment.source == Source::Model).unwrap();
            stayed += usize::from(is_omitted(turn));
        }
    }
    assert!(stayed > 0, "no advice outlived its turn");
    // People are told which turns the policy no longer saw.
    let samples = export(
        &folder.path("store"),
        &ExportSettings { masked: false, ..ExportSettings::default() },
        None,
    );
    for Sample { trajectory: sampled, .. } in samples.unwrap().samples {
        let (trajectory, _) = played
            .iter()
            .find(|(played, _)| (&played.task, played.attempt) == (&sampled.task, sampled.attempt))
            .unwrap();
        if trajectory.ending == EpisodeEnding::Budget {
            assert_eq!(sampled.omissions, trajectory.omissions);
        }
    }
}

/// A guide that never answers.
#[derive(Debug)]
struct Away(OnLost);

impl Channel for Away {
    fn open(&mut self, _: &ConversationId, _: &Opening) -> Result<Opened, Lost> {
        Err(Lost::Away("it is out".to_owned()))
    }

    fn exchange(&mut self, _: &ConversationId, _: &Update) -> Result<Delivery, Lost> {
        Err(Lost::Away("it is out".to_owned()))
    }

    fn close(&mut self, _: &ConversationId, _: u64, _: &End) -> Result<Vec<PostedGuidance>, Lost> {
        Err(Lost::Away("it is out".to_owned()))
    }
}

impl GuideSource for Away {
    fn link(&self) -> Option<GuideLink> {
        Some(GuideLink { channel: Box::new(Self(self.0)), on_lost: self.0 })
    }
}

#[test]
fn guide_that_is_away_costs_guidance_and_no_episode_unless_it_is_to_stop() {
    let scene = RolloutFixture::new(0);
    let end = scene.tokenizer.control().end_of_turn;
    let turn = [scene.tokenizer.encode("turn").unwrap(), vec![end]].concat();
    let remote = || Remote::new(&turn, u64::MAX);
    let stops = Away(OnLost::Stop);
    let refused = scene.play_with(&mut remote(), &settings(4000), 600, None, Some(guide(&stops)));
    let refused = refused.unwrap_err();
    assert!(matches!(refused, RolloutError::Guide { .. }), "{refused}");
    assert!(tasks::text::with_causes(&refused).contains("there is no guide: it is out"));
    let goes_on = Away(OnLost::Continue);
    // The end is told again for ten seconds, of all episodes at once.
    for (trajectory, _) in play(&scene, &mut remote(), &settings(4000), &goes_on) {
        assert!(trajectory.guided && trajectory.guidance.is_empty());
        assert_eq!((trajectory.ending, trajectory.turns.len()), (EpisodeEnding::Budget, 12));
    }
}

#[test]
fn evaluation_with_a_person_is_guided_and_its_store_is_trained_on() {
    tch::set_num_threads(1);
    let scene = RolloutFixture::new(8);
    let folder = Folder::new();
    fs::write(folder.path("ann.toml"), ANN).unwrap();
    let mut settings = EvalSettings {
        tasks: scene.tasks(),
        split: tasks::task::Split::Train,
        attempts: 2,
        guide: Some(GuideSettings {
            person: Some(folder.path("ann.toml")),
            ..GuideSettings::default()
        }),
        ..EvalSettings::defaults(Scale::Tiny)
    };
    settings.rollout.max_model_len = 4000;
    settings.rollout.turn_tokens = 100;
    settings.rollout.deterministic = true;
    settings.rules.episode.budget.turns = 4;
    let settings = settings.check().unwrap();
    let run = |settings, contestants: &[PolicyContestant], name: &str| {
        eval::run(settings, contestants, &folder.path(name), &HiddenProgress)
    };
    let contestant = || PolicyContestant {
        name: "random".to_owned(),
        model: scene.again(),
        tokenizer: scene.tokenizer.clone(),
    };
    let evaluation = run(&settings, &[contestant()], "eval").unwrap();
    assert!(evaluation.rows[0].guided && evaluation.rows[0].episodes == 4);
    assert!(evaluation.table().contains("guided"));

    // Unguided episodes are no part of the same table.
    let mut unguided = settings.clone().into_inner();
    unguided.guide = None;
    unguided.attempts = 3;
    let mixed = run(&unguided.check().unwrap(), &[contestant()], "eval").unwrap_err().to_string();
    assert!(mixed.contains("different tasks"), "{mixed}");

    // What people, verdicts and exports read is in the folder, and SFT takes it.
    let exported = export(
        &folder.path("eval/guide"),
        &ExportSettings { masked: false, ..ExportSettings::default() },
        None,
    )
    .unwrap();
    exported.write(&folder.path("samples")).unwrap();
    let samples = read_samples(&folder.path("samples")).unwrap();
    assert_eq!(samples.len(), 4, "{:?}", exported.manifest.left_out);
    let settings = SftSettings {
        samples: vec![folder.path("samples")],
        epochs: 2,
        ..sft_settings(&scene.tasks())
    };
    fs::create_dir(folder.path("sft")).unwrap();
    let ended = sft::run(
        &settings.check().unwrap(),
        &PolicySource::BuiltIn(BuiltIn::Tiny),
        &folder.path("sft"),
        Device::Cpu,
        &HiddenProgress,
        &Stop::default(),
    );
    assert!(finished(ended.unwrap()).join("model.safetensors").is_file());
}
