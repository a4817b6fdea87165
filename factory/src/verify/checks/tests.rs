//! Plants every fault and sees it caught by the check that is there for it.

use super::*;
use crate::corpus::folder;
use crate::data::items::Item;
use crate::data::labels::Truth;
use crate::data::score::Forecast;
use crate::data::table;
use crate::media::Format;
use crate::numeric::rounding::digits;
use crate::package;
use crate::roles::{Brief, RoleBackend, TaskPage, strategist};
use crate::spec::blueprint::{BLUEPRINT_VERSION, Origin};
use crate::spec::config::Request;
use crate::spec::layout::{ItemLayout, Labels, Layout, RowLayout};
use crate::spec::mix::{Cell, Mix};
use crate::spec::scenario::Story;
use crate::spec::seed_set::{MLEBENCH, SeedSet};
use crate::spec::{plan, scenario};
use crate::verify::corpus;
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use std::collections::BTreeMap;
use tasks::task::{Formulation, Modality};

mod items;
mod page;
mod paths;
mod rows;
mod sequences;

/// Attempts at a sound task.
const ATTEMPTS: u64 = 20;

/// What the files of a draft are written from, for faults to be planted in.
struct UnwrittenDraft {
    facts: TaskFacts,
    description: String,
}

/// A sound task of one formulation in a folder of its own.
struct Bench {
    root: tempfile::TempDir,
    staged: Staged,
    story: Scenario,
}

impl Bench {
    fn new(formulation: Formulation) -> Self {
        let modality = match formulation {
            Formulation::Forecasting => Modality::TimeSeries,
            _ => Modality::Tabular,
        };
        Self::of(Cell { modality, formulation })
    }

    fn of(cell: Cell) -> Self {
        Self::written_as(cell, None)
    }

    /// With items of a format, or of the usual one.
    fn written_as(cell: Cell, format: Option<Format>) -> Self {
        Self::labelled(cell, format, &Labels::Column)
    }

    /// The same with the answers of training rows where they are wanted.
    fn labelled(cell: Cell, format: Option<Format>, labels: &Labels) -> Self {
        let root = tempfile::tempdir().unwrap();
        let set = SeedSet::resolve(MLEBENCH).unwrap();
        let seeds = set.seeds();
        let mut stories = scenario::all().unwrap();
        stories.retain(|story| match (&story.story, format) {
            (Story::Table(table), Some(format)) => table
                .item
                .as_ref()
                .is_none_or(|item| item.medium.reader().formats().contains(&format)),
            _ => true,
        });
        let mix = Mix::paper().only(|other| other == cell).unwrap();
        let request = Request { mix, count: 1, val_count: 0, ..Request::for_tests() };
        let plan = plan::plan(&request, seeds, &stories).unwrap();
        let slot = &plan.slots[0];
        let story = stories[slot.scenario].clone();
        for attempt in 0..ATTEMPTS {
            let origin = Origin { corpus_seed: 0, slot: slot.index, attempt };
            let (seed, preset) = (&seeds[slot.seed], request.preset);
            let levels = request.levels;
            let brief = Brief { slot, seed, scenario: &story, origin, preset, levels };
            let mut blueprint = strategist::strategise(&brief).unwrap();
            if let Layout::Rows(RowLayout { item: Some(item) }) = &mut blueprint.layout {
                item.labels = labels.clone();
            }
            let other = |item: &ItemLayout| {
                item.format != format.unwrap_or(item.medium.reader().formats()[0])
            };
            if blueprint.item().is_some_and(other) {
                continue;
            }
            let draft = package::rebuild(&blueprint.into(), &story, None).unwrap();
            let staged = package::stage(draft, path(&root)).unwrap();
            if check(&staged).is_ok() {
                return Self { root, staged, story };
            }
        }
        panic!("no sound {cell} task in {ATTEMPTS} attempts");
    }

    /// The task with a change in its draft, written anew.
    fn with(&self, change: impl FnOnce(&mut UnwrittenDraft)) -> Staged {
        let Draft { files, facts, .. } = &self.staged.draft;
        let text = |path: &str| String::from_utf8(files[path].clone()).unwrap();
        let mut draft = UnwrittenDraft {
            facts: facts.clone(),
            description: text("prepared/public/description.md"),
        };
        change(&mut draft);
        let UnwrittenDraft { facts, description } = draft;
        let evaluator = text("source/evaluator.py");
        let page = TaskPage { text: description, prose: None };
        let draft = Draft::new(facts, evaluator, page, RoleBackend::Builtin).unwrap();
        package::stage(draft, &self.fresh()).unwrap()
    }

