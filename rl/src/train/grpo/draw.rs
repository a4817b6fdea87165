//! Drawing the tasks of a step, and those of later rounds of dynamic sampling.

use super::curriculum::{Curriculum, GroupHistory, HalfLife, Sampler};
use rand::RngExt;
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};
use tasks::stream::Stream;
use tasks::task::TaskId;

/// Draws the tasks of each step from named streams. With the sampler `adaptive` draws also depend
/// on the groups of earlier steps, which are its state.
#[derive(Debug)]
pub(super) struct TaskSampler<'t> {
    tasks: Vec<&'t TaskId>,
    per_step: usize,
    root: Stream,
    /// `None` with the sampler `uniform`.
    adaptive: Option<Adaptive>,
}

#[derive(Debug)]
struct Adaptive {
    floor: f64,
    half_life: HalfLife,
    history: GroupHistory,
}

/// What a step's draws were like, in `metrics.jsonl`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct DrawMetrics {
    /// The share of groups whose rewards were expected to differ, in [0, 1].
    pub(super) expected_mixed_groups: f64,
    /// The effective number of tasks: e to the entropy of the draw distribution, between 1 and the
    /// number of tasks.
    pub(super) effective_tasks: f64,
    /// Share of draws of tasks whose weight is the floor, in [0, 1].
    pub(super) floor_draws: f64,
}

impl<'t> TaskSampler<'t> {
    /// A sampler of `tasks`, `per_step` of them at a time; `history` is the state of a run that is
    /// resumed.
    pub(super) fn new(
        settings: &Curriculum,
        tasks: Vec<&'t TaskId>,
        per_step: usize,
        root: Stream,
        history: Option<GroupHistory>,
    ) -> Self {
        let pass = tasks.len() as f64 / per_step as f64;
        let adaptive = (settings.sampler == Sampler::Adaptive).then(|| Adaptive {
            floor: settings.floor,
            half_life: HalfLife(settings.half_life * pass),
            history: history.unwrap_or_default(),
        });
        Self { tasks, per_step, root, adaptive }
    }

    /// The tasks of a step.
    pub(super) fn draw(&self, step: u64) -> Vec<&'t TaskId> {
        let (count, stream) = (self.per_step, self.root.child("tasks"));
        match &self.adaptive {
            None => draw(&self.tasks, step, count, stream),
            Some(adaptive) => {
                let stream = stream.child("adaptive").index(step);
                let rounds =
                    (0..).flat_map(|round| adaptive.order(&self.tasks, step, stream.index(round)));
                rounds.take(count).collect()
            }
        }
    }

    /// `count` tasks of a later round of a step that has `seen` some already.
    pub(super) fn draw_again(
        &self,
        step: u64,
        round: u64,
        seen: &[&TaskId],
        count: usize,
    ) -> Vec<&'t TaskId> {
        let stream = self.root.child("more tasks").index(step).index(round);
        let order = match &self.adaptive {
            None => shuffled(&self.tasks, stream),
            Some(adaptive) => adaptive.order(&self.tasks, step, stream.child("adaptive")),
        };
        unseen_first(order, seen, count)
    }

    /// Takes note of a step's groups: of each its task, and whether its rewards differed; `None` of
    /// a group that says nothing, because fewer than two of its episodes count.
    pub(super) fn observe<'a>(
        &mut self,
        step: u64,
        groups: impl Iterator<Item = (&'a TaskId, Option<bool>)>,
    ) {
        let Some(Adaptive { history, half_life, .. }) = &mut self.adaptive else { return };
        for (task, differed) in groups {
            if let Some(differed) = differed {
                history.observe(task, step, differed);
            }
        }
        history.forget(step, *half_life);
    }

    /// What checkpoints store of it; `None` with the sampler `uniform`.
    pub(super) fn state(&self) -> Option<&GroupHistory> {
        self.adaptive.as_ref().map(|adaptive| &adaptive.history)
    }

    /// What the draws of a step were like, before [`Self::observe`] takes note of its groups;
    /// `None` with the sampler `uniform`.
    pub(super) fn metrics(&self, step: u64, drawn: &[&TaskId]) -> Option<DrawMetrics> {
        let adaptive = self.adaptive.as_ref()?;
        let weights: Vec<f64> = self.tasks.iter().map(|task| adaptive.weight(task, step)).collect();
        let sum: f64 = weights.iter().sum();
        let entropy: f64 =
            weights.iter().map(|weight| weight / sum).map(|p| -p * libm::log(p)).sum();
        let chances: Vec<f64> = drawn.iter().map(|task| adaptive.chance(task, step)).collect();
        let at_floor = chances.iter().filter(|chance| **chance <= adaptive.floor).count();
        let count = drawn.len().max(1) as f64;
        Some(DrawMetrics {
            expected_mixed_groups: chances.iter().sum::<f64>() / count,
            effective_tasks: libm::exp(entropy),
            floor_draws: at_floor as f64 / count,
        })
    }
}

