//! A model that writes evaluators and one that reads pages. The sandbox's launcher must have been
//! built (`cargo build -p sandbox`).

use super::command::{NoProgress, generate, options, recorded_by, succeed};
use super::puppet::{PuppetFault, PuppetModel, SIGNED};
use camino::Utf8Path;
use factory::corpus::ledger::{Entry, ModelUse};
use factory::corpus::pipeline;
use factory::generator::GeneratorJail;
use factory::roles::RoleName;
use factory::roles::model::{ModelPrograms, ModelRoles, RoleModel};
use factory::spec::config::Options;
use factory::verify;
use factory::verify::run::{self, JailedTrial, TrialSettings};
use fs_err as fs;
use jail::limits::RunLimits;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use support::folders::{TemporaryFolder, corpus_files};
use tasks::task::Corpus;
use tasks::units::Span;

/// Options of a corpus in which a model also writes evaluators and another reads pages.
fn with_operator_and_judge(out: &Utf8Path, count: usize) -> Options {
    let mut options = options(out, count, Some("blueprint"));
    options.roles.operator = Some("puppet".to_owned());
    options.roles.judge = Some("puppet".to_owned());
    options
}

#[test]
fn faulty_evaluators_and_unclear_pages_fall_back_and_the_corpus_passes_verification() {
    const TASKS: usize = 6;
    let folder = TemporaryFolder::new();
    let out = folder.path().join("corpus");
    let mut options = with_operator_and_judge(&out, TASKS);
    // Nine refused evaluators in each attempt would use up the calls of a slot.
    options.roles.limits.calls_per_slot = 200;
    options.roles.limits.tokens_per_slot = 2_000_000;
    let mut puppet = PuppetModel::new(&options);
    let answers = "open(private / 'answer.csv').read()";
    let raised: &'static str = format!("raise RuntimeError({answers})").leak();
    let printed: &'static str = format!("print({answers})").leak();
    puppet.evaluators = BTreeMap::from([
        (0, PuppetFault::Always("result['is_lower_better'] = not result['is_lower_better']")),
        (1, PuppetFault::First("result['score'] = result['score'] or 0.0")),
        (2, PuppetFault::Always(raised)),
        (3, PuppetFault::First("while True: pass")),
        (4, PuppetFault::FirstConversation(printed)),
        (5, PuppetFault::First("result['score'] = math.nan")),
    ]);
    puppet.misread =
        BTreeMap::from([(1, PuppetFault::First("word_error")), (2, PuppetFault::Always("bleu"))]);
    let heard = Arc::clone(&puppet.heard);
    let model = RoleModel { chat: Arc::new(puppet), name: "puppet-1".to_owned(), price: None };
    let models = BTreeMap::from([("puppet".to_owned(), model)]);
    let limits = RunLimits { time_limit: Span::seconds(5), ..JailedTrial::limits() };
    let generators = GeneratorJail::start(2).unwrap();
    let evaluators = JailedTrial::new(generators.sandbox().clone()).with_limits(limits);
    let programs = ModelPrograms { generators, evaluators: Arc::new(evaluators) };
    let roles = ModelRoles::new(options.roles.clone(), models, Some(programs)).unwrap();
    pipeline::generate(&options, &roles, &NoProgress, &AtomicBool::new(false)).unwrap();

    // What the model heard of its evaluators.
    let heard = heard.lock().unwrap();
    for (slot, said) in [
        (0, "thresholds or direction are wrong"),
        (0, "refused (evaluator_disagrees)"),
        (1, "the grader refuses it"),
        (2, "it raises RuntimeError in line"),
        (2, "refused (evaluator_fails)"),
        (3, "it takes more than 5s"),
        (4, "its standard output is not one JSON object"),
        (5, "its standard output is not one JSON object"),
    ] {
        let found = heard
            .iter()
            .any(|(s, role, text)| *s == slot && role == "evaluator" && text.contains(said));
        assert!(found, "slot {slot} heard nothing of `{said}`");
    }
    let corpus = Corpus::open(&out).unwrap();
    for task in corpus.tasks() {
        let answers = fs::read_to_string(task.path().join("prepared/private/answer.csv")).unwrap();
        let slot: u64 = task.id().as_str()[..4].parse().unwrap();
        let of_slot = heard.iter().filter(|(s, role, _)| *s == slot && role == "evaluator");
        for (_, _, text) in of_slot {
            let told = answers.lines().skip(1).find(|line| text.contains(line));
            assert_eq!(told, None, "slot {slot} heard an answer: {text}");
        }
    }

    // Who wrote what, and what was counted.
    let ledger = fs::read_to_string(out.join("ledger.jsonl")).unwrap();
    let mut fallbacks: BTreeMap<u64, Vec<RoleName>> = BTreeMap::new();
    let mut counted = Vec::new();
    for line in ledger.lines() {
        let entry: Entry = serde_json::from_str(line).unwrap();
        let ModelUse { fallbacks: of_attempt, .. } = entry.model.unwrap();
        counted.extend_from_slice(&of_attempt);
        fallbacks.insert(entry.slot, of_attempt);
    }
    for task in corpus.tasks() {
        let slot: u64 = task.id().as_str()[..4].parse().unwrap();
        let authors = &task.manifest().provenance["roles"]["authors"];
        let code = fs::read_to_string(task.path().join("source/evaluator.py")).unwrap();
        let (operator, writer) = (![0, 2].contains(&slot), slot != 2);
        assert_eq!(code.starts_with(SIGNED), operator, "slot {slot}");
        assert_eq!(authors["operator"]["model"] == "puppet", operator, "slot {slot}: {authors}");
        assert_eq!(authors["writer"]["model"] == "puppet", writer, "slot {slot}: {authors}");
        assert_eq!(authors["judge"]["model"] == "puppet", writer, "slot {slot}: {authors}");
        let expected = [(!operator, RoleName::Operator), (!writer, RoleName::Writer)];
        let expected: Vec<RoleName> =
            expected.into_iter().filter(|(falls, _)| *falls).map(|(_, role)| role).collect();
        assert_eq!(fallbacks[&slot], expected, "slot {slot}");
    }
    let unclear = heard.iter().any(|(slot, role, text)| {
        *slot == 1
            && role == "prose"
            && text.contains("page_unclear")
            && text.contains("`word_error`")
    });
    assert!(unclear, "the writer did not hear what was unclear");
    let stats = factory::show::stats::gather(&out).unwrap();
    let passage = &stats.by_model["blueprint:puppet"];
    let count = |role| counted.iter().filter(|counted| **counted == role).count();
    assert_eq!(passage.evaluator_fallbacks, count(RoleName::Operator));
    assert_eq!(passage.writer_fallbacks, count(RoleName::Writer));

    // It is a corpus like others: it is built again to the byte, and evaluators agree.
    let audit = verify::corpus::audit(&corpus).unwrap();
    assert!(audit.clean() && audit.tasks == TASKS, "{audit}");
    let tasks: Vec<_> = corpus.tasks().iter().collect();
    let settings = TrialSettings { budget: Duration::from_secs(80), ..TrialSettings::default() };
    let trials = run::run(&tasks, &settings, || (), &AtomicBool::new(false)).unwrap();
    assert!(trials.clean(), "{trials}");
}

