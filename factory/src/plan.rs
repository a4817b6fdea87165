//! The plan of a corpus: what each slot is to hold, decided before anything is made.
//!
//! Slots are independent given the plan, so any number of threads, and any number of
//! interruptions, lead to the same corpus.

use crate::config::Request;
use crate::dna;
use crate::draws::{Draws, floor};
use crate::scenario::Scenario;
use crate::seed::Seed;
use sandbox::stream::Stream;
use sandbox::task::{Formulation, Split, TaskId};
use std::collections::BTreeMap;

/// Shares of the formulations.
pub const FORMULATIONS: [(Formulation, f64); 4] = [
    (Formulation::Binary, 0.30),
    (Formulation::Multiclass, 0.22),
    (Formulation::Regression, 0.28),
    (Formulation::Forecasting, 0.20),
];

/// Shares of the domains that the paper names; the rest is spread evenly over the others.
const DOMAINS: [(&str, f64); 4] =
    [("healthcare", 0.25), ("retail", 0.182), ("manufacturing", 0.143), ("it_operations", 0.132)];

/// One place in the corpus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slot {
    /// Its number, from 0.
    pub index: u64,
    /// The name of its task.
    pub task: TaskId,
    /// What is to be predicted.
    pub formulation: Formulation,
    /// Training or held out.
    pub split: Split,
    /// Index of the seed among the servable ones.
    pub seed: usize,
    /// Index of the scenario among all.
    pub scenario: usize,
    /// How often the scenario was used before.
    pub variant: usize,
}

/// All slots, and the seeds that only held-out tasks descend from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// By index.
    pub slots: Vec<Slot>,
    /// Names of the reserved seeds.
    pub reserved: Vec<String>,
}

/// Why there is no plan.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// No seed can be served at all.
    #[error(
        "none of the seeds can be served: this version needs tabular, time series or signal seeds"
    )]
    NoSeeds,
    /// More tasks than stories can keep apart.
    #[error(
        "`--count {count}` is more than the {most} tasks that {stories} stories can tell apart; \
         make several corpora with different `--seed` instead"
    )]
    TooMany {
        /// As asked.
        count: usize,
        /// The limit.
        most: usize,
        /// Stories there are.
        stories: usize,
    },
    /// Train and val need a story each.
    #[error("`--val-count {0}` leaves no story for the other split; ask for fewer held-out tasks")]
    Split(usize),
    /// A task name that is not one; scenario keys are checked by tests.
    #[error(transparent)]
    Name(#[from] sandbox::task::TaskError),
}

/// Uses of one story before tasks would become too alike.
const MOST_VARIANTS: usize = 40;

/// Decides every slot.
///
/// # Errors
/// [`PlanError`].
pub fn plan(request: &Request, seeds: &[&Seed], stories: &[Scenario]) -> Result<Plan, PlanError> {
    let stream = Stream::root(request.seed).child("plan");
    if seeds.is_empty() {
        return Err(PlanError::NoSeeds);
    }
    let most = stories.len() * MOST_VARIANTS;
    if request.count > most {
        return Err(PlanError::TooMany { count: request.count, most, stories: stories.len() });
    }
    let possible = |formulation| seeds.iter().any(|seed| dna::affinity(seed, formulation) > 0);
    let shares: Vec<(Formulation, f64)> =
        FORMULATIONS.into_iter().filter(|(formulation, _)| possible(*formulation)).collect();

    // Both splits have the same mix.
    let train = request.count - request.val_count;
    let mut kinds: Vec<(Split, Formulation)> = Vec::with_capacity(request.count);
    for (split, count) in [(Split::Train, train), (Split::Val, request.val_count)] {
        let counts = apportion(&shares.iter().map(|(_, share)| *share).collect::<Vec<_>>(), count);
        for ((formulation, _), count) in shares.iter().zip(counts) {
            kinds.extend(std::iter::repeat_n((split, *formulation), count));
        }
    }
    Draws::new(stream.child("order")).shuffle(&mut kinds);

    let reserved = reserved(request, seeds, &mut Draws::new(stream.child("reserved")));
    let mut tellers = Tellers::new(request, stories, &mut Draws::new(stream.child("stories")))?;
    let mut draws = Draws::new(stream.child("seeds"));
    let mut uses = vec![0_usize; seeds.len()];
    let mut fresh_reserved = reserved.clone();
    let mut slots = Vec::with_capacity(request.count);
    for (index, (split, formulation)) in kinds.into_iter().enumerate() {
        // Held-out tasks begin with the reserved seeds, so that each serves at least one.
        let owed = fresh_reserved
            .iter()
            .position(|seed| split == Split::Val && dna::affinity(seeds[*seed], formulation) > 0);
        let seed = if let Some(position) = owed {
            fresh_reserved.remove(position)
        } else {
            let allowed: Vec<usize> = (0..seeds.len())
                .filter(|seed| split == Split::Val || !reserved.contains(seed))
                .collect();
            choose_seed(seeds, &allowed, formulation, &uses, &mut draws)
        };
        uses[seed] += 1;
        let (scenario, variant) = tellers.next(split, formulation);
        let suffix = if variant == 0 { String::new() } else { format!("-v{}", variant + 1) };
        let task = TaskId::new(&format!("{index:04}-{}{suffix}", stories[scenario].key()))?;
        slots.push(Slot { index: index as u64, task, formulation, split, seed, scenario, variant });
    }
    let reserved = reserved.into_iter().map(|seed| seeds[seed].id.clone()).collect();
    Ok(Plan { slots, reserved })
}

