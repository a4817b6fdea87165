//! The plan of a corpus: what each slot is to hold, decided before any task is made.
//!
//! Slots are independent given the plan, so any number of threads, and any number of
//! interruptions, lead to the same corpus.

use crate::numeric::draws::{Draws, floor};
use crate::spec::config::Request;
use crate::spec::dna::{self, Distance};
use crate::spec::mix::{Cell, Mix};
use crate::spec::scenario::Scenario;
use crate::spec::seed::Seed;
use std::collections::BTreeMap;
use tasks::stream::Stream;
use tasks::task::{Formulation, Split, TaskId};

/// One place in the corpus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slot {
    /// Its number, from 0.
    pub index: u64,
    /// The name of its task.
    pub task: TaskId,
    /// What kind of task it is to hold.
    pub cell: Cell,
    /// Training or held out.
    pub split: Split,
    /// Index of the seed.
    pub seed: usize,
    /// Index of the scenario among all.
    pub scenario: usize,
    /// How often the scenario was used before.
    pub variant: usize,
}

/// All slots, and the seeds that only held-out tasks descend from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// All slots of the corpus, in order of their index from 0.
    pub slots: Vec<Slot>,
    /// Names of the reserved seeds.
    pub reserved: Vec<String>,
}

/// Why a plan could not be made.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// More tasks were requested than the stories allow.
    #[error(
        "`--count {count}` is more than the {most} tasks that {stories} stories can tell apart; \
         make several corpora with different `--seed` instead"
    )]
    TooMany {
        /// The requested number of tasks.
        count: usize,
        /// The largest number of tasks that the stories allow.
        most: usize,
        /// Number of stories that serve a requested kind of task.
        stories: usize,
    },
    /// A kind of task without a story.
    #[error("no story serves `{0}` tasks; leave them out with `--modality` or `--formulation`")]
    NoStory(Cell),
    /// Train and val need a story each.
    #[error(
        "the one story for `{0}` tasks cannot serve both splits; set `--val-count` to 0 or leave them out"
    )]
    Split(Cell),
    /// A task name that is not one; scenario keys are checked by tests.
    #[error(transparent)]
    Name(#[from] tasks::task::TaskError),
}

/// Uses of one story before tasks would become too alike.
const MOST_VARIANTS: usize = 40;

/// Decides every slot.
///
/// # Errors
/// [`PlanError`].
pub fn plan(request: &Request, seeds: &[Seed], stories: &[Scenario]) -> Result<Plan, PlanError> {
    let stream = Stream::root(request.seed).child("plan");
    let mix = &request.mix;
    let serving =
        stories.iter().filter(|story| mix.cells.keys().any(|cell| story.serves(*cell))).count();
    let most = serving * MOST_VARIANTS;
    if request.count > most {
        return Err(PlanError::TooMany { count: request.count, most, stories: serving });
    }
    // First the whole corpus is divided, so that no kind is lost to rounding in both splits; both
    // then have the same mix.
    let shares: Vec<f64> = mix.cells.values().copied().collect();
    let counts = apportion(&shares, request.count);
    let exact: Vec<f64> = counts.iter().map(|count| *count as f64).collect();
    let held = apportion(&exact, request.val_count);
    let mut kinds: Vec<(Split, Cell)> = Vec::with_capacity(request.count);
    for ((cell, count), held) in mix.cells.keys().zip(counts).zip(held) {
        kinds.extend(std::iter::repeat_n((Split::Val, *cell), held));
        kinds.extend(std::iter::repeat_n((Split::Train, *cell), count - held));
    }
    Draws::new(stream.child("order")).shuffle(&mut kinds);

    let reserved = reserved(request, seeds, &mut Draws::new(stream.child("reserved")));
    let mut tellers = Tellers::new(request, stories, &mut Draws::new(stream.child("stories")));
    let mut draws = Draws::new(stream.child("seeds"));
    let mut uses = vec![0_usize; seeds.len()];
    let mut fresh_reserved = reserved.clone();
    let mut slots = Vec::with_capacity(request.count);
    for (index, (split, cell)) in kinds.into_iter().enumerate() {
        // Held-out tasks begin with the reserved seeds, so that each serves at least one.
        let near = |seed: &usize| dna::distance(&seeds[*seed], cell) <= Distance::Question;
        let owed = fresh_reserved.iter().position(|seed| split == Split::Val && near(seed));
        let seed = if let Some(position) = owed {
            fresh_reserved.remove(position)
        } else {
            let allowed: Vec<usize> = (0..seeds.len())
                .filter(|seed| split == Split::Val || !reserved.contains(seed))
                .collect();
            choose_seed(seeds, &allowed, cell, &uses, &mut draws)
        };
        uses[seed] += 1;
        let (scenario, variant) = tellers.next(split, cell)?;
        let suffix = if variant == 0 { String::new() } else { format!("-v{}", variant + 1) };
        let task = TaskId::new(&format!("{index:04}-{}{suffix}", stories[scenario].key()))?;
        slots.push(Slot { index: index as u64, task, cell, split, seed, scenario, variant });
    }
    let reserved = reserved
        .into_iter()
        .filter(|seed| !fresh_reserved.contains(seed))
        .map(|seed| seeds[seed].id.clone())
        .collect();
    Ok(Plan { slots, reserved })
}

