//! Roles that refuse, fail and cost something, as models do: what the pipeline makes of them.

use super::*;
use crate::corpus::merge;
use crate::roles::{
    Builtin, RoleAuthor, RoleCall, RoleCost, RoleName, RoleRefusal, RoleReply, TaskFacts, TaskPage,
    TaskPart,
};
use crate::spec::blueprint::Blueprint;
use crate::spec::config::Preset;
use crate::spec::limits::RoleLimits;
use crate::spec::role_settings::RoleSettings;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use support::folders::corpus_files;
use tasks::rating::Level;
use tasks::task::{Corpus, TaskDir};

/// Shows nothing.
struct NoProgress;

impl Progress for NoProgress {
    fn planned(&self, _total: usize, _finished: usize, _notes: &[String]) {}
    fn finished(&self, _slot: &Slot, _accepted: bool) {}
}

/// One call, as the role saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SeenCall {
    role: RoleName,
    slot: u64,
    attempt: u64,
    index: u64,
    /// Code and words of the feedback.
    feedback: Option<(&'static str, String)>,
}

/// What goes wrong with a call.
enum Trouble {
    Refusal,
    /// The slot's models have used up what they may.
    Spent,
    Fault,
}

/// The built-in roles as a model would play them: some calls go wrong, and each costs something.
struct Troubled {
    /// What goes wrong with a call.
    trouble: fn(&SeenCall) -> Option<Trouble>,
    repeatable: bool,
    /// The roles that the built-in ones play if they do not deliver.
    stand_ins: &'static [RoleName],
    mechanism: RoleName,
    /// What happens to the developer's facts.
    facts: fn(&SeenCall, &mut TaskFacts),
    /// What happens to the writer's page.
    page: fn(&SeenCall, &TaskFacts, &mut String),
    seen: Mutex<Vec<SeenCall>>,
}

/// The cost of one call.
const COST: RoleCost =
    RoleCost { calls: 1, prompt_tokens: 100, completion_tokens: 10, cost_micro_usd: Some(3) };

impl Default for Troubled {
    fn default() -> Self {
        Self {
            trouble: |_| None,
            repeatable: true,
            stand_ins: &[],
            mechanism: RoleName::Strategist,
            facts: |_, _| {},
            page: |_, _, _| {},
            seen: Mutex::default(),
        }
    }
}

impl Troubled {
    fn reply<T>(
        &self,
        role: RoleName,
        origin: Origin,
        call: RoleCall<'_>,
        product: impl FnOnce(&SeenCall) -> Result<RoleReply<T>, RoleFault>,
    ) -> Result<RoleReply<T>, RoleFault> {
        let Origin { slot, attempt, .. } = origin;
        let own = |feedback: &RoleFeedback| {
            assert_eq!(feedback.role, role, "a role got the feedback of another");
            (feedback.code, feedback.detail.clone())
        };
        let feedback = call.feedback.map(own);
        let seen = SeenCall { role, slot, attempt, index: call.index, feedback };
        self.seen.lock().unwrap().push(seen.clone());
        let product = match (self.trouble)(&seen) {
            Some(Trouble::Fault) => return Err(RoleFault { role, source: "no server".into() }),
            Some(Trouble::Refusal) => Err(RoleRefusal {
                code: "bad_answer",
                detail: format!("call {} of attempt {attempt}", call.index),
            }),
            Some(Trouble::Spent) => {
                Err(RoleRefusal { code: SPENT, detail: "24 of 24 calls".to_owned() })
            }
            None => product(&seen)?.product,
        };
        let (model, prompt) = ("troubled".to_owned(), format!("{role}"));
        Ok(RoleReply { product, cost: COST, author: Some(RoleAuthor { model, prompt }) })
    }

    /// The calls of a role at slot 0.
    fn calls(&self, role: RoleName) -> Vec<SeenCall> {
        let seen = self.seen.lock().unwrap();
        seen.iter().filter(|seen| seen.role == role && seen.slot == 0).cloned().collect()
    }
}

