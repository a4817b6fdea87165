//! Planted faults: each must be caught at its stage, with the class of what has to change, and nothing
//! of it may be trained in full.

use crate::ft_fixture::{Place, SOUND, proposal};
use posttrain::ft::{CheckOutcome, Draft, ErrorClass, FtLimits, Stage};
use serde_json::json;
use std::time::Instant;
use tasks::units::{ByteSize, Span};

/// What is planted, and what must be said of it.
struct Fault {
    name: &'static str,
    plant: fn(&mut Draft),
    /// What goes wrong with the trainer.
    trainer: &'static str,
    stage: Stage,
    class: ErrorClass,
    said: &'static str,
}

impl Fault {
    /// A fault of the draft.
    const fn new(
        name: &'static str,
        plant: fn(&mut Draft),
        stage: Stage,
        class: ErrorClass,
        said: &'static str,
    ) -> Self {
        Self { name, plant, trainer: "", stage, class, said }
    }

    /// A fault of the trainer under a sound draft.
    const fn trainer(
        mode: &'static str,
        stage: Stage,
        class: ErrorClass,
        said: &'static str,
    ) -> Self {
        Self { name: mode, plant: |_| (), trainer: mode, stage, class, said }
    }
}

/// Puts lines before the sound script's last step, which prints the summary.
fn before_the_end(draft: &mut Draft, lines: &str) {
    let (head, tail) = draft.script.split_once("estimate = len(samples)").unwrap();
    draft.script = format!("{head}{lines}\nestimate = len(samples){tail}");
}

fn replace(draft: &mut Draft, from: &str, to: &str) {
    assert!(draft.script.contains(from), "{from}");
    draft.script = draft.script.replace(from, to);
}

