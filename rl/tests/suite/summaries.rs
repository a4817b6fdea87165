//! Episodes that are longer than the context, which the policy summarises for itself.

use crate::guided::{ANN, Folder};
use crate::loops::{HiddenProgress, curve, finished, roll_back};
use crate::rollout::{Remote, RolloutFixture, ids_of, settings, summarised};
use agents::guide::channel::OnLost;
use agents::guide::export::{ExportSettings, export};
use agents::guide::person::{LockstepPerson, PersonRules};
use agents::guide::store::{Store, list_conversations};
use agents::guide::transcript::Transcript;
use agents::summary::{REQUEST, summarised_prompt};
use agents::trajectory::{self, EpisodeEnding, Source, Trajectory};
use fs_err as fs;
use rl::generate::NativeGenerator;
use rl::model::{Packed, save_folder};
use rl::rollout::{ContextOverflow, RolloutGuide, RolloutSettings};
use rl::run::settings::Validate as _;
use rl::run::stop::Stop;
use rl::text::template::ChatTemplate;
use rl::train::batch::TrainSequence;
use rl::train::grpo::{self, TrainSettings};
use rl::train::loss;
use rl::train::presets::Scale;
use std::sync::Arc;
use tch::{Device, Kind, Tensor};

/// What sampler and trainer may differ by.
const TOLERANCE: f64 = 1e-4;

/// A fixture in which the request for a summary, and what a summary stands in, take few tokens, as they do
/// of a real vocabulary.
fn fixture(every: usize) -> RolloutFixture {
    RolloutFixture::with_vocabulary(every, 1200, &[REQUEST, &summarised_prompt("", "")])
}

type Played = Vec<(Trajectory, Vec<Vec<i64>>)>;

/// Summarises where the prompt and some turns fill the context: `share` of what the longest episode
/// takes behind its prompt.
fn summarising(share: f64, play: &dyn Fn(&RolloutSettings) -> Played) -> RolloutSettings {
    let settings = |context, context_overflow| RolloutSettings {
        turn_tokens: 30,
        context_overflow,
        ..settings(context)
    };
    let played = play(&settings(4000, ContextOverflow::End));
    let longest = played.iter().map(|(_, contexts)| contexts[0].len()).max().unwrap();
    let prompts = played.iter().map(|(trajectory, _)| ids_of(&trajectory.segments[..2]).len());
    let prompt = prompts.max().unwrap();
    let room = ((longest - prompt) as f64 * share) as usize;
    settings(prompt + room, ContextOverflow::Summarise)
}

/// Plays with the fixture's model.
fn sampled(scene: &RolloutFixture, settings: &RolloutSettings) -> Played {
    let mut generator = NativeGenerator::new(&scene.model, settings.capacity());
    let rollout = scene.play_with(&mut generator, settings, 600, None, None).unwrap();
    rollout.played.into_iter().map(summarised).collect()
}

/// Plays with a generator that says the same in every turn.
fn steady(
    scene: &RolloutFixture,
    settings: &RolloutSettings,
    guide: Option<RolloutGuide<'_>>,
) -> Played {
    let end = scene.tokenizer.control().end_of_turn;
    let turn = [scene.tokenizer.encode("turn").unwrap(), vec![end]].concat();
    let mut generator = Remote::new(&turn, u64::MAX);
    generator.capacity = settings.max_model_len;
    let rollout = scene.play_with(&mut generator, settings, 600, None, guide).unwrap();
    rollout.played.into_iter().map(summarised).collect()
}

/// The log-probabilities of its trained tokens, in one pass over the whole sequence.
fn log_probs(scene: &RolloutFixture, sequence: &TrainSequence) -> Vec<f64> {
    let logits = scene.model.forward(&Packed::new([sequence.ids.as_slice()], Device::Cpu));
    let places: Vec<i64> =
        (0..sequence.ids.len() as i64).filter(|place| sequence.trained[*place as usize]).collect();
    let before: Vec<i64> = places.iter().map(|place| place - 1).collect();
    let targets: Vec<i64> = places.iter().map(|place| sequence.ids[*place as usize]).collect();
    let sampling = Scale::Tiny.rollout().sampling;
    let logits = logits.index_select(0, &Tensor::from_slice(&before));
    let found = loss::log_probs(&logits, &Tensor::from_slice(&targets), &sampling);
    Vec::<f64>::try_from(found.to_kind(Kind::Double)).unwrap()
}