impl Roles for Troubled {
    fn backend(&self, _brief: &Brief<'_>, authors: BTreeMap<RoleName, RoleAuthor>) -> RoleBackend {
        RoleBackend::Model { mode: "test".to_owned(), model: "troubled".to_owned(), authors }
    }

    fn stand_in(&self, role: RoleName) -> Option<&dyn Roles> {
        self.stand_ins.contains(&role).then_some(&Builtin as &dyn Roles)
    }

    fn repeatable(&self, _role: RoleName, _brief: &Brief<'_>) -> bool {
        self.repeatable
    }

    fn author(&self, part: TaskPart, brief: &Brief<'_>) -> RoleName {
        match part {
            TaskPart::Mechanism => self.mechanism,
            other => Builtin.author(other, brief),
        }
    }

    fn strategise(
        &self,
        brief: &Brief<'_>,
        call: RoleCall<'_>,
    ) -> Result<RoleReply<Blueprint>, RoleFault> {
        self.reply(RoleName::Strategist, brief.origin, call, |_| Builtin.strategise(brief, call))
    }

    fn develop(
        &self,
        blueprint: &Blueprint,
        call: RoleCall<'_>,
    ) -> Result<RoleReply<TaskFacts>, RoleFault> {
        self.reply(RoleName::Developer, blueprint.origin, call, |seen| {
            let mut reply = Builtin.develop(blueprint, call)?;
            if let Ok(facts) = &mut reply.product {
                (self.facts)(seen, facts);
            }
            Ok(reply)
        })
    }

    fn operate(
        &self,
        facts: &TaskFacts,
        call: RoleCall<'_>,
    ) -> Result<RoleReply<String>, RoleFault> {
        let origin = facts.blueprint.origin;
        self.reply(RoleName::Operator, origin, call, |_| Builtin.operate(facts, call))
    }

    fn write(
        &self,
        facts: &TaskFacts,
        scenario: &Scenario,
        call: RoleCall<'_>,
    ) -> Result<RoleReply<TaskPage>, RoleFault> {
        self.reply(RoleName::Writer, facts.blueprint.origin, call, |seen| {
            let mut reply = Builtin.write(facts, scenario, call)?;
            if let Ok(page) = &mut reply.product {
                (self.page)(seen, facts, &mut page.text);
            }
            Ok(reply)
        })
    }
}

/// A corpus in a temporary folder.
struct TestCorpus(tempfile::TempDir);

impl TestCorpus {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn out(&self) -> &Utf8Path {
        Utf8Path::from_path(self.0.path()).unwrap()
    }

    fn options(&self, count: usize) -> Options {
        Options {
            seeds: crate::spec::seed_set::MLEBENCH.to_owned(),
            count,
            val_count: Some(0),
            out: self.out().join("corpus"),
            seed: 0,
            jobs: 1,
            modalities: vec!["tabular".to_owned()],
            formulations: vec!["binary".to_owned(), "regression".to_owned()],
            shares: Vec::new(),
            preset: Preset::Large,
            levels: Vec::new(),
            concurrency: 1,
            carry_on: false,
            limits: RoleLimits::default(),
            roles: RoleSettings::default(),
            shard: None,
        }
    }

    fn generate(&self, count: usize, roles: &dyn Roles) -> Result<Record, PipelineError> {
        run(&self.options(count), roles)
    }

    fn ledger(&self) -> Vec<Entry> {
        entries(&self.out().join("corpus"))
    }
}

fn run(options: &Options, roles: &dyn Roles) -> Result<Record, PipelineError> {
    generate(options, roles, &NoProgress, &AtomicBool::new(false))
}