    /// A folder of its own, so that a test can plant several faults side by side.
    fn fresh(&self) -> Utf8PathBuf {
        Utf8PathBuf::from_path_buf(tempfile::tempdir_in(&self.root).unwrap().keep()).unwrap()
    }

    /// The task with a change in its files that its manifest knows of.
    fn with_files(&self, change: impl FnOnce(&mut BTreeMap<String, Vec<u8>>)) -> Staged {
        let mut draft = self.staged.draft.clone();
        change(&mut draft.files);
        package::stage(draft, &self.fresh()).unwrap()
    }

    /// The task with a change in one of its files.
    fn with_file(&self, file: &str, change: impl FnOnce(String) -> String) -> Staged {
        let staged = self.with(|_| {});
        let path = staged.dir.path().join(file);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, change(text)).unwrap();
        staged
    }
}

fn path(root: &tempfile::TempDir) -> &Utf8Path {
    Utf8Path::from_path(root.path()).unwrap()
}

fn binary() -> Bench {
    Bench::new(Formulation::Binary)
}

fn regression() -> Bench {
    Bench::new(Formulation::Regression)
}

/// The code of the refusal; panics if there is none.
fn code(result: Result<(), Refusal>) -> &'static str {
    let refusal = result.expect_err("the fault went unseen");
    // Seen where a test fails.
    println!("{refusal}");
    refusal.code()
}

/// Rows from the lowest truth to the highest.
fn by_truth(truth: &[f64]) -> Vec<usize> {
    let mut rows: Vec<usize> = (0..truth.len()).collect();
    rows.sort_by(|a, b| truth[*a].total_cmp(&truth[*b]));
    rows
}

/// A share of the way from R0 to the ceiling.
fn way(draft: &UnwrittenDraft, share: f64) -> f64 {
    let baselines = &draft.facts.ladder.baselines;
    baselines.ladder[0] + share * (baselines.ceiling - baselines.ladder[0])
}

#[test]
fn sound_tasks_of_every_kind_pass_and_rebuild() {
    for formulation in [
        Formulation::Binary,
        Formulation::Multiclass,
        Formulation::Regression,
        Formulation::Forecasting,
    ] {
        let bench = Bench::new(formulation);
        rebuilds(&bench.staged, &bench.story, Rebuild::Whole).unwrap();
    }
}

#[test]
fn rungs_that_are_equal_are_within_noise() {
    let bench = binary();
    let task = bench.with(|draft| {
        let forecasts = &mut draft.facts.ladder.forecasts;
        forecasts[2] = forecasts[1].clone();
    });
    assert_eq!(code(check(&task)), "gap_within_noise");
}

#[test]
fn rungs_in_the_wrong_order_are_seen() {
    let bench = binary();
    let task = bench.with(|draft| draft.facts.ladder.forecasts.swap(1, 2));
    assert_eq!(code(check(&task)), "gap_within_noise");
}

#[test]
fn gold_at_the_ceiling_is_seen() {
    let bench = binary();
    let task = bench.with(|draft| {
        draft.facts.thresholds.gold_threshold = draft.facts.ladder.baselines.ceiling;
    });
    assert_eq!(code(check(&task)), "gold_at_ceiling");
}

#[test]
fn a_top_rung_that_gets_nowhere_is_seen() {
    let bench = binary();
    let task = bench.with(|draft| {
        draft.facts.ladder.baselines.ladder[3] = way(draft, 0.6);
    });
    assert_eq!(code(check(&task)), "not_recoverable");
}

#[test]
fn targets_that_nothing_explains_are_seen() {
    let bench = regression();
    let task = bench.with(|draft| {
        // What a forest says of other rows is as good as noise.
        if let Forecast::Numbers(values) = &mut draft.facts.ladder.out_of_bag {
            values.rotate_left(17);
        }
    });
    assert_eq!(code(check(&task)), "unlearnable");
}

#[test]
fn a_column_that_is_the_target_is_seen() {
    let bench = regression();
    let task = bench.with(|draft| {
        let assets = &mut draft.facts.assets;
        table::put(&mut assets.train, assets.train_truth.column("copy"));
        table::put(&mut assets.test, assets.test_truth.column("copy"));
    });
    assert_eq!(code(check(&task)), "trivial");
}

