//! Arms, cells, pairs and theory on results made by hand.

use super::arms::{ArmRuns, ArmsFile};
use super::cell::{Cell, CellMeasure};
use super::coding::one_pass_bands;
use super::facts::{RunFacts, ScriptFacts, StepFacts};
use super::output::{AblationOutputError, ArmConditions, take_up};
use super::summary::{Ablation, AblationFrame, ArmRunsPlayed};
use crate::bench::outcome::{BenchOutcome, BenchRun, StepGrade, tests::run};
use crate::bench::way::WayShares;
use agents::automind::PolicyRule;
use agents::preset::{Preset, ScaffoldSettings};
use agents::run::node_facts::CodingStyle;
use camino::Utf8Path;
use std::collections::BTreeMap;
use tasks::thresholds::Milestone;

const TWO: &str = "[[arm]]\nname = \"a\"\n[[arm]]\nname = \"b\"\n";

fn micro() -> Preset {
    Preset::load("automind-micro", &[]).unwrap()
}

fn frame(calls: Option<u64>) -> AblationFrame {
    AblationFrame { bench: "field".to_owned(), model: "player".to_owned(), calls, slip: None }
}

#[test]
fn wrong_arms_are_told_what_to_do() {
    let wrong = [
        ("", "an ablation compares at least two arms, and there are 0"),
        ("[[arm]]\nname = \"a\"\n", "there are 1: add a table `[[arm]]`"),
        ("[[arm]]\nname = \"a\"\n[[arm]]\nname = \"a\"\n", "two arms are called `a`"),
        ("[[arm]]\nname = \"A b\"\n[[arm]]\nname = \"b\"\n", "`A b` is no name of an arm"),
        (&format!("base = \"c\"\n{TWO}"), "the base `c` is none of the arms: name one of a, b"),
        (&format!("{TWO}steps = 3\n"), "the arm `b` must have `of`"),
        (&format!("{TWO}of = \"a\"\n"), "the arm `b` must have `of`"),
        (&format!("{TWO}of = \"a\"\nsteps = 0\n"), "with `steps` of at least 1"),
        (&format!("{TWO}of = \"b\"\nsteps = 1\n"), "the arm `b` must have `of`"),
        (
            &format!("{TWO}of = \"a\"\nsteps = 1\nset = [\"steps=2\"]\n"),
            "neither `preset` nor `set`",
        ),
        (&format!("{TWO}preset = \"nope\"\n"), "failed to use the settings of the arm `b`"),
        (&format!("{TWO}set = [\"stepps=2\"]\n"), "failed to use the settings of the arm `b`"),
        (&format!("{TWO}sets = [\"steps=2\"]\n"), "the arms are not understood"),
        ("[[arm]]\nset = []\n", "the arms are not understood"),
    ];
    for (text, expected) in wrong {
        let resolved = ArmsFile::from_toml(text)
            .and_then(|file| file.resolve("automind-micro", &[], None, None));
        let error = resolved.unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
    let load = |name, preset: &str| {
        let preset = Preset::load(preset, &[]).unwrap();
        ArmsFile::load(name, &preset).unwrap_err().to_string()
    };
    let error = load("nope", "aide");
    assert!(error.contains("name one of knowledge, coding and policy, or a TOML file"), "{error}");
    let error = load("coding", "aide");
    assert!(error.contains("the scaffold `aide`: use `--preset automind-micro`"), "{error}");
}

#[test]
fn settings_of_the_command_come_before_those_of_an_arm() {
    let text = "[[arm]]\nname = \"a\"\n[[arm]]\nname = \"b\"\nset = [\"steps=3\"]\n\
                [[arm]]\nname = \"other\"\npreset = \"drafts\"\n";
    let file = ArmsFile::from_toml(text).unwrap();
    let settings = ["steps=7".to_owned()];
    let arms = file.resolve("automind-micro", &settings, Some("b"), Some(40)).unwrap();
    assert_eq!(arms.base, "b");
    let found: Vec<(&str, &str, u32)> = arms
        .played()
        .map(|(name, preset)| (name, preset.scaffold.as_str(), preset.settings.steps()))
        .collect();
    assert_eq!(found[..2], [("a", "automind", 7), ("b", "automind", 3)]);
    assert_eq!((found[2].0, found[2].1), ("other", "drafts"));
    let ScaffoldSettings::AutoMind(first) = &arms.played().next().unwrap().1.settings else {
        panic!("automind")
    };
    assert_eq!(first.calls, Some(40));
    // What is written can be read again.
    assert_eq!(ArmsFile::from_toml(&toml::to_string(&file).unwrap()).unwrap(), file);
}

#[test]
fn sets_change_what_they_are_named_after_and_nothing_else() {
    let preset = micro();
    let resolve = |name| {
        let file = ArmsFile::load(name, &preset).unwrap();
        let arms = file.resolve("automind-micro", &[], None, None).unwrap();
        let names: Vec<String> = arms.arms.iter().map(|arm| arm.name.clone()).collect();
        (arms, names.join(" "))
    };
    let (arms, names) = resolve("knowledge");
    assert_eq!(
        (arms.base.as_str(), names.as_str()),
        ("none", "none random retrieved wrong-labels")
    );
    let ScaffoldSettings::AutoMind(base) = preset.settings else { panic!("automind") };
    for (name, arm) in arms.played() {
        let ScaffoldSettings::AutoMind(found) = arm.settings else { panic!("automind") };
        assert_eq!(found.tricks.knowledge.to_string(), name);
        let mut expected = base;
        expected.tricks.knowledge = found.tricks.knowledge;
        assert_eq!(found, expected);
    }
    let (arms, names) = resolve("coding");
    assert_eq!((arms.base.as_str(), names.as_str()), ("one-pass", "adaptive one-pass stepwise"));
    for (_, arm) in arms.played() {
        let ScaffoldSettings::AutoMind(found) = arm.settings else { panic!("automind") };
        assert_eq!(found.coder.mode, found.coder.improve);
    }
    let (arms, names) = resolve("policy");
    assert_eq!((arms.base.as_str(), names.as_str()), ("aide", "automind aide best-draft"));
    let rules: Vec<(PolicyRule, usize, f64, u32)> = arms
        .played()
        .map(|(_, arm)| {
            let ScaffoldSettings::AutoMind(found) = arm.settings else { panic!("automind") };
            let policy = found.policy;
            (policy.rule, policy.drafts, policy.debug_probability, policy.debug_depth)
        })
        .collect();
    assert_eq!(rules, [(PolicyRule::AutoMind, 3, 1.0, 4), (PolicyRule::Aide, 3, 0.5, 3)]);
    assert_eq!(arms.arms[2].runs, ArmRuns::Cut { of: "automind".to_owned(), steps: 3 });
}

/// A run that asked two questions a step, of these shares of the way; the last counts.
fn played(arm: &str, task: &str, seed: u64, ways: &[f64]) -> (BenchRun, RunFacts) {
    let mut found = run(arm, task, seed, None);
    found.way = Some(WayShares { by_step: ways.to_vec() });
    let grade = |way: &f64| StepGrade {
        seconds: 0.0,
        score: (*way > 0.0).then_some(*way),
        medal: (*way > 0.5).then_some(Milestone::Bronze),
        above_median: *way > 0.3,
    };
    found.by_step = ways.iter().map(grade).collect();
    let BenchOutcome::Graded(graded) = &mut found.outcome else { unreachable!() };
    let last = found.by_step.last().unwrap();
    (graded.score, graded.medal, graded.above_median) = (last.score, last.medal, last.above_median);
    let step = |(at, _): (usize, &f64)| StepFacts {
        calls: 2,
        tokens: 100,
        script_seconds: 1.0,
        ended_at: at as f64 + 1.0,
        script: None,
    };
    (found, RunFacts { steps: ways.iter().enumerate().map(step).collect() })
}

#[test]
fn run_is_cut_where_its_questions_are_used_up() {
    let (run, facts) = played("a", "t", 0, &[0.0, 0.4, 0.6]);
    let cell = |calls, steps| Cell::of(&run, &facts, calls, steps).unwrap().unwrap();
    let whole = cell(None, None);
    assert_eq!((whole.way, whole.steps, whole.calls, whole.tokens), (Some(0.6), 3, 6, 300));
    assert_eq!((whole.valid, whole.medal, whole.seconds), (1.0, 1.0, 3.0));
    assert!((whole.reward - 0.8).abs() < 1e-12);
    // Five questions pay for two steps.
    let cut = cell(Some(5), None);
    assert_eq!((cut.way, cut.steps, cut.calls, cut.medal), (Some(0.4), 2, 4, 0.0));
    assert!((cut.reward - 0.4).abs() < 1e-12, "above the median");
    assert_eq!(cell(Some(100), Some(2)).way, Some(0.4));
    let nothing = cell(Some(1), None);
    assert_eq!((nothing.way, nothing.valid, nothing.steps), (Some(0.0), 0.0, 0));
    assert!((nothing.reward - 0.1).abs() < 1e-12);
    let ungraded = BenchRun { by_step: Vec::new(), ..run.clone() };
    let error = Cell::of(&ungraded, &facts, Some(5), None).unwrap_err().to_string();
    assert!(error.contains("with `--grade-steps`"), "{error}");
    let fault = BenchRun { outcome: BenchOutcome::Fault { why: String::new() }, ..run };
    assert_eq!(Cell::of(&fault, &facts, None, None), Ok(None));
}

#[test]
fn differences_are_paired_by_task_and_seed() {
    // ways[task][seed] of two arms. Python:
    //   d = np.array(b) - np.array(a)                      # mean 0.1167, by seed 0 and 0.2333
    //   i = rng.integers(0, 3, (10**6, 3)); j = rng.integers(0, 2, (10**6, 2))
    //   m = np.mean([[d[i[:, r], j[:, c]] for c in (0, 1)] for r in (0, 1, 2)], axis=(0, 1))
    //   m.std(), np.quantile(m, [.025, .975])              # 0.0890, -0.0667, 0.2667 (numpy 2.4)
    let a = [[0.2, 0.2], [0.3, 0.1], [0.5, 0.4]];
    let b = [[0.2, 0.5], [0.4, 0.3], [0.4, 0.6]];
    let runs = |arm: &str, ways: &[[f64; 2]; 3]| -> ArmRunsPlayed {
        let cells = ways.iter().enumerate();
        cells
            .flat_map(|(task, seeds)| {
                let name = format!("t{task}");
                (0..).zip(seeds).map(move |(seed, way)| played(arm, &name, seed, &[0.1, *way]))
            })
            .collect()
    };
    let text = format!("{TWO}[[arm]]\nname = \"cut\"\nof = \"b\"\nsteps = 1\n");
    let arms = ArmsFile::from_toml(&text).unwrap();
    let arms = arms.resolve("automind-micro", &[], None, None).unwrap();
    let mut all =
        BTreeMap::from([("a".to_owned(), runs("a", &a)), ("b".to_owned(), runs("b", &b))]);
    let ablation = Ablation::from_runs(&arms, &all, frame(None)).unwrap();
    let pair = ablation.pair("b", "a", CellMeasure::Way).unwrap();
    let found = &pair.difference;
    assert_eq!((found.cells, found.tasks, found.seeds), (6, 3, 2));
    assert!((found.mean - 0.7 / 6.0).abs() < 1e-12, "{pair:?}");
    assert!((found.error - 0.0890).abs() < 0.004, "{pair:?}");
    let (low, high) = found.interval;
    assert!((low + 0.0667).abs() < 0.02 && (high - 0.2667).abs() < 0.02, "{pair:?}");
    assert_eq!((pair.won, pair.lost), (3, 0));
    // All of eight signs: the sums .35 and -.35 are the two farthest.
    assert!((pair.p - 0.25).abs() < 1e-12, "{pair:?}");
    let seeds: Vec<(u64, usize)> =
        pair.by_seed.iter().map(|seed| (seed.seed, seed.tasks)).collect();
    assert_eq!(seeds, [(0, 3), (1, 3)]);
    assert!(pair.by_seed[0].mean.abs() < 1e-12 && (pair.by_seed[1].mean - 0.7 / 3.0).abs() < 1e-12);
    // The arm of another one's first step.
    let cut = ablation.arms.iter().find(|arm| arm.name == "cut").unwrap();
    assert_eq!(cut.of, Some(("b".to_owned(), 1)));
    assert!((cut.estimates[&CellMeasure::Way].mean - 0.1).abs() < 1e-12);
    assert_eq!((cut.costs.steps, cut.costs.calls), (1.0, 2.0));
    // Pairs with the base come first, then the others.
    let order: Vec<String> = ablation
        .pairs
        .iter()
        .filter(|pair| pair.measure == CellMeasure::Way)
        .map(|pair| format!("{} {}", pair.arm, pair.base))
        .collect();
    assert_eq!(order, ["b a", "cut a", "cut b"]);
    let text = ablation.text();
    assert!(
        text.contains("| b − a") && text.contains("+0.117") && text.contains("3 × 2"),
        "{text}"
    );
    assert!(ablation.html(Vec::new()).contains("b − a"));
    // A run that one arm has lost is in no pair.
    let lost = &mut all.get_mut("a").unwrap()[0].0;
    lost.outcome = BenchOutcome::Fault { why: "the disk is full".to_owned() };
    let ablation = Ablation::from_runs(&arms, &all, frame(None)).unwrap();
    let pair = ablation.pair("b", "a", CellMeasure::Way).unwrap();
    assert_eq!((pair.difference.cells, ablation.arms[0].faults), (5, 1));
    // An arm that was not played yet is in no table.
    all.remove("a");
    let ablation = Ablation::from_runs(&arms, &all, frame(None)).unwrap();
    assert_eq!(ablation.arms.len(), 2);
}

#[test]
fn theory_of_one_pass_is_the_chance_of_no_slip() {
    let script = |lines: usize, good: bool, coding| ScriptFacts {
        good,
        fresh: true,
        coding: Some(coding),
        complexity: None,
        lines: Some(lines),
    };
    let mut scripts: Vec<ScriptFacts> = Vec::new();
    // 100 scripts of 30 lines: .99^30 = .7397, its error sqrt(.7397 * .2603 / 100) = .0439.
    scripts.extend((0..100).map(|at| script(30, at < 70, CodingStyle::OnePass)));
    // 50 of 110 lines: .99^110 = .3310, sqrt(.3310 * .6690 / 50) = .0666.
    scripts.extend((0..50).map(|at| script(110, at < 25, CodingStyle::OnePass)));
    // Neither of these was written anew in one pass.
    scripts.push(script(30, false, CodingStyle::Stepwise));
    scripts.push(ScriptFacts { fresh: false, ..script(30, false, CodingStyle::OnePass) });
    let bands = one_pass_bands(scripts.iter(), 0.01);
    let near = |found: f64, expected: f64| (found - expected).abs() < 5e-5;
    assert_eq!(bands.len(), 3);
    let [short, long, all] = &bands[..] else { unreachable!() };
    assert_eq!((short.lines, short.scripts, short.good), ((30, 30), 100, 70));
    assert!(near(short.theory, 0.7397) && near(short.error, 0.0439), "{short:?}");
    assert!(near(long.theory, 0.3310) && near(long.error, 0.0666), "{long:?}");
    // (100 * .7397 + 50 * .3310) / 150, sqrt(100 * .1926 + 50 * .2215) / 150
    assert!(near(all.theory, 0.6035) && near(all.error, 0.0367), "{all:?}");
    assert!(short.agrees() && !long.agrees() && all.agrees(), "{bands:?}");
    assert!((long.deviation() - 2.5389).abs() < 5e-4, "{long:?}");
    assert!(one_pass_bands([].into_iter(), 0.01).is_empty());
}

#[test]
fn runs_of_other_conditions_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let out = Utf8Path::from_path(folder.path()).unwrap();
    let conditions = ArmConditions {
        bench: "synthetic".to_owned(),
        model: "script:engineer".to_owned(),
        knowledge: "hash".to_owned(),
        preset: micro(),
    };
    let arm = take_up(out, "a", &conditions).unwrap();
    assert_eq!(arm, out.join("arms/a"));
    assert_eq!(take_up(out, "a", &conditions).unwrap(), arm);
    let other = ArmConditions {
        model: "script:engineer:slip=.1".to_owned(),
        preset: Preset::load("automind-micro", &["steps=3".to_owned()]).unwrap(),
        ..conditions.clone()
    };
    let error = take_up(out, "a", &other).unwrap_err().to_string();
    assert!(
        error.contains("runs with another model, preset or setting: give another `--out`"),
        "{error}"
    );
    take_up(out, "b", &other).unwrap();
    fs_err::write(arm.join("arm.json"), "{").unwrap();
    let error = take_up(out, "a", &conditions).unwrap_err();
    assert!(matches!(error, AblationOutputError::Malformed { .. }), "{error}");
}
