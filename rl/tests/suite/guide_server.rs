//! Guided evaluations over a guide server: what `rl eval --guide URL` does, with the real server and a
//! person who is a client of it.

use crate::guided::{ANN, Folder};
use crate::loops::HiddenProgress;
use crate::rollout::RolloutFixture;
use agents::guide::guidance::GuidanceState;
use agents::guide::person::{PersonRules, RemotePerson};
use agents::guide::serve::{GuideServer, GuideServerConfig};
use agents::guide::source::server_address;
use agents::guide::store::list_conversations;
use agents::guide::transcript::Transcript;
use agents::trajectory::{self, Trajectory};
use rl::eval::{self, EvalSettings, PolicyContestant};
use rl::rollout::GuideSettings;
use rl::run::settings::Validate as _;
use rl::train::presets::Scale;

#[test]
fn evaluation_at_a_guide_server_is_advised_by_a_person_who_is_its_client() {
    tch::set_num_threads(1);
    let scene = RolloutFixture::new(8);
    let folder = Folder::new();
    let server = GuideServer::bind(&GuideServerConfig {
        store: folder.path("store"),
        listen: "127.0.0.1:0".parse().unwrap(),
        annotators: None,
        public_url: None,
        is_replay: false,
    });
    let server = server.unwrap();
    let url = format!("http://{}", server.address());
    // It serves until the test's process ends.
    std::thread::spawn(move || server.run());
    let address = server_address(&url, None).unwrap();
    let person = std::thread::spawn(move || {
        RemotePerson::new(address, PersonRules::from_toml(ANN).unwrap()).watch(true, &|| false)
    });

    let mut settings = EvalSettings {
        tasks: scene.tasks(),
        split: tasks::task::Split::Train,
        attempts: 2,
        guide: Some(GuideSettings { place: Some(url), ..GuideSettings::default() }),
        ..EvalSettings::defaults(Scale::Tiny)
    };
    settings.rollout.max_model_len = 4000;
    settings.rollout.turn_tokens = 200;
    settings.rules.episode.budget.turns = 12;
    let contestant = PolicyContestant {
        name: "random".to_owned(),
        model: scene.again(),
        tokenizer: scene.tokenizer.clone(),
    };
    let settings = settings.check().unwrap();
    let out = folder.path("eval");
    let evaluation = eval::run(&settings, &[contestant], &out, &HiddenProgress).unwrap();
    assert!(evaluation.rows[0].guided && evaluation.rows[0].episodes == 4);
    let report = person.join().unwrap().unwrap();
    assert_eq!(report.runs, 4);

    let played = trajectory::read(&out.join("episodes/random.jsonl")).unwrap();
    let told = list_conversations(&folder.path("store")).unwrap();
    assert_eq!((played.len(), told.len()), (4, 4));
    let mut heard = 0;
    for id in &told {
        let told = Transcript::read(&folder.path("store"), id).unwrap();
        let key = |played: &&Trajectory| {
            (&played.task, played.attempt) == (&told.opening.task, told.opening.attempt)
        };
        let played = played.iter().find(key).unwrap();
        assert_eq!(told.turns.len(), played.turns.len());
        assert!(told.end.is_some());
        // What the policy read is what the server holds for read; the rest came too late.
        let read: Vec<&str> = played
            .guidance
            .iter()
            .map(|piece| played.segments[piece.segment].text.as_str())
            .collect();
        let mut texts = read.iter();
        for piece in &told.guidance {
            match piece.state {
                GuidanceState::Acknowledged => {
                    let text = piece.what.text.replace("</real_user>", "‹/real_user>");
                    assert!(texts.next().unwrap().contains(&text), "{read:?}");
                }
                state => assert_eq!(state, GuidanceState::Late),
            }
        }
        assert_eq!(texts.next(), None);
        heard += read.len();
    }
    assert!(heard > 0, "{report:?}");
}