#[test]
fn every_sampled_token_of_a_summarised_episode_is_trained_on_once() {
    let scene = fixture(8);
    let settings = summarising(0.6, &|settings| sampled(&scene, settings));
    let played = sampled(&scene, &settings);
    assert!(played.iter().any(|(trajectory, _)| trajectory.summaries.len() > 1));
    for (trajectory, contexts) in &played {
        let sequences = TrainSequence::from_rollout(trajectory);
        // What is trained on is what the engine saw, in its context.
        assert_eq!(sequences.len(), contexts.len());
        for ((sequence, sampled), context) in sequences.iter().zip(contexts) {
            assert_eq!(sequence.ids, *context);
            assert!(context.len() <= settings.max_model_len);
            let found = log_probs(&scene, sequence);
            assert_eq!(found.len(), sampled.len());
            for (found, sampled) in found.iter().zip(sampled) {
                assert!((found - f64::from(*sampled)).abs() < TOLERANCE, "{found} {sampled}");
            }
        }
        let turns = trajectory.segments.iter().filter(|segment| segment.source == Source::Model);
        let summaries = trajectory.summaries.iter().map(|summary| summary.ids.len());
        let sampled: usize = turns.map(|segment| segment.ids.len()).chain(summaries).sum();
        let trained: usize = sequences.iter().map(|(sequence, _)| sequence.trained_count()).sum();
        assert_eq!(trained, sampled);
        for summary in &trajectory.summaries {
            let decode = |ids: &[u32]| {
                let ids: Vec<i64> = ids.iter().copied().map(i64::from).collect();
                scene.tokenizer.decode(&ids).unwrap()
            };
            assert!(decode(&summary.prompt).contains(REQUEST));
            let opens = decode(&summary.opens);
            assert!(opens.contains("<summary>") && !opens.contains(REQUEST), "{opens}");
            assert!(summary.replaces.iter().all(|segment| *segment < summary.before));
        }
    }
}

#[test]
fn context_that_has_no_room_for_a_summary_ends_the_episode() {
    // What asks for a summary takes more tokens than half of an episode.
    let scene = RolloutFixture::new(0);
    let settings = summarising(0.5, &|settings| steady(&scene, settings, None));
    for (trajectory, contexts) in steady(&scene, &settings, None) {
        assert_eq!(trajectory.ending, EpisodeEnding::Tokens);
        assert!(trajectory.summaries.is_empty() && trajectory.omissions.is_empty());
        let sequences = TrainSequence::from_rollout(&trajectory);
        assert_eq!((sequences.len(), &sequences[0].0.ids), (1, &contexts[0]));
        assert_eq!(trajectory.segments.last().unwrap().source, Source::Model);
    }
}