/// The seeds kept for held-out tasks: one in eight, at least one where there are three seeds.
fn reserved(request: &Request, seeds: &[Seed], draws: &mut Draws) -> Vec<usize> {
    if request.val_count == 0 || seeds.len() < 3 {
        return Vec::new();
    }
    // A reserved seed must leave another that is as close to each kind of task as it is.
    let spare = |seed: usize, taken: &[usize]| {
        request.mix.cells.keys().all(|cell| {
            let own = dna::distance(&seeds[seed], *cell);
            own > Distance::Question
                || (0..seeds.len()).any(|other| {
                    other != seed
                        && !taken.contains(&other)
                        && dna::distance(&seeds[other], *cell) <= own.max(Distance::Question)
                })
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

/// Index of the nearest allowed seed. The distance grows with the number of uses, so that a seed
/// that is a little further is chosen instead of one that was used often.
fn choose_seed(
    seeds: &[Seed],
    allowed: &[usize],
    cell: Cell,
    uses: &[usize],
    draws: &mut Draws,
) -> usize {
    let mut order = allowed.to_vec();
    draws.shuffle(&mut order);
    let cost = |seed: &usize| match dna::distance(&seeds[*seed], cell) {
        Distance::None => 2 * uses[*seed],
        // Hardly any seed asks how sure an answer is, so that question makes up for other data.
        Distance::Data if cell.formulation == Formulation::Quantiles => 3 * uses[*seed] + 3,
        Distance::Question => 3 * uses[*seed] + 3,
        Distance::Data => 4 * uses[*seed] + 60,
        Distance::Both => 8 * uses[*seed] + 120,
    };
    order.into_iter().min_by_key(cost).unwrap_or(0)
}

/// Hands out stories: rarely used ones of domains that are behind first, none to both splits.
struct Tellers<'a> {
    stories: &'a [Scenario],
    splits: Vec<Split>,
    /// Places in a random order, which breaks ties.
    order: Vec<usize>,
    uses: Vec<usize>,
    shares: BTreeMap<&'a str, f64>,
    told: BTreeMap<(Split, &'a str), f64>,
    /// Slots of each split.
    counts: [(Split, usize); 2],
}

impl<'a> Tellers<'a> {
    fn new(request: &Request, stories: &'a [Scenario], draws: &mut Draws) -> Self {
        let shares = domains(&request.mix, stories);
        let held = request.val_count as f64 / request.count.max(1) as f64;
        let mut order: Vec<usize> = (0..stories.len()).collect();
        draws.shuffle(&mut order);
        let mut splits = vec![Split::Train; stories.len()];
        // Stories that serve the same cells are split in the tasks' proportion, every k-th of
        // them by domain, so that both splits see every cell and all large domains.
        let mut alike: BTreeMap<Vec<Cell>, Vec<usize>> = BTreeMap::new();
        for story in &order {
            let cells = request.mix.cells.keys().filter(|cell| stories[*story].serves(**cell));
            alike.entry(cells.copied().collect()).or_default().push(*story);
        }
        for group in alike.values_mut() {
            group.sort_by_key(|story| &stories[*story].domain);
            let all = group.len();
            let mut val = floor((all as f64 * held).ceil()).min(all);
            if request.val_count < request.count && all > 1 {
                val = val.min(all - 1);
            } else if request.val_count < request.count {
                val = 0;
            }
            // First those that show what training is not to show, if any story is left to train on.
            let (new, rest): (Vec<usize>, Vec<usize>) =
                group.iter().partition(|story| stories[**story].shows_held_out());
            if val > 0 && !rest.is_empty() {
                for story in &new {
                    splits[*story] = Split::Val;
                }
                *group = rest;
                val = val.saturating_sub(new.len());
            }
            let count = group.len();
            for (position, story) in group.iter().enumerate() {
                if (position + 1) * val / count > position * val / count {
                    splits[*story] = Split::Val;
                }
            }
        }
        let counts =
            [(Split::Train, request.count - request.val_count), (Split::Val, request.val_count)];
        let uses = vec![0; stories.len()];
        Self { stories, splits, order, uses, shares, told: BTreeMap::new(), counts }
    }

    fn next(&mut self, split: Split, cell: Cell) -> Result<(usize, usize), PlanError> {
        let slots = self.counts.iter().find(|(of, _)| *of == split).map_or(1, |(_, count)| *count);
        let cost = |story: usize| {
            let domain = self.stories[story].domain.as_str();
            let told = self.told.get(&(split, domain)).copied().unwrap_or(0.0);
            let due = self.shares.get(domain).copied().unwrap_or(0.0) * slots as f64;
            self.uses[story] as f64 + (told + 0.5) / due.max(1e-6)
        };
        let fitting = self.order.iter().copied().filter(|story| self.stories[*story].serves(cell));
        let chosen = fitting
            .clone()
            .filter(|story| self.splits[*story] == split)
            .min_by(|a, b| cost(*a).total_cmp(&cost(*b)));
        let Some(story) = chosen else {
            let none = fitting.count() == 0;
            return Err(if none { PlanError::NoStory(cell) } else { PlanError::Split(cell) });
        };
        let variant = self.uses[story];
        self.uses[story] += 1;
        *self.told.entry((split, self.stories[story].domain.as_str())).or_default() += 1.0;
        Ok((story, variant))
    }
}

/// The share of every domain that has a story: as asked, or evenly among those not named.
fn domains<'a>(mix: &Mix, stories: &'a [Scenario]) -> BTreeMap<&'a str, f64> {
    let mut shares: BTreeMap<&str, f64> =
        stories.iter().map(|story| (story.domain.as_str(), 0.0)).collect();
    let named: f64 = mix.domains.values().sum();
    let others = shares.keys().filter(|domain| !mix.domains.contains_key(**domain)).count();
    for (domain, share) in &mut shares {
        *share = match mix.domains.get(*domain) {
            Some(share) => *share,
            None => (1.0 - named).max(0.0) / others.max(1) as f64,
        };
    }
    shares
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
    use crate::spec::scenario;
    use crate::spec::seed_set::{MLEBENCH, SeedSet};
    use std::collections::BTreeSet;

    fn planned(count: usize, val_count: usize) -> (Plan, SeedSet, Vec<Scenario>) {
        let set = SeedSet::resolve(MLEBENCH).unwrap();
        let stories = scenario::all().unwrap();
        let request = Request { count, val_count, ..Request::for_tests() };
        let plan = plan(&request, set.seeds(), &stories).unwrap();
        (plan, set, stories)
    }

    #[test]
    fn counts_and_mix_are_as_asked() {
        let (plan, ..) = planned(400, 88);
        assert_eq!(plan.slots.iter().filter(|slot| slot.split == Split::Val).count(), 88);
        for (cell, share) in Mix::paper().cells {
            let count = plan.slots.iter().filter(|slot| slot.cell == cell).count();
            assert!((count as f64 / 400.0 - share).abs() < 0.005, "{cell}: {count}");
        }
    }

    #[test]
    fn splits_share_no_story_and_seeds_are_held_out() {
        let (plan, set, _) = planned(400, 88);
        let of = |split| plan.slots.iter().filter(move |slot| slot.split == split);
        let stories = |split| of(split).map(|slot| slot.scenario).collect::<BTreeSet<_>>();
        assert!(stories(Split::Train).is_disjoint(&stories(Split::Val)));
        let seeds = set.seeds();
        let names = |split| of(split).map(|slot| &*seeds[slot.seed].id).collect::<BTreeSet<_>>();
        assert!(!plan.reserved.is_empty());
        for name in &plan.reserved {
            assert!(names(Split::Val).contains(name.as_str()));
            assert!(!names(Split::Train).contains(name.as_str()));
        }
    }

    #[test]
    fn what_some_pictures_show_is_held_out() {
        let (plan, _, stories) = planned(912, 200);
        let shows = |slot: &&Slot| stories[slot.scenario].shows_held_out();
        let shown: Vec<&Slot> = plan.slots.iter().filter(shows).collect();
        assert!(shown.len() > 15, "{}", shown.len());
        assert!(shown.iter().all(|slot| slot.split == Split::Val));
        // Training tasks have pictures of the same kind, of other things.
        let in_colour = |slot: &&Slot| stories[slot.scenario].subject().is_some();
        let trained = plan.slots.iter().filter(|slot| slot.split == Split::Train);
        assert!(trained.filter(in_colour).count() > 40);
        // Without held-out tasks, all are trained on.
        let (plan, ..) = planned(400, 0);
        assert!(plan.slots.iter().any(|slot| shows(&slot)));
    }

    #[test]
    fn no_story_is_told_often_before_others_are_told() {
        let (plan, _, stories) = planned(912, 200);
        let told: BTreeSet<usize> = plan.slots.iter().map(|slot| slot.scenario).collect();
        assert!(told.len() * 10 > stories.len() * 9, "{} of {}", told.len(), stories.len());
    }

    #[test]
    fn domains_have_about_their_shares() {
        let (plan, _, stories) = planned(900, 200);
        for (domain, share) in Mix::paper().domains {
            let of = |slot: &&Slot| stories[slot.scenario].domain == domain;
            let found = plan.slots.iter().filter(of).count() as f64 / 900.0;
            assert!((found - share).abs() < 0.05, "{domain}: {found:.3} for {share}");
        }
    }

    #[test]
    fn impossible_counts_are_refused() {
        let set = SeedSet::resolve(MLEBENCH).unwrap();
        let stories = scenario::all().unwrap();
        let request = Request { count: 1_000_000, ..Request::for_tests() };
        let error = plan(&request, set.seeds(), &stories).unwrap_err();
        assert!(matches!(error, PlanError::TooMany { .. }));
    }
}
