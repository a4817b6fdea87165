//! Drawing the tasks of a step, and those of later rounds of dynamic sampling.

use rand::seq::SliceRandom;
use tasks::stream::Stream;
use tasks::task::Task;

/// The tasks of a step: an endless row of shuffles, cut into batches, so that every task comes up
/// equally often and the tasks of a step depend on nothing but the step.
pub(super) fn draw<'t>(
    tasks: &[&'t Task],
    step: u64,
    count: usize,
    stream: Stream,
) -> Vec<&'t Task> {
    let (first, length) = (step * count as u64, tasks.len() as u64);
    let shuffled = |pass| {
        let mut order = tasks.to_vec();
        order.shuffle(&mut stream.index(pass).rng());
        order
    };
    let row = (first / length..).flat_map(shuffled);
    row.skip(usize::try_from(first % length).unwrap_or(0)).take(count).collect()
}

/// The tasks of a later draw of a step: a shuffle of its own, those that the step has not seen yet
/// before the others.
pub(super) fn draw_again<'t>(
    tasks: &[&'t Task],
    seen: &[&Task],
    count: usize,
    stream: Stream,
) -> Vec<&'t Task> {
    let mut order = tasks.to_vec();
    order.shuffle(&mut stream.rng());
    order.sort_by_key(|task| seen.iter().any(|other| other.id() == task.id()));
    order.into_iter().cycle().take(count).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use camino::Utf8Path;
    use fs_err as fs;
    use tasks::task::{Collection, MANIFEST_VERSION, Opening, Split};

    fn tasks(dir: &Utf8Path) -> Collection {
        for id in ["a", "b", "c", "d", "e"] {
            let manifest = serde_json::json!({
                "version": MANIFEST_VERSION, "id": id, "title": id, "seed_task": "none",
                "domain": "retail", "modality": "tabular", "formulation": "binary",
                "metric": "roc_auc", "id_column": "id",
                "prediction": {"kind": "probability", "column": "y"},
                "thresholds": {
                    "gold_threshold": 0.9, "silver_threshold": 0.8, "bronze_threshold": 0.7,
                    "median_threshold": 0.6
                },
                "baselines": {"ladder": [0.5, 0.7, 0.85, 0.95], "ceiling": 1.0},
                "rows": {"train": 50, "test": 40}, "split": "train", "provenance": null,
                "hashes": {}
            });
            fs::create_dir_all(dir.join(id)).unwrap();
            fs::write(dir.join(id).join("task.json"), manifest.to_string()).unwrap();
        }
        Collection::open(dir, &Opening::default()).unwrap()
    }

    #[test]
    fn a_later_draw_prefers_what_the_step_has_not_seen() {
        let dir = tempfile::tempdir().unwrap();
        let corpus = tasks(Utf8Path::from_path(dir.path()).unwrap());
        let all = corpus.split(Split::Train);
        let names = |tasks: &[&Task]| -> Vec<String> {
            tasks.iter().map(|task| task.id().to_string()).collect()
        };
        for round in 0..20 {
            let stream = Stream::root(3).index(round);
            let seen = draw(&all, round, 3, Stream::root(4));
            let again = draw_again(&all, &seen, 4, stream);
            let (fresh, old) = again.split_at(2);
            assert!(names(fresh).iter().all(|name| !names(&seen).contains(name)));
            assert!(names(old).iter().all(|name| names(&seen).contains(name)));
            assert_eq!(names(&draw_again(&all, &seen, 4, stream)), names(&again), "as before");
            assert_eq!(draw_again(&all, &seen, 7, stream).len(), 7, "more than there are");
        }
    }
}
