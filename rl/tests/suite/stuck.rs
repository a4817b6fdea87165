//! Training with verdicts on turns, and with a person who advises groups that are stuck.

use crate::guided::{ANN, Folder};
use crate::loops::{HiddenProgress, curve, finished, roll_back};
use crate::rollout::RolloutFixture;
use agents::guide::store::list_conversations;
use agents::trajectory;
use fs_err as fs;
use rl::model::save_folder;
use rl::run::settings::Validate as _;
use rl::run::stop::Stop;
use rl::train::grpo::{self, Credit, TrainSettings};
use rl::train::presets::Scale;
use tch::Device;

#[test]
fn training_with_credit_and_a_person_resumes_to_the_bit() {
    tch::set_num_threads(1);
    let scene = RolloutFixture::new(8);
    let folder = Folder::new();
    fs::write(folder.path("ann.toml"), ANN).unwrap();
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
        credit: Credit::Drop,
        ..TrainSettings::defaults(Scale::Tiny)
    };
    settings.guide.person = Some(folder.path("ann.toml"));
    settings.guide.imitate = 0.5;
    settings.rollout.deterministic = true;
    settings.rollout.max_model_len = 4000;
    settings.rollout.turn_tokens = 40;
    settings.rules.episode.budget.turns = 3;
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
    for line in &straight.0[1..] {
        let count = |name: &str| line[name].as_u64().unwrap_or_else(|| panic!("{name}: {line}"));
        // A policy that knows nothing is stuck everywhere, and advice is of no help to it.
        assert_eq!((count("stuck_groups"), count("guided_episodes")), (2, 4), "{line}");
        assert_eq!((count("imitated_episodes"), count("played")), (0, 4), "{line}");
        assert!(line["dropped_tokens"].is_u64() && line["imitation_loss"] == 0.0, "{line}");
    }
    let guided = trajectory::read(&folder.path("straight/guided/step-000001.jsonl")).unwrap();
    assert!(guided.len() == 4 && guided.iter().all(|episode| episode.guided));
    let unguided = trajectory::read(&folder.path("straight/episodes/step-000001.jsonl")).unwrap();
    assert!(unguided.len() == 4 && unguided.iter().all(|episode| !episode.guided));
    assert_eq!(list_conversations(&folder.path("straight/guide")).unwrap().len(), 8);

    // Killed after the first step, and gone on with.
    let resumed = run("resumed");
    assert_eq!(resumed, straight);
    roll_back(&folder.path("resumed"), 1);
    assert_eq!(run("resumed"), straight);
}