impl Adaptive {
    fn chance(&self, task: &TaskId, step: u64) -> f64 {
        self.history.chance(task, step, self.half_life)
    }

    fn weight(&self, task: &TaskId, step: u64) -> f64 {
        self.chance(task, step).max(self.floor)
    }

    /// All tasks in the order in which they are drawn one by one, without replacement, each with a
    /// probability in proportion to its weight: sorted by exponential variables whose rates are the
    /// weights (Efraimidis & Spirakis 2006). A task's variable has a stream of its own, so that the
    /// order of `tasks` does not matter.
    fn order<'t>(&self, tasks: &[&'t TaskId], step: u64, stream: Stream) -> Vec<&'t TaskId> {
        let mut keyed: Vec<(f64, &TaskId)> = tasks
            .iter()
            .map(|&task| {
                let uniform: f64 = stream.child(task.as_str()).rng().random();
                // In (0, 1], whose logarithm is finite.
                (-libm::log(1.0 - uniform) / self.weight(task, step), task)
            })
            .collect();
        keyed.sort_by(|(a, left), (b, right)| a.total_cmp(b).then_with(|| left.cmp(right)));
        keyed.into_iter().map(|(_, task)| task).collect()
    }
}

fn shuffled<'t>(tasks: &[&'t TaskId], stream: Stream) -> Vec<&'t TaskId> {
    let mut order = tasks.to_vec();
    order.shuffle(&mut stream.rng());
    order
}

/// The tasks of a step: an endless row of shuffles, cut into batches, so that every task comes up
/// equally often and the tasks of a step depend on nothing but the step.
fn draw<'t>(tasks: &[&'t TaskId], step: u64, count: usize, stream: Stream) -> Vec<&'t TaskId> {
    let (first, length) = (step * count as u64, tasks.len() as u64);
    let row = (first / length..).flat_map(|pass| shuffled(tasks, stream.index(pass)));
    row.skip(usize::try_from(first % length).unwrap_or(0)).take(count).collect()
}