#[test]
fn program_tries_evaluators_and_replays_to_the_same_corpus() {
    let folder = TemporaryFolder::new();
    let options = with_operator_and_judge(&folder.path().join("recorded"), 2);
    let recording = recorded_by(&folder, PuppetModel::new(&options), &options);
    let models = folder.write(
        "models.toml",
        "[endpoint.puppet]\nprotocol = \"openai\"\nbase_url = \"http://127.0.0.1:9/v1\"\n\
         model = \"puppet-1\"\n[roles]\nmode = \"blueprint\"\nmodel = \"puppet\"\n\
         operator = \"puppet\"\njudge = \"puppet\"\n",
    );
    let replayed = folder.path().join("replayed");
    let flags = ["--models", models.as_str(), "--replay", recording.as_str()];
    succeed(generate(&replayed, 2, &flags));
    assert!(corpus_files(&options.out) == corpus_files(&replayed));
    let corpus = Corpus::open(&replayed).unwrap();
    for task in corpus.tasks() {
        let code = fs::read_to_string(task.path().join("source/evaluator.py")).unwrap();
        assert!(code.starts_with(SIGNED), "{}", task.id());
    }
}

#[test]
fn model_for_evaluators_without_a_jail_is_refused() {
    let folder = TemporaryFolder::new();
    let options = with_operator_and_judge(&folder.path().join("corpus"), 1);
    let chat = Arc::new(PuppetModel::new(&options));
    let model = RoleModel { chat, name: "puppet-1".to_owned(), price: None };
    let models = BTreeMap::from([("puppet".to_owned(), model)]);
    let error = ModelRoles::new(options.roles.clone(), models, None).unwrap_err();
    assert!(error.to_string().contains("no jail for them was given"), "{error}");
}