#[test]
fn milestones_out_of_order_are_seen() {
    let bench = binary();
    let task = bench.with(|draft| {
        let thresholds = &mut draft.facts.thresholds;
        std::mem::swap(&mut thresholds.silver_threshold, &mut thresholds.bronze_threshold);
    });
    assert_eq!(code(check(&task)), "not_ordered");
}

#[test]
fn a_sample_as_good_as_the_median_is_seen() {
    let bench = regression();
    let task = bench.with(|draft| {
        // A little below the best constant's own score.
        draft.facts.thresholds.median_threshold = way(draft, -0.05);
    });
    assert_eq!(code(disk::sample_is_unrewarded(&task)), "sample_rewarded");
    assert_eq!(code(check(&task)), "not_ordered");
}

#[test]
fn a_constant_that_medals_is_seen() {
    // Forecasts are never scored by correlations, for which constants have no score at all.
    for bench in [binary(), Bench::new(Formulation::Forecasting)] {
        // A little below the best constant's own score.
        let task = bench.with(|draft| {
            draft.facts.thresholds.bronze_threshold = way(draft, -0.05);
        });
        assert_eq!(code(disk::no_constant_medals(&task)), "constant_medals");
    }
}

fn scene(formulation: Formulation) -> Bench {
    Bench::of(Cell { modality: Modality::Image, formulation })
}

#[test]
fn faults_of_masks_boxes_and_pictures_are_seen() {
    for formulation in
        [Formulation::Segmentation, Formulation::Detection, Formulation::Reconstruction]
    {
        let bench = scene(formulation);
        rebuilds(&bench.staged, &bench.story, Rebuild::Whole).unwrap();
        let task = bench.with(|draft| {
            draft.facts.thresholds.bronze_threshold = way(draft, -0.05);
        });
        assert_eq!(code(disk::no_constant_medals(&task)), "constant_medals");
        let task = bench.with(|draft| {
            let assets = &mut draft.facts.assets;
            assets.test_items[3] = assets.train_items[5].clone();
        });
        assert_eq!(code(leaks::no_duplicates(&task)), "duplicate");
        let task = bench.with(|draft| {
            let assets = &mut draft.facts.assets;
            for (test, train) in assets.test_items.iter_mut().zip(&assets.train_items).take(40) {
                *test = Item::new(test.bytes.clone(), train.reading().clone());
            }
        });
        assert_eq!(code(leaks::no_near_copies(&task)), "near_copy");
        let task = bench.with(|draft| {
            // The rungs' order is lost, and so is what the generic rung learnt.
            let ladder = &mut draft.facts.ladder;
            ladder.forecasts.swap(1, 2);
        });
        assert_eq!(code(super::ladder::gaps_exceed_noise(&task.draft.facts)), "gap_within_noise");
        let task = bench.with(|draft| {
            let rule = draft.facts.blueprint.formula();
            draft.description.push_str(rule.split("; ").next().unwrap());
        });
        assert_eq!(code(printed::rule_is_not_printed(&task)), "rule_printed");
        let task = bench.with(|draft| {
            let assets = &mut draft.facts.assets;
            let target = assets.train_truth.as_numbers();
            let rows = by_truth(&target);
            assets.train_truth = assets.train_truth.take(&rows);
        });
        assert_eq!(code(leaks::say_nothing(&task, &[Carrier::Order])), "order_leak");
    }
}

#[test]
fn faults_of_texts_are_seen() {
    for formulation in [Formulation::Normalisation, Formulation::Extraction] {
        let bench = Bench::of(Cell { modality: Modality::Text, formulation });
        rebuilds(&bench.staged, &bench.story, Rebuild::Whole).unwrap();
        let task = bench.with(|draft| draft.facts.thresholds.bronze_threshold = 0.001);
        assert_eq!(code(disk::no_constant_medals(&task)), "constant_medals");
        let task = bench.with(|draft| {
            let assets = &mut draft.facts.assets;
            assets.test_items[3] = assets.train_items[5].clone();
        });
        assert_eq!(code(leaks::no_duplicates(&task)), "duplicate");
        let task = bench.with(|draft| {
            let assets = &mut draft.facts.assets;
            let known = String::from_utf8_lossy(&assets.train_items[5].bytes).into_owned();
            assets.test_items[3].bytes = known.replacen("The ", "This ", 1).into_bytes();
        });
        assert_eq!(code(super::copies::no_item_is_a_copy(&task)), "text_copy");
        let task = bench.with(|draft| draft.facts.ladder.forecasts.swap(1, 2));
        assert_eq!(code(super::ladder::gaps_exceed_noise(&task.draft.facts)), "gap_within_noise");
        let task = bench.with(|draft| {
            // What was learnt from the training rows is no better than what was known before.
            draft.facts.ladder.out_of_bag = draft.facts.ladder.start.clone().unwrap();
        });
        assert_eq!(code(super::ladder::learnable(&task.draft.facts)), "unlearnable");
        let task = bench.with(|draft| {
            let rule = draft.facts.blueprint.formula();
            draft.description.push_str(rule.split("; ").next().unwrap());
        });
        assert_eq!(code(printed::rule_is_not_printed(&task)), "rule_printed");
        let task = bench.with(|draft| {
            let assets = &mut draft.facts.assets;
            let rows = by_truth(&assets.train_truth.as_numbers());
            assets.train_truth = assets.train_truth.take(&rows);
        });
        assert_eq!(code(leaks::say_nothing(&task, &[Carrier::Order])), "order_leak");
    }
}