const FAULTS: [Fault; 41] = {
    use ErrorClass::{Config, Data, Env, Oom, Planner};
    use Stage::{Debug, Mini, Sanity, Static};
    [
        Fault::new(
            "syntax error",
            |it| it.script.push_str("\nif:\n"),
            Static,
            Data,
            "is no Python",
        ),
        Fault::new(
            "missing import",
            |it| it.script.insert_str(0, "import no_such_module\n"),
            Static,
            Env,
            "imports `no_such_module`",
        ),
        Fault::new(
            "path outside of the pool",
            |it| it.script.push_str("\nopen('/etc/passwd')\n"),
            Static,
            Data,
            "`/etc/passwd` lies outside",
        ),
        Fault::new(
            "path upwards",
            |it| it.script.push_str("\nopen('data/../../secret')\n"),
            Static,
            Data,
            "lies outside",
        ),
        Fault::new(
            "path that is not there",
            |it| replace(it, "problems.jsonl", "problem.jsonl"),
            Static,
            Data,
            "`data/mathematics/problem.jsonl` is not in the raw data",
        ),
        Fault::new(
            "writes into the pool",
            |it| it.script.push_str("\nopen('data/mathematics/new', 'w')\n"),
            Static,
            Data,
            "cannot be written",
        ),
        Fault::new(
            "writes elsewhere, by a path that is made up",
            |it| it.script.push_str("\nname = 'a'\nopen(f'/usr/{name}', 'w')\n"),
            Debug,
            Data,
            "the script raised",
        ),
        Fault::new(
            "import that is made up",
            |it| it.script.insert_str(0, "__import__('no_such' + '_module')\n"),
            Debug,
            Env,
            "ModuleNotFoundError",
        ),
        Fault::new(
            "endless loop",
            |it| it.script.push_str("\nwhile True:\n    pass\n"),
            Debug,
            Data,
            "did not end within",
        ),
        Fault::new(
            "memory",
            |it| it.script.push_str("\nx = [bytearray(1 << 24) for _ in range(99)]\n"),
            Debug,
            Oom,
            "out of memory",
        ),
        Fault::new(
            "bad exit",
            |it| it.script.push_str("\nsys.exit(3)\n"),
            Debug,
            Data,
            "exited with code 3",
        ),
        Fault::new(
            "no output",
            |it| replace(it, "open(\"data.json\", \"w\"", "open(\"other.json\", \"w\""),
            Debug,
            Data,
            "left no `data.json`",
        ),
        Fault::new(
            "empty output",
            |it| before_the_end(it, "samples = []"),
            Debug,
            Data,
            "is an empty list",
        ),
        Fault::new(
            "cut output",
            |it| replace(it, "json.dump(samples, file)", "file.write(json.dumps(samples)[:-9])"),
            Debug,
            Data,
            "must be one list",
        ),
        Fault::new(
            "one field empty",
            |it| before_the_end(it, "samples[7]['output'] = ' '"),
            Debug,
            Data,
            "`output` is empty in 1 of",
        ),
        Fault::new(
            "a field of another name",
            |it| before_the_end(it, "samples[0]['answer'] = '1'"),
            Debug,
            Data,
            "unknown field `answer`",
        ),
        Fault::new(
            "direct answers without reasoning",
            |it| replace(it, "{row['solution']}\\n", ""),
            Debug,
            Data,
            "answer without reasoning",
        ),
        Fault::new(
            "3,000 samples",
            |it| {
                before_the_end(
                    it,
                    "samples = [dict(samples[i % 500], input=str(i)) for i in range(3000)]",
                );
            },
            Debug,
            Data,
            "a full run would write 3000 samples",
        ),
        Fault::new(
            "answers in another format",
            |it| {
                replace(it, "\\n\\\\boxed{{{row['answer']}}}", "\\nThe answer is {row['answer']}.");
            },
            Debug,
            Data,
            "the scorer cannot read the answer of sample 0 (`format`)",
        ),
        Fault::new(
            "answers without an end",
            |it| replace(it, "\\n\\\\boxed{{{row['answer']}}}", "\\n\\\\boxed{{{row['answer']}"),
            Debug,
            Data,
            "(`truncated`)",
        ),
        Fault::new(
            "filters that keep 1.5 % together, each sane alone",
            |it| {
                it.proposal.accept_retention = false;
                before_the_end(
                    it,
                    "for name, share in ('short', 0.3), ('clean', 0.5), ('hard', 0.55):\n    \
                     seen = len(samples)\n    samples = samples[:int(seen * share)]\n    \
                     filters.append({'name': name, 'seen': seen, 'kept': len(samples)})",
                );
            },
            Debug,
            Data,
            "all filters together keep 1.5 %",
        ),
        Fault::new(
            "duplicates",
            |it| before_the_end(it, "samples = [samples[i * 2 // 5] for i in range(100)]"),
            Debug,
            Data,
            "60 % of the samples are there twice",
        ),
        Fault::new(
            "no summary",
            |it| replace(it, "\"SUMMARY \"", "\"SUM \""),
            Debug,
            Data,
            "must print a line such as `SUMMARY",
        ),
        Fault::new(
            "every sample over-long",
            |it| before_the_end(it, "for sample in samples:\n    sample['input'] = 'word ' * 500"),
            Mini,
            Data,
            "no example to train on",
        ),
        Fault::new(
            "most samples over-long",
            |it| {
                before_the_end(
                    it,
                    "for sample in samples[20:]:\n    sample['input'] = 'word ' * 500",
                );
            },
            Sanity,
            Data,
            "80 % of the samples are longer than `context`",
        ),
        Fault::new(
            "unknown key",
            |it| it.config.push_str("learning_rat = 1e-3\n"),
            Static,
            Config,
            "did you mean `learning_rate`?",
        ),
        Fault::new(
            "wrong type",
            |it| it.config = "epochs = \"3\"\n".into(),
            Static,
            Config,
            "a whole number",
        ),
        Fault::new(
            "rate 10",
            |it| it.config.push_str("learning_rate = 10\n"),
            Static,
            Config,
            "at most 0.1, and is 10",
        ),
        Fault::new(
            "context beyond the model",
            |it| it.config.push_str("context = 100000\n"),
            Static,
            Config,
            "what the model can read",
        ),
        Fault::new(
            "other data",
            |it| it.config.push_str("data = [\"/tmp/mine.json\"]\n"),
            Static,
            Config,
            "`data` is set by the run",
        ),
        Fault::new(
            "adapters where there are none",
            |it| it.config.push_str("[lora]\nrank = 4\n"),
            Static,
            Config,
            "leave it out",
        ),
        Fault::new(
            "batch that cannot fit",
            |it| it.config.push_str("batch = 4096\n"),
            Mini,
            Oom,
            "an update needs 64GiB of memory, and 1GiB are free",
        ),
        Fault::new(
            "NaN from a rate",
            |it| it.config.push_str("learning_rate = 0.09\n"),
            Mini,
            Config,
            "is not finite at step 3",
        ),
        Fault::new(
            "a teacher that is not there",
            |it| {
                let teacher = json!({"teacher": "weak", "what": "reasoning"});
                it.proposal.data.synthesis = serde_json::from_value(teacher).unwrap();
            },
            Static,
            Planner,
            "is `weak`, and this run has none",
        ),
        Fault::new(
            "a source that is not there",
            |it| it.proposal.data.sources[0].source = "poetry".into(),
            Static,
            Planner,
            "and the pool has chemistry, finance, mathematics",
        ),
        Fault::trainer("nan", Sanity, Config, "the loss of update 3 is not finite"),
        Fault::trainer("explodes", Sanity, Config, "at update 5"),
        Fault::trainer("no-tokens", Sanity, Data, "trains on no token"),
        Fault::trainer("killed", Mini, Env, "signal: 9"),
        Fault::trainer("disk", Mini, Env, "No space left"),
        Fault::trainer("no-weights", Mini, Env, "there are no weights"),
    ]
};