#[test]
fn people_see_the_summaries_of_a_policy_and_exports_have_what_it_read() {
    let scene = fixture(0);
    let folder = Folder::new();
    let guided = |settings: &RolloutSettings, store: &str| {
        let store = Arc::new(Store::open(&folder.path(store)).unwrap());
        let rules = PersonRules::from_toml(ANN).unwrap();
        let person = LockstepPerson::new(store, rules, OnLost::Continue).unwrap();
        let guide = RolloutGuide { source: &person, turns: 12, feedback: None };
        steady(&scene, settings, Some(guide))
    };
    let settings = summarising(0.6, &|settings| guided(settings, "whole"));
    let played = guided(&settings, "store");
    assert!(played.iter().any(|(trajectory, _)| !trajectory.summaries.is_empty()));
    assert!(played.iter().any(|(trajectory, _)| !trajectory.guidance.is_empty()));

    let store = folder.path("store");
    for id in list_conversations(&store).unwrap() {
        let told = Transcript::read(&store, &id).unwrap();
        let of = (&told.opening.task, told.opening.attempt);
        let (trajectory, _) =
            played.iter().find(|(played, _)| (&played.task, played.attempt) == of).unwrap();
        let summaries = told.turns.iter().flat_map(|turn| &turn.report.summaries);
        let texts: Vec<(&str, usize)> =
            summaries.map(|summary| (summary.text.as_str(), 2 * summary.replaces.len())).collect();
        // A turn that was replaced was replaced with what it read in return.
        let written = trajectory.summaries.iter();
        let written: Vec<(&str, usize)> =
            written.map(|summary| (summary.text.as_str(), summary.replaces.len())).collect();
        assert_eq!(texts, written);
    }
    let template = ChatTemplate::new(&scene.tokenizer).unwrap();
    let export_settings = ExportSettings { masked: false, ..ExportSettings::default() };
    let exported = export(&store, &export_settings, None).unwrap();
    let mut seen = 0;
    for (trajectory, contexts) in &played {
        let samples = exported.samples.iter().filter(|sample| {
            let of = &sample.trajectory;
            (&of.task, of.attempt) == (&trajectory.task, trajectory.attempt)
        });
        let sequences: Vec<TrainSequence> =
            samples.map(|sample| TrainSequence::from_sample(sample, &template).unwrap()).collect();
        assert_eq!(sequences.len(), contexts.len());
        for ((sequence, (own, _)), context) in
            sequences.iter().zip(TrainSequence::from_rollout(trajectory)).zip(contexts)
        {
            // Behind the last turn an export has the reply that had no room.
            assert!(sequence.ids.starts_with(context));
            assert_eq!(sequence.trained[..context.len()], own.trained);
            seen += 1;
        }
    }
    assert!(seen > played.len());
}

#[test]
fn training_on_summarised_episodes_resumes_to_the_bit() {
    tch::set_num_threads(1);
    let scene = fixture(8);
    let folder = Folder::new();
    let policy = folder.path("policy");
    fs::create_dir(&policy).unwrap();
    save_folder(&scene.model, &policy).unwrap();
    scene.tokenizer.save(&policy).unwrap();
    let mut settings = TrainSettings {
        model: policy.to_string(),
        tasks: scene.tasks(),
        steps: 2,
        tasks_per_step: 2,
        group_size: 2,
        validate_every: 0,
        checkpoint_every: 1,
        keep: 100,
        ..TrainSettings::defaults(Scale::Tiny)
    };
    // A policy that knows nothing earns the same in every episode: only this pulls.
    settings.kl.beta = 0.1;
    settings.rollout = RolloutSettings {
        deterministic: true,
        ..summarising(0.6, &|settings| sampled(&scene, settings))
    };
    settings.rules.episode.budget.turns = 10;
    let settings = settings.check().unwrap();
    let run = |name: &str| {
        let out = folder.path(name);
        fs::create_dir_all(&out).unwrap();
        let stop = Stop::default();
        let ended = grpo::run(&settings, &policy, &out, Device::Cpu, &HiddenProgress, &stop);
        let last = finished(ended.unwrap());
        (curve(&out), fs::read(last.join("model.safetensors")).unwrap())
    };
    let straight = run("straight");
    let episodes = trajectory::read(&folder.path("straight/episodes/step-000001.jsonl")).unwrap();
    let summaries: usize = episodes.iter().map(|episode| episode.summaries.len()).sum();
    assert!(summaries > 0);
    let line = straight.0.iter().find(|line| line["step"] == 1).unwrap();
    assert_eq!(line["summaries"].as_f64().unwrap(), summaries as f64 / 4.0, "{line}");
    assert!(line["log_prob_gap"].as_f64().unwrap() < TOLERANCE, "{line}");

    // Killed after the first step, and gone on with.
    assert_eq!(run("resumed"), straight);
    roll_back(&folder.path("resumed"), 1);
    assert_eq!(run("resumed"), straight);
}