/// The first `count` tasks of an order, those that the step has not seen yet before the others.
fn unseen_first<'t>(mut order: Vec<&'t TaskId>, seen: &[&TaskId], count: usize) -> Vec<&'t TaskId> {
    order.sort_by_key(|task| seen.contains(task));
    order.into_iter().cycle().take(count).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    const ADAPTIVE: Curriculum =
        Curriculum { sampler: Sampler::Adaptive, floor: 0.1, half_life: 4.0 };

    fn names(count: usize) -> Vec<TaskId> {
        (0..count).map(|index| TaskId::new(&format!("task-{index:03}")).unwrap()).collect()
    }

    fn sampler<'t>(settings: &Curriculum, names: &'t [TaskId], per_step: usize) -> TaskSampler<'t> {
        TaskSampler::new(settings, names.iter().collect(), per_step, Stream::root(3), None)
    }

    /// Plays steps in which a group's rewards differ as `differs` says, and counts the draws of each
    /// task over the steps from `from` on.
    fn play(
        sampler: &mut TaskSampler<'_>,
        steps: u64,
        from: u64,
        differs: &dyn Fn(&TaskId, u64) -> Option<bool>,
    ) -> BTreeMap<TaskId, usize> {
        let mut counts = BTreeMap::new();
        for step in 0..steps {
            let drawn = sampler.draw(step);
            for &task in drawn.iter().filter(|_| step >= from) {
                *counts.entry(task.clone()).or_default() += 1;
            }
            sampler.observe(step, drawn.iter().map(|&task| (task, differs(task, step))));
        }
        counts
    }

    #[test]
    fn a_later_draw_prefers_what_the_step_has_not_seen() {
        // As many as two steps draw, so that no step draws a task twice.
        let names = names(6);
        for settings in [Curriculum::default(), ADAPTIVE] {
            let sampler = sampler(&settings, &names, 3);
            for step in 0..20 {
                let seen = sampler.draw(step);
                let again = sampler.draw_again(step, 1, &seen, 5);
                let (fresh, old) = again.split_at(3);
                assert!(fresh.iter().all(|name| !seen.contains(name)));
                assert!(old.iter().all(|name| seen.contains(name)));
                assert_eq!(sampler.draw_again(step, 1, &seen, 5), again, "as before");
                assert_eq!(sampler.draw_again(step, 1, &seen, 7).len(), 7, "more than there are");
            }
        }
    }

    #[test]
    fn uniform_draws_meet_every_task_equally_often() {
        let names = names(7);
        let mut sampler = sampler(&Curriculum::default(), &names, 3);
        let counts = play(&mut sampler, 14, 0, &|_, _| Some(false));
        assert!(counts.len() == 7 && counts.values().all(|count| *count == 6), "{counts:?}");
        assert!(sampler.state().is_none() && sampler.metrics(3, &[]).is_none());
    }

    #[test]
    fn adaptive_draws_prefer_mixed_tasks_over_solved_and_hopeless_ones() {
        let names = names(30);
        let mut sampler = sampler(&ADAPTIVE, &names, 8);
        // The first ten differ always, the next ten in every other step, the last ten never.
        let differs = |task: &TaskId, step: u64| {
            let kind = names.iter().position(|name| name == task).unwrap() / 10;
            Some(kind == 0 || (kind == 1 && step.is_multiple_of(2)))
        };
        let counts = play(&mut sampler, 200, 20, &differs);
        let of = |kind: usize| -> usize {
            names[10 * kind..10 * (kind + 1)]
                .iter()
                .map(|name| counts.get(name).copied().unwrap_or(0))
                .sum()
        };
        let [always, sometimes, never] = [0, 1, 2].map(of);
        assert_eq!(always + sometimes + never, 180 * 8);
        assert!(always > sometimes && sometimes > never, "{always}, {sometimes}, {never}");
        assert!(always > 2 * never, "{always}, {never}");
        let drawn = sampler.draw(200);
        let metrics = sampler.metrics(200, &drawn).unwrap();
        assert!(metrics.effective_tasks > 15.0 && metrics.effective_tasks < 29.0, "{metrics:?}");
        assert!(metrics.expected_mixed_groups > 0.6, "{metrics:?}");
    }

    #[test]
    fn adaptive_draws_never_starve_a_task_and_find_one_that_changes() {
        let names = names(12);
        let settings = Curriculum { half_life: 1000.0, ..ADAPTIVE };
        let mut sampler = sampler(&settings, &names, 4);
        // Task 0 has equal rewards for 300 steps, and then always different ones.
        let differs = |task: &TaskId, step: u64| Some(*task != names[0] || step >= 300);
        let counts = play(&mut sampler, 300, 100, &differs);
        let drawn = counts[&names[0]];
        // A tenth of the others' weight: 200 steps of 4 draws, 0.1 of 11.1 each, or about 7.
        assert!((2..25).contains(&drawn), "{drawn}");
        assert!(sampler.metrics(299, &[&names[0], &names[1]]).unwrap().floor_draws == 0.5);
        let mut changed = 0;
        for step in 300..900 {
            let drawn = sampler.draw(step);
            changed += usize::from(step >= 600 && drawn.contains(&&names[0]));
            sampler.observe(step, drawn.iter().map(|&task| (task, differs(task, step))));
        }
        assert!(changed > 40, "{changed} of 300");
    }

    #[test]
    fn a_group_that_says_nothing_changes_nothing() {
        let names = names(6);
        let mut sampler = sampler(&ADAPTIVE, &names, 2);
        play(&mut sampler, 10, 0, &|_, _| None);
        assert_eq!(sampler.state(), Some(&GroupHistory::default()));
    }

    #[test]
    fn frequencies_of_first_draws_follow_the_weights() {
        let names = names(3);
        let mut sampler = sampler(&ADAPTIVE, &names, 1);
        // Weights 1, 1/2 and 1/3.
        let seen = [(&names[1], Some(false)), (&names[2], Some(false)), (&names[2], Some(false))];
        sampler.observe(0, seen.into_iter());
        let adaptive = sampler.adaptive.as_ref().unwrap();
        let all: Vec<&TaskId> = names.iter().collect();
        let (mut counts, draws) = ([0; 3], 20_000);
        for draw in 0..draws {
            let first = adaptive.order(&all, 0, Stream::root(9).index(draw))[0];
            counts[names.iter().position(|name| name == first).unwrap()] += 1;
        }
        for (count, weight) in counts.into_iter().zip([1.0, 0.5, 1.0 / 3.0]) {
            let (share, expected) = (f64::from(count) / draws as f64, weight / (11.0 / 6.0));
            assert!((share - expected).abs() < 0.015, "{share} for {expected}");
        }
    }

    proptest! {
        #[test]
        fn adaptive_draws_are_without_replacement_and_do_not_depend_on_order(
            count in 1usize..20, per_step in 1usize..24, step in 0u64..50, seed in 0u64..1_000,
        ) {
            let names = names(count);
            let forward: Vec<&TaskId> = names.iter().collect();
            let backward: Vec<&TaskId> = names.iter().rev().collect();
            let mut samplers = [forward, backward].map(|tasks| {
                TaskSampler::new(&ADAPTIVE, tasks, per_step, Stream::root(seed), None)
            });
            for sampler in &mut samplers {
                let seen = names.iter().enumerate().map(|(i, task)| (task, Some(i % 3 == 0)));
                sampler.observe(step, seen);
            }
            let [drawn, other] = [0, 1].map(|index: usize| samplers[index].draw(step));
            prop_assert_eq!(&drawn, &other);
            prop_assert_eq!(drawn.len(), per_step);
            for pass in drawn.chunks(count) {
                let mut once = pass.to_vec();
                once.sort();
                once.dedup();
                prop_assert_eq!(once.len(), pass.len(), "each task once before any twice");
            }
        }

        #[test]
        fn a_resumed_sampler_draws_the_same(killed in 1u64..20, seed in 0u64..100) {
            let names = names(9);
            let tasks: Vec<&TaskId> = names.iter().collect();
            let differs = |task: &TaskId, step: u64| {
                Some((step + u64::from(*task > names[4])).is_multiple_of(2))
            };
            let fresh = |history| {
                TaskSampler::new(&ADAPTIVE, tasks.clone(), 3, Stream::root(seed), history)
            };
            let (mut straight, mut resumed) = (fresh(None), fresh(None));
            for step in 0..20 {
                if step % killed == 0 {
                    let text = serde_json::to_string(resumed.state().unwrap()).unwrap();
                    resumed = fresh(Some(serde_json::from_str(&text).unwrap()));
                }
                let drawn = straight.draw(step);
                prop_assert_eq!(&resumed.draw(step), &drawn);
                for sampler in [&mut straight, &mut resumed] {
                    sampler.observe(step, drawn.iter().map(|&task| (task, differs(task, step))));
                }
            }
        }
    }
}