/// The seeds kept for held-out tasks: one in eight, at least one where there are three seeds.
fn reserved(request: &Request, seeds: &[&Seed], draws: &mut Draws) -> Vec<usize> {
    if request.val_count == 0 || seeds.len() < 3 {
        return Vec::new();
    }
    // A reserved seed must not be the only one of its kind, and must have held-out slots.
    let kinds = FORMULATIONS.map(|(formulation, _)| formulation);
    let spare = |seed: usize, taken: &[usize]| {
        kinds.iter().all(|kind| {
            let others = (0..seeds.len())
                .filter(|other| *other != seed && !taken.contains(other))
                .filter(|other| dna::affinity(seeds[*other], *kind) > 0);
            dna::affinity(seeds[seed], *kind) == 0 || others.count() > 0
        })
    };
    let mut order: Vec<usize> = (0..seeds.len()).collect();
    draws.shuffle(&mut order);
    let mut taken = Vec::new();
    for seed in order {
        if taken.len() < (seeds.len() / 8).max(1) && spare(seed, &taken) {
            taken.push(seed);
        }
    }
    taken
}

/// The seed whose own form fits, before one that has to be reformulated; among equals the one
/// used least.
fn choose_seed(
    seeds: &[&Seed],
    allowed: &[usize],
    formulation: Formulation,
    uses: &[usize],
    draws: &mut Draws,
) -> usize {
    let mut order = allowed.to_vec();
    draws.shuffle(&mut order);
    // Two uses of a close seed for three of a fitting one keep the corpus diverse.
    let cost = |seed: &usize| match dna::affinity(seeds[*seed], formulation) {
        0 => usize::MAX,
        1 => 3 * uses[*seed] + 3,
        _ => 2 * uses[*seed],
    };
    order.into_iter().min_by_key(cost).unwrap_or(0)
}

/// Hands out stories: each once before any twice, none to both splits.
struct Tellers {
    queues: BTreeMap<(Split, bool), Vec<usize>>,
    next: BTreeMap<(Split, bool), usize>,
}

impl Tellers {
    fn new(request: &Request, stories: &[Scenario], draws: &mut Draws) -> Result<Self, PlanError> {
        let mut queues = BTreeMap::new();
        for timed in [false, true] {
            let kind = if timed { Formulation::Forecasting } else { Formulation::Binary };
            let fitting: Vec<usize> =
                (0..stories.len()).filter(|index| stories[*index].serves(kind)).collect();
            let order = by_domain(&fitting, stories, draws);
            // The held-out share of the stories is that of the tasks, one story at least.
            let mut held = (order.len() * request.val_count).div_ceil(request.count.max(1));
            if request.val_count < request.count {
                held = held.min(order.len() - 1);
            }
            if request.val_count > 0 && held == 0 {
                return Err(PlanError::Split(request.val_count));
            }
            // Every k-th story is held out, so that both splits see all large domains.
            let (mut val, mut train) = (Vec::new(), Vec::new());
            for (position, story) in order.iter().enumerate() {
                let before = position * held / order.len();
                let after = (position + 1) * held / order.len();
                if after > before { val.push(*story) } else { train.push(*story) }
            }
            queues.insert((Split::Val, timed), val);
            queues.insert((Split::Train, timed), train);
        }
        Ok(Self { queues, next: BTreeMap::new() })
    }

    fn next(&mut self, split: Split, formulation: Formulation) -> (usize, usize) {
        let key = (split, formulation == Formulation::Forecasting);
        let queue = &self.queues[&key];
        let used = self.next.entry(key).or_default();
        let story = (queue[*used % queue.len()], *used / queue.len());
        *used += 1;
        story
    }
}