#[test]
fn a_perfect_answer_without_gold_is_seen() {
    for bench in [binary(), regression()] {
        let task = bench.with(|draft| {
            let direction = draft.facts.blueprint.metric.direction();
            draft.facts.thresholds.gold_threshold = direction.gain(2.0);
        });
        assert_eq!(code(disk::perfect_answer_earns_gold(&task)), "perfect_not_gold");
    }
}

#[test]
fn a_sample_that_is_not_valid_is_seen() {
    let bench = binary();
    let task = bench.with_file("prepared/public/sample_submission.csv", |text| {
        text.lines().take(9).collect::<Vec<_>>().join("\n")
    });
    assert_eq!(code(disk::ordered(&task)), "sample_invalid");
    assert_eq!(code(disk::sample_is_unrewarded(&task)), "sample_invalid");
}

#[test]
fn a_malformed_submission_that_is_accepted_is_seen() {
    // With a stray last line, the sample minus its last line is whole.
    let bench = binary();
    let task = bench.with_file("prepared/public/sample_submission.csv", |text| {
        let last = text.lines().last().unwrap_or_default().to_owned();
        format!("{text}{last}\n")
    });
    assert_eq!(code(disk::malformed_is_refused(&task)), "malformed_accepted");
}

#[test]
fn files_that_are_not_the_manifests_are_seen() {
    let bench = binary();
    let task = bench.with_file("prepared/private/answer.csv", |text| text.replace(",1", ",0"));
    assert_eq!(code(check(&task)), "contract");
    let task = bench.with(|_| {});
    fs::write(task.dir.public().path().join("answer.csv"), "").unwrap();
    assert_eq!(code(check(&task)), "contract");
}

#[test]
fn a_task_that_is_built_differently_is_seen() {
    let bench = binary();
    for (file, change) in [
        ("prepared/public/train.csv", "0"),
        ("prepared/private/answer.csv", "\n"),
        ("source/evaluator.py", "# changed"),
    ] {
        let task = bench.with_file(file, |text| text + change);
        for rebuild in [Rebuild::Data, Rebuild::Whole] {
            let found = rebuilds(&task, &bench.story, rebuild);
            assert_eq!(code(found), "not_reproducible");
        }
    }
}

#[test]
fn baselines_that_come_out_differently_are_seen_by_a_whole_rebuild() {
    let bench = binary();
    let task = bench.with(|draft| {
        draft.facts.thresholds.bronze_threshold = way(draft, 0.4);
    });
    rebuilds(&task, &bench.story, Rebuild::Data).unwrap();
    let found = rebuilds(&task, &bench.story, Rebuild::Whole);
    assert_eq!(code(found), "not_reproducible");
}

#[test]
fn a_damaged_blueprint_is_a_broken_contract() {
    let bench = binary();
    let task = bench.with_file("source/blueprint.json", |text| text[..200].to_owned());
    assert_eq!(code(rebuilds(&task, &bench.story, Rebuild::Whole)), "contract");
}

#[test]
fn blueprint_of_an_older_version_is_told_from_a_damaged_one() {
    let bench = binary();
    let version = |number: u32| format!("\"version\": {number}");
    let older = |text: String| {
        text.replacen(&version(BLUEPRINT_VERSION), &version(BLUEPRINT_VERSION - 1), 1)
    };
    let task = bench.with_file("source/blueprint.json", older);
    assert_eq!(code(rebuilds(&task, &bench.story, Rebuild::Whole)), "other_version");
}

