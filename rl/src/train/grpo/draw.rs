//! Drawing the tasks of a step, and those of later rounds of dynamic sampling.

use rand::seq::SliceRandom;
use tasks::stream::Stream;
use tasks::task::TaskId;

/// The tasks of a step: an endless row of shuffles, cut into batches, so that every task comes up
/// equally often and the tasks of a step depend on nothing but the step.
pub(super) fn draw<'t>(
    tasks: &[&'t TaskId],
    step: u64,
    count: usize,
    stream: Stream,
) -> Vec<&'t TaskId> {
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
    tasks: &[&'t TaskId],
    seen: &[&TaskId],
    count: usize,
    stream: Stream,
) -> Vec<&'t TaskId> {
    let mut order = tasks.to_vec();
    order.shuffle(&mut stream.rng());
    order.sort_by_key(|task| seen.contains(task));
    order.into_iter().cycle().take(count).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_draw_prefers_what_the_step_has_not_seen() {
        let names = ["a", "b", "c", "d", "e"].map(|name| TaskId::new(name).unwrap());
        let all: Vec<&TaskId> = names.iter().collect();
        for round in 0..20 {
            let stream = Stream::root(3).index(round);
            let seen = draw(&all, round, 3, Stream::root(4));
            let again = draw_again(&all, &seen, 4, stream);
            let (fresh, old) = again.split_at(2);
            assert!(fresh.iter().all(|name| !seen.contains(name)));
            assert!(old.iter().all(|name| seen.contains(name)));
            assert_eq!(draw_again(&all, &seen, 4, stream), again, "as before");
            assert_eq!(draw_again(&all, &seen, 7, stream).len(), 7, "more than there are");
        }
    }
}