/// Stories in an order whose every prefix has the domains in about their shares.
fn by_domain(fitting: &[usize], stories: &[Scenario], draws: &mut Draws) -> Vec<usize> {
    let mut domains: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for index in fitting {
        domains.entry(&stories[*index].domain).or_default().push(*index);
    }
    let named: f64 = DOMAINS.iter().map(|(_, share)| share).sum();
    let others = domains.keys().filter(|d| DOMAINS.iter().all(|(name, _)| name != *d)).count();
    let share = |domain: &str| {
        let named_share = DOMAINS.iter().find(|(name, _)| *name == domain);
        named_share.map_or((1.0 - named) / others.max(1) as f64, |(_, share)| *share)
    };
    for queue in domains.values_mut() {
        draws.shuffle(queue);
    }
    // Ties between equal shares are broken by chance, not by the alphabet.
    let jitter: BTreeMap<String, f64> =
        domains.keys().map(|domain| ((*domain).to_owned(), draws.unit())).collect();
    let mut taken: BTreeMap<String, usize> = BTreeMap::new();
    let mut order = Vec::with_capacity(fitting.len());
    while order.len() < fitting.len() {
        let behind = |domain: &str| {
            let used = taken.get(domain).copied().unwrap_or(0) as f64;
            (used + 0.25 + 0.5 * jitter[domain]) / share(domain)
        };
        let next = domains
            .iter()
            .filter(|(_, queue)| !queue.is_empty())
            .map(|(domain, _)| (*domain).to_owned())
            .min_by(|a, b| behind(a).total_cmp(&behind(b)));
        let Some(domain) = next else { break };
        if let Some(story) = domains.get_mut(domain.as_str()).and_then(Vec::pop) {
            order.push(story);
        }
        *taken.entry(domain).or_default() += 1;
    }
    order
}

/// Whole numbers in proportion to `shares` that sum to `total` (largest remainders).
fn apportion(shares: &[f64], total: usize) -> Vec<usize> {
    let sum: f64 = shares.iter().sum();
    let exact: Vec<f64> = shares.iter().map(|share| share / sum * total as f64).collect();
    let mut counts: Vec<usize> = exact.iter().map(|value| floor(*value)).collect();
    let mut order: Vec<usize> = (0..shares.len()).collect();
    order.sort_by(|a, b| exact[*b].fract().total_cmp(&exact[*a].fract()).then(a.cmp(b)));
    let missing = total - counts.iter().sum::<usize>();
    order.into_iter().cycle().take(missing).for_each(|index| counts[index] += 1);
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario;
    use crate::seed_set::{MLEBENCH, SeedSet};
    use std::collections::BTreeSet;

    fn planned(count: usize, val_count: usize) -> (Plan, SeedSet, Vec<Scenario>) {
        let set = SeedSet::resolve(MLEBENCH).unwrap();
        let stories = scenario::all().unwrap();
        let request = Request { count, val_count, ..Request::for_tests() };
        let plan = plan(&request, &set.servable(), &stories).unwrap();
        (plan, set, stories)
    }

    #[test]
    fn counts_and_mix_are_as_asked() {
        let (plan, ..) = planned(72, 16);
        assert_eq!(plan.slots.iter().filter(|slot| slot.split == Split::Val).count(), 16);
        for (formulation, share) in FORMULATIONS {
            let count = plan.slots.iter().filter(|slot| slot.formulation == formulation).count();
            assert!((count as f64 / 72.0 - share).abs() < 0.02, "{formulation:?}: {count}");
        }
    }

    #[test]
    fn splits_share_no_story_and_a_seed_is_held_out() {
        let (plan, set, _) = planned(72, 16);
        let of = |split| plan.slots.iter().filter(move |slot| slot.split == split);
        let stories = |split| of(split).map(|slot| slot.scenario).collect::<BTreeSet<_>>();
        assert!(stories(Split::Train).is_disjoint(&stories(Split::Val)));
        let seeds = set.servable();
        let names = |split| of(split).map(|slot| &*seeds[slot.seed].id).collect::<BTreeSet<_>>();
        assert!(!plan.reserved.is_empty());
        for name in &plan.reserved {
            assert!(names(Split::Val).contains(name.as_str()));
            assert!(!names(Split::Train).contains(name.as_str()));
        }
    }

    #[test]
    fn a_story_is_told_once_in_a_small_corpus() {
        let (plan, ..) = planned(45, 10);
        let stories: BTreeSet<usize> = plan.slots.iter().map(|slot| slot.scenario).collect();
        assert_eq!(stories.len(), 45);
    }

    #[test]
    fn large_domains_lead() {
        let (plan, _, stories) = planned(60, 12);
        let count = |domain: &str| {
            plan.slots.iter().filter(|slot| stories[slot.scenario].domain == domain).count()
        };
        assert!((12..=18).contains(&count("healthcare")), "{}", count("healthcare"));
        assert!((8..=14).contains(&count("retail")), "{}", count("retail"));
    }

    #[test]
    fn impossible_counts_are_refused() {
        let set = SeedSet::resolve(MLEBENCH).unwrap();
        let stories = scenario::all().unwrap();
        let request = Request { count: 1_000_000, ..Request::for_tests() };
        let error = plan(&request, &set.servable(), &stories).unwrap_err();
        assert!(matches!(error, PlanError::TooMany { .. }));
    }
}