#[test]
fn task_with_a_story_of_its_own_is_verified_without_the_embedded_ones() {
    let bench = binary();
    let mut blueprint = bench.staged.draft.facts.blueprint.clone();
    let Story::Table(mut story) = bench.story.story.clone() else { panic!("a table") };
    story.story = "A village keeps a book of its bees. It wants to know more.".to_owned();
    blueprint.story = Some(Story::Table(story));
    let scenario = blueprint.scenario_among(&[]).unwrap().into_owned();
    let draft = package::rebuild(&blueprint.into(), &scenario, None).unwrap();
    let task = package::stage(draft, &bench.fresh()).unwrap();
    let page = fs::read_to_string(task.dir.public().path().join("description.md")).unwrap();
    assert!(page.contains("a book of its bees"), "{page}");
    assert!(corpus::one(&task.dir, &[]).is_empty());

    let place = task.dir.path().join("source/blueprint.json");
    let text = fs::read_to_string(&place).unwrap();
    fs::write(&place, text.replace("a book of its bees", "<b>a book</b>")).unwrap();
    let [refusal] = &corpus::one(&task.dir, &[])[..] else { panic!("one refusal") };
    assert!(refusal.to_string().contains("its story cannot be used"), "{refusal}");
    assert_eq!(refusal.code(), "contract");
}

#[test]
fn all_that_is_wrong_with_a_task_is_told() {
    let bench = binary();
    let stories = scenario::all().unwrap();
    let task = bench.with(|_| {});
    assert!(corpus::one(&task.dir, &stories).is_empty());
    let told = || -> Vec<(&str, String)> {
        let found = corpus::one(&task.dir, &stories);
        found.iter().map(|refusal| (refusal.code(), refusal.to_string())).collect()
    };
    let root = task.dir.path();
    let answers = root.join("prepared/private/answer.csv");
    fs::copy(&answers, root.join("prepared/public/answer.csv")).unwrap();
    fs::write(root.join("prepared/private/threshold.json"), "{}").unwrap();
    fs::write(&answers, "id\n").unwrap();
    let table = root.join("prepared/public/test.csv");
    let file = fs::OpenOptions::new().write(true).open(table).unwrap();
    file.set_modified(std::time::SystemTime::now()).unwrap();
    let found = told();
    let codes: Vec<&str> = found.iter().map(|(code, _)| *code).collect();
    assert_eq!(codes, ["not_reproducible", "not_reproducible", "contract", "time_leak"]);
    for (at, what) in [(0, "answer.csv"), (1, "threshold.json"), (2, "public/answer.csv")] {
        assert!(found[at].1.contains(what), "{found:?}");
    }
}

#[test]
fn publishing_moves_the_whole_folder() {
    let bench = binary();
    let out = Utf8PathBuf::from_path_buf(bench.root.path().join("out")).unwrap();
    fs::create_dir_all(&out).unwrap();
    let task = verify(bench.staged.draft, path(&bench.root)).unwrap();
    let place = folder::publish(&task, &out).unwrap();
    let opened = tasks::task::TaskDir::open(&place).unwrap();
    assert!(matches!(task.get().draft.facts.assets.test_truth, Truth::Classes { .. }));
    let TaskFacts { blueprint, assets, .. } = &task.get().draft.facts;
    let further = blueprint.kind().files(blueprint, assets).len();
    assert_eq!(opened.manifest().hashes.len(), 8 + further);
}

#[test]
fn links_that_are_written_by_class_are_seen() {
    let bench = Bench::of(Cell { modality: Modality::Graph, formulation: Formulation::Multiclass });
    rebuilds(&bench.staged, &bench.story, Rebuild::Whole).unwrap();
    let class = |draft: &UnwrittenDraft| {
        let assets = &draft.facts.assets;
        [assets.train_truth.as_numbers(), assets.test_truth.as_numbers()].concat()
    };
    let order = bench.with(|draft| {
        let class = class(draft);
        let ends = |[source, target]: &[usize; 2]| class[*source] + class[*target];
        draft.facts.assets.links.sort_by(|a, b| ends(a).total_cmp(&ends(b)));
    });
    let direction = bench.with(|draft| {
        let class = class(draft);
        for link in &mut draft.facts.assets.links {
            link.sort_by(|a, b| class[*a].total_cmp(&class[*b]));
        }
    });
    for (task, planted) in [(order, "order"), (direction, "direction")] {
        let found = check(&task).unwrap_err();
        let link = |what: &str| what.contains(planted) && what.contains("links");
        assert!(matches!(&found, Refusal::Leak { what, .. } if link(what)), "{found}");
    }
}