fn entries(corpus: &Utf8Path) -> Vec<Entry> {
    let text = fs::read_to_string(corpus.join("ledger.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The feedback of calls, in order.
fn feedback(calls: &[SeenCall]) -> Vec<Option<&str>> {
    calls.iter().map(|seen| seen.feedback.as_ref().map(|(_, detail)| detail.as_str())).collect()
}

#[test]
fn developer_that_fails_twice_is_asked_again_within_the_attempt() {
    let (ours, theirs) = (TestCorpus::new(), TestCorpus::new());
    let twice = |seen: &SeenCall| {
        (seen.role == RoleName::Developer && seen.index < 2).then_some(Trouble::Refusal)
    };
    let roles = Troubled { trouble: twice, ..Troubled::default() };
    let record = ours.generate(2, &roles).unwrap();
    assert_eq!(record, theirs.generate(2, &Builtin).unwrap());

    let calls: Vec<SeenCall> =
        roles.calls(RoleName::Developer).into_iter().filter(|seen| seen.attempt == 0).collect();
    let expected = [None, Some("call 0 of attempt 0"), Some("call 1 of attempt 0")];
    assert_eq!(feedback(&calls), expected);
    // One call of each other role, three of the developer.
    for entry in ours.ledger() {
        let model = entry.model.unwrap();
        let RoleCost { calls, prompt_tokens, completion_tokens, cost_micro_usd } = model.cost;
        assert_eq!((calls, prompt_tokens), (6, 600));
        assert_eq!((completion_tokens, cost_micro_usd), (60, Some(18)));
        assert_eq!((&*model.mode, &*model.name), ("test", "troubled"));
    }
    // The task is the built-in one, but for its provenance.
    let (ours, theirs) =
        (corpus_files(&ours.out().join("corpus")), corpus_files(&theirs.out().join("corpus")));
    assert!(ours.keys().eq(theirs.keys()));
    for (path, bytes) in &ours {
        if path.ends_with("task.json") {
            let manifest: serde_json::Value = serde_json::from_slice(bytes).unwrap();
            let roles = &manifest["provenance"]["roles"];
            assert_eq!(roles["mode"], "test");
            let author = serde_json::json!({ "model": "troubled", "prompt": "technical writer" });
            assert_eq!(roles["authors"]["writer"], author);
        } else {
            assert!(*bytes == theirs[path], "{path}");
        }
    }
}

/// Levels of the tasks of a corpus, as far as their ladders tell.
fn levels(corpus: &Utf8Path) -> Vec<u8> {
    let corpus = Corpus::open(corpus).unwrap();
    let level = |task: &TaskDir| {
        let manifest = task.manifest();
        let direction = manifest.direction();
        Level::from_ladder(&manifest.baselines, &manifest.thresholds, direction).number()
    };
    corpus.tasks().iter().map(level).collect()
}

#[test]
fn tasks_have_the_levels_that_were_asked_for() {
    let [_, second, third, fourth, fifth] = Level::ALL;
    for (asked, numbers) in [([second, third], [2, 3]), ([fourth, fifth], [4, 5])] {
        let desk = TestCorpus::new();
        let options = Options { levels: asked.to_vec(), ..desk.options(12) };
        run(&options, &Builtin).unwrap();
        let found = levels(&options.out);
        assert!(found.len() >= 9, "{found:?}");
        assert!(found.iter().all(|level| numbers.contains(level)), "{found:?}");
        let ledger = desk.ledger();
        let other = ledger.iter().filter(|entry| entry.reason.as_deref() == Some("level"));
        for entry in other.clone() {
            assert_eq!(entry.stage, Stage::Development);
            assert!(
                entry.detail.as_ref().unwrap().ends_with(&format!("{}, {}", asked[0], asked[1]))
            );
        }
        // Rules are drawn for the level: without that, two attempts in three have another than 4 or 5.
        assert!(5 * other.count() < 3 * ledger.len(), "{ledger:?}");
        // The same corpus goes on only with the same levels.
        let error = run(&Options { levels: Vec::new(), ..options }, &Builtin).unwrap_err();
        assert!(error.to_string().contains("`level` = "), "{error}");
    }
}

#[test]
fn role_that_cannot_answer_differently_is_asked_once_an_attempt() {
    let desk = TestCorpus::new();
    let early = |seen: &SeenCall| {
        (seen.role == RoleName::Developer && seen.attempt < 2).then_some(Trouble::Refusal)
    };
    let roles = Troubled { trouble: early, repeatable: false, ..Troubled::default() };
    desk.generate(1, &roles).unwrap();
    let ledger = desk.ledger();
    for entry in &ledger[..2] {
        assert_eq!(
            (entry.stage, entry.reason.as_deref()),
            (Stage::Development, Some("bad_answer"))
        );
        assert_eq!(entry.model.as_ref().unwrap().cost.calls, 2);
    }
    let calls = roles.calls(RoleName::Developer);
    assert!(calls.iter().all(|seen| seen.index == 0));
    let expected = [None, Some("call 0 of attempt 0"), Some("call 0 of attempt 1")];
    assert_eq!(feedback(&calls[..3]), expected);
    assert_eq!(feedback(&roles.calls(RoleName::Strategist)[..3]), [None; 3]);
}

#[test]
fn evaluator_that_is_refused_three_times_ends_the_attempt() {
    let desk = TestCorpus::new();
    let never = |seen: &SeenCall| (seen.role == RoleName::Operator).then_some(Trouble::Refusal);
    let roles = Troubled { trouble: never, ..Troubled::default() };
    let limits = RoleLimits { attempts: 2, ..RoleLimits::default() };
    let options = Options { limits, ..desk.options(1) };
    let record = run(&options, &roles).unwrap();
    assert_eq!((record.complete, &record.empty_slots[..]), (true, &[0][..]));
    assert_eq!((record.funnel.developed, record.funnel.accepted), (2, 0));
    let ledger = desk.ledger();
    assert_eq!(ledger.len(), 2);
    for entry in ledger {
        assert_eq!((entry.stage, entry.model.unwrap().cost.calls), (Stage::Operation, 5));
    }
    let calls = roles.calls(RoleName::Operator);
    let expected = [
        None,
        Some("call 0 of attempt 0"),
        Some("call 1 of attempt 0"),
        Some("call 2 of attempt 0"),
        Some("call 0 of attempt 1"),
        Some("call 1 of attempt 1"),
    ];
    assert_eq!(feedback(&calls), expected);
    assert!(roles.calls(RoleName::Writer).is_empty());
    // A slot that used up the attempts of its corpus is not made again.
    assert_eq!(run(&options, &roles).unwrap(), record);
    assert_eq!(roles.calls(RoleName::Operator).len(), calls.len());
}

#[test]
fn stand_in_plays_a_role_that_does_not_deliver() {
    let (ours, theirs) = (TestCorpus::new(), TestCorpus::new());
    let never = |seen: &SeenCall| (seen.role == RoleName::Writer).then_some(Trouble::Refusal);
    let stand_ins = &[RoleName::Writer];
    let roles = Troubled { trouble: never, stand_ins, ..Troubled::default() };
    let record = ours.generate(2, &roles).unwrap();
    assert_eq!(record, theirs.generate(2, &Builtin).unwrap());
    for entry in ours.ledger() {
        let model = entry.model.unwrap();
        assert_eq!(model.fallbacks, [RoleName::Writer]);
        // Three refused calls of the writer, and one of each other role.
        assert_eq!(model.cost.calls, 6);
    }
    let (ours, theirs) =
        (corpus_files(&ours.out().join("corpus")), corpus_files(&theirs.out().join("corpus")));
    for (path, bytes) in ours.iter().filter(|(path, _)| path.ends_with("description.md")) {
        assert!(*bytes == theirs[path], "{path}");
    }
    let manifest = ours.iter().find(|(path, _)| path.ends_with("task.json")).unwrap().1;
    let manifest: serde_json::Value = serde_json::from_slice(manifest).unwrap();
    assert!(manifest["provenance"]["roles"]["authors"].get("writer").is_none());
}

#[test]
fn slot_that_has_spent_its_calls_ends_and_stays_ended() {
    let desk = TestCorpus::new();
    let spent = |seen: &SeenCall| {
        (seen.role == RoleName::Developer && seen.attempt == 1).then_some(Trouble::Spent)
    };
    let first = |seen: &SeenCall, facts: &mut TaskFacts| {
        if seen.attempt == 0 {
            facts.ladder.baselines.ladder[3] = facts.ladder.baselines.ladder[0];
        }
    };
    let roles = Troubled { trouble: spent, facts: first, ..Troubled::default() };
    let record = desk.generate(1, &roles).unwrap();
    assert_eq!((record.complete, &record.empty_slots[..]), (true, &[0][..]));
    let ledger = desk.ledger();
    assert_eq!(ledger.len(), 2);
    assert_eq!((ledger[1].stage, ledger[1].reason.as_deref()), (Stage::Development, Some(SPENT)));
    let calls = roles.calls(RoleName::Developer).len();
    assert_eq!(desk.generate(1, &roles).unwrap(), record);
    assert_eq!(roles.calls(RoleName::Developer).len(), calls, "the slot is not made again");
}

#[test]
fn run_ends_if_models_fill_hardly_any_slot() {
    let desk = TestCorpus::new();
    let never = |seen: &SeenCall| (seen.role == RoleName::Operator).then_some(Trouble::Refusal);
    let roles = Troubled { trouble: never, repeatable: false, ..Troubled::default() };
    let limits = RoleLimits { attempts: 1, ..RoleLimits::default() };
    let options = Options { limits, ..desk.options(14) };
    let error = run(&options, &roles).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("10 of 10 slots") && text.contains("`bad_answer`"), "{text}");
    let carried_on = Options { carry_on: true, ..options };
    let record = run(&carried_on, &roles).unwrap();
    assert_eq!((record.complete, record.empty_slots.len()), (true, 14));
}

#[test]
fn fault_ends_the_run_and_the_same_command_finishes_it() {
    let (whole, broken) = (TestCorpus::new(), TestCorpus::new());
    whole.generate(3, &Troubled::default()).unwrap();
    let unreachable = |seen: &SeenCall| {
        (seen.role == RoleName::Writer && seen.slot == 1).then_some(Trouble::Fault)
    };
    let faulty = Troubled { trouble: unreachable, ..Troubled::default() };
    let error = broken.generate(3, &faulty).unwrap_err();
    assert!(
        matches!(&error, PipelineError::Role { source, .. } if source.role == RoleName::Writer)
    );
    let text = tasks::text::with_causes(&error);
    assert!(text.contains("run the same command again") && text.contains("no server"), "{text}");
    // The slots before the fault are kept; its own has left nothing.
    assert!(broken.ledger().iter().all(|entry| entry.slot == 0));

    broken.generate(3, &Troubled::default()).unwrap();
    assert!(
        corpus_files(&whole.out().join("corpus")) == corpus_files(&broken.out().join("corpus"))
    );
    assert_eq!(whole.ledger(), broken.ledger());
}

#[test]
fn page_that_prints_the_rule_is_written_again_and_the_data_stay() {
    let desk = TestCorpus::new();
    let page = |seen: &SeenCall, facts: &TaskFacts, page: &mut String| {
        if seen.index == 0 {
            page.push_str(&facts.blueprint.formula());
        }
    };
    let roles = Troubled { page, ..Troubled::default() };
    let record = desk.generate(1, &roles).unwrap();
    assert_eq!(record.funnel.accepted, 1);
    assert!(!record.funnel.reasons.contains_key("rule_printed"));
    let developed = roles.calls(RoleName::Developer);
    let written = roles.calls(RoleName::Writer);
    assert_eq!(written.len(), 2 * developed.len());
    assert!(
        written.iter().skip(1).step_by(2).all(|seen| {
            seen.feedback.as_ref().is_some_and(|(code, _)| *code == "rule_printed")
        })
    );
}

#[test]
fn page_of_a_role_that_cannot_answer_differently_is_refused_by_verification() {
    let desk = TestCorpus::new();
    let page = |seen: &SeenCall, facts: &TaskFacts, page: &mut String| {
        if seen.attempt < 4 {
            page.push_str(&facts.blueprint.formula());
        }
    };
    let roles = Troubled { page, repeatable: false, ..Troubled::default() };
    desk.generate(1, &roles).unwrap();
    let ledger = desk.ledger();
    let printed = ledger.iter().filter(|e| e.reason.as_deref() == Some("rule_printed"));
    let printed: Vec<u64> = printed.map(|entry| entry.attempt).collect();
    assert!(!printed.is_empty());
    for attempt in printed {
        assert_eq!(ledger[usize::try_from(attempt).unwrap()].stage, Stage::Verification);
        let next = |seen: &&SeenCall| seen.attempt == attempt + 1;
        let writer = roles.calls(RoleName::Writer);
        let (code, _) = writer.iter().find(next).unwrap().feedback.clone().unwrap();
        assert_eq!(code, "rule_printed");
        assert_eq!(roles.calls(RoleName::Developer).iter().find(next).unwrap().feedback, None);
    }
}

#[test]
fn refusal_of_the_mechanism_goes_to_its_author_with_the_scores_of_the_ladder() {
    for (author, other) in
        [(RoleName::Strategist, RoleName::Developer), (RoleName::Developer, RoleName::Strategist)]
    {
        let desk = TestCorpus::new();
        let facts = |seen: &SeenCall, facts: &mut TaskFacts| {
            if seen.attempt == 0 {
                facts.ladder.baselines.ladder[3] = facts.ladder.baselines.ladder[0];
            }
        };
        let roles = Troubled { facts, mechanism: author, ..Troubled::default() };
        desk.generate(1, &roles).unwrap();
        let first = &desk.ledger()[0];
        assert_eq!(first.reason.as_deref(), Some("not_recoverable"));
        let calls = roles.calls(author);
        let (code, detail) = calls[1].feedback.clone().unwrap();
        assert_eq!(code, "not_recoverable");
        assert!(detail.starts_with(first.detail.as_ref().unwrap()), "{detail}");
        assert!(detail.contains("R2 ") && detail.contains("ceiling "), "{detail}");
        assert_eq!(roles.calls(other)[1].feedback, None);
    }
}

#[test]
fn third_refusal_that_no_role_explains_ends_the_run() {
    let desk = TestCorpus::new();
    // What is on disk is not what a rebuild makes: the page holds a line that no role wrote.
    let page = |_: &SeenCall, _: &TaskFacts, page: &mut String| page.push_str("One more line.\n");
    let roles = Troubled { page, ..Troubled::default() };
    let error = desk.generate(1, &roles).unwrap_err();
    let PipelineError::OwnFaults { reason, .. } = &error else { panic!("{error}") };
    assert_eq!(*reason, "not_reproducible");
    assert!(error.to_string().contains("description.md"), "{error}");
    assert!(desk.ledger().is_empty());
}

#[test]
fn shard_with_its_own_limits_merges_when_its_attempts_are_used_up() {
    let desk = TestCorpus::new();
    let never = |seen: &SeenCall| (seen.role == RoleName::Operator).then_some(Trouble::Refusal);
    let roles = Troubled { trouble: never, repeatable: false, ..Troubled::default() };
    let limits = RoleLimits { attempts: 2, ..RoleLimits::default() };
    let shard = Some("1/1".parse().unwrap());
    let options = Options { limits, shard, ..desk.options(1) };
    run(&options, &roles).unwrap();
    let record = merge::merge(&desk.out().join("whole"), &[options.out]).unwrap();
    assert_eq!((record.complete, record.empty_slots), (true, vec![0]));
}

#[test]
fn limits_are_kept_in_the_record_and_others_do_not_continue_it() {
    let desk = TestCorpus::new();
    let limits = RoleLimits { attempts: 9, ..RoleLimits::default() };
    let options = Options { limits, ..desk.options(1) };
    run(&options, &Builtin).unwrap();
    let record = folder::read(&options.out).unwrap().unwrap();
    assert_eq!(record.request.limits, limits);
    let error = run(&desk.options(1), &Builtin).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("limits of the roles") && text.contains("attempts=9"), "{text}");
}

#[test]
fn ledger_of_built_in_roles_has_no_costs() {
    let desk = TestCorpus::new();
    desk.generate(1, &Builtin).unwrap();
    let text = fs::read_to_string(desk.out().join("corpus/ledger.jsonl")).unwrap();
    let entry: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    let keys: BTreeSet<&str> = entry.as_object().unwrap().keys().map(String::as_str).collect();
    let known = [
        "attempt", "cell", "detail", "family", "metric", "outcome", "reason", "slot", "stage",
        "task",
    ];
    assert_eq!(keys, BTreeSet::from(known));
    assert!(desk.ledger().iter().all(|entry| entry.model.is_none()));
}