#[test]
fn planted_faults_are_caught_at_their_stage_with_their_class() {
    let mut settings = posttrain::ft::FtSettings::default();
    settings.limits = FtLimits {
        methods: vec![posttrain::ft::Method::Full],
        debug_data: Span::seconds(3),
        script_memory: ByteSize::mib(512),
        ..settings.limits
    };
    let place = Place::new(settings);
    let mut seconds = Vec::new();
    for fault in FAULTS {
        let Fault { name, plant, trainer, stage, class, said } = fault;
        let mut draft = Draft {
            proposal: proposal(),
            script: SOUND.to_owned(),
            config: "epochs = 8\n".to_owned(),
            parent_data: None,
        };
        plant(&mut draft);
        place.mode(trainer);
        let began = Instant::now();
        let found = place.validate(&draft);
        seconds.push(began.elapsed().as_secs_f64());
        assert!(found.plan.is_none(), "{name} passed: {:?}", found.checks);
        let (found_stage, rejection) = found.rejection().unwrap();
        assert_eq!((found_stage, rejection.class), (stage, class), "{name}: {rejection}");
        assert!(rejection.message.contains(said), "{name}: {rejection}");
    }
    seconds.sort_by(f64::total_cmp);
    assert!(seconds[seconds.len() / 2] < 5.0, "{seconds:?}");
    // Whatever was trained was so on a few samples.
    assert!(place.trainings().iter().all(|line| line.contains("/mini/")));
}

#[test]
fn trainer_that_hangs_or_runs_out_of_memory_is_ended_in_time() {
    let mut settings = posttrain::ft::FtSettings::default();
    settings.limits.mini_run = Span::seconds(3);
    let place = Place::new(settings);
    let draft = Place::sound();
    for (mode, class, said) in [
        ("hangs", ErrorClass::Config, "took longer than"),
        ("memory", ErrorClass::Oom, "CUDA out of memory"),
    ] {
        place.mode(mode);
        let (stage, rejection) = place.validate(&draft).rejection().unwrap();
        assert_eq!((stage, rejection.class), (Stage::Mini, class), "{mode}: {rejection}");
        assert!(rejection.message.contains(said), "{mode}: {rejection}");
    }
    // What cannot be read of the trainer is our fault, and no planner's.
    place.mode("estimate");
    assert!(place.try_validate(&draft).is_err());
}

#[test]
fn sound_draft_passes_all_stages_and_soft_findings_are_warnings() {
    let place = Place::new(posttrain::ft::FtSettings::default());
    let found = place.validate(&Place::sound());
    let stages: Vec<Stage> = found.checks.iter().map(|check| check.stage).collect();
    assert_eq!(stages, [Stage::Static, Stage::Debug, Stage::Mini, Stage::Sanity]);
    assert!(found.plan.is_some(), "{:?}", found.checks);
    // The one filter keeps 18 %, which the proposal says is meant.
    let CheckOutcome::Warned { messages } = &found.checks[1].outcome else {
        panic!("{:?}", found.checks)
    };
    assert!(messages[0].contains("has a solution 540 of 3000"), "{messages:?}");

    let mut other = Place::sound();
    replace(&mut other, "\"system\": SYSTEM", "\"system\": \"Guess.\"");
    let found = place.validate(&other);
    let CheckOutcome::Warned { messages } = &found.checks[1].outcome else {
        panic!("{:?}", found.checks)
    };
    assert!(
        messages.iter().any(|said| said.contains("a system message that the scorer does not")),
        "{messages:?}"
    );
}
