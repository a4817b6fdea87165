//! Draws the items of a task, part by part.
//!
//! Candidates are drawn in parallel, each from the stream of its number, and accepted one after
//! the other by number, so the result does not depend on the number of threads.

use crate::grams::grams;
use crate::kind::{Kind, Scale, Sizes};
use crate::part::{Part, item_id};
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use tasks::stream::Stream;
use tasks::task::{TaskError, TaskId};

/// Candidates per item, at most.
const CANDIDATES: usize = 200;

/// Why items could not be drawn.
#[derive(Debug, thiserror::Error)]
pub enum GenerateError {
    /// The kind has fewer different items than were asked for.
    #[error(
        "{world} has no more than {found} different {part} items at this scale, and {asked} were \
         asked for; ask for fewer"
    )]
    Exhausted {
        /// Name of the kind.
        world: &'static str,
        /// The part that could not be filled.
        part: Part,
        /// Items that were found.
        found: usize,
        /// Items that were asked for.
        asked: usize,
    },
    /// The task's id leaves no room for those of its items.
    #[error("the id of the task is too long for the ids of its items")]
    Id(#[from] TaskError),
}

/// A task's ground and items.
#[derive(Debug)]
pub(crate) struct Generated<K: Kind> {
    pub(crate) ground: K::Ground,
    pub(crate) parts: BTreeMap<Part, BTreeMap<TaskId, K::Item>>,
    /// Items that the pool of a suite is made from.
    pub(crate) pooled: Vec<K::Item>,
}

/// Draws a task. No two items ask the same, and no sealed item has a window of its evidence in
/// what is public.
///
/// # Errors
/// [`GenerateError`].
pub(crate) fn generate<K: Kind>(
    task: &TaskId,
    scale: Scale,
    sizes: &Sizes,
    stream: Stream,
) -> Result<Generated<K>, GenerateError> {
    let ground = K::ground(scale, stream.child("ground"));
    let mut keys = BTreeSet::new();
    let mut public = HashSet::new();
    let mut parts = BTreeMap::new();
    let mut pooled = Vec::new();
    for part in Part::ALL {
        let in_pool = if part == Part::Train { K::pooled(scale) } else { 0 };
        let asked = sizes.of(part) + in_pool;
        let stream = stream.child(part.name());
        let mut accepted = Vec::new();
        for batch in 0..CANDIDATES {
            let first = batch * asked;
            let candidates: Vec<Option<K::Item>> = (first..first + asked)
                .into_par_iter()
                .map(|number| K::draw(&ground, part, scale, stream.index(number as u64)))
                .collect();
            for item in candidates.into_iter().flatten() {
                let is_new = !keys.contains(&K::key(&item));
                let is_free = is_new
                    && (!part.is_sealed()
                        || grams(&K::evidence(&ground, &item)).is_disjoint(&public));
                if accepted.len() < asked && is_free {
                    keys.insert(K::key(&item));
                    accepted.push(item);
                }
            }
            if accepted.len() == asked {
                break;
            }
        }
        if accepted.len() < asked {
            let found = accepted.len();
            return Err(GenerateError::Exhausted { world: K::NAME, part, found, asked });
        }
        if part == Part::Train {
            for item in &accepted {
                public.extend(grams(&K::evidence(&ground, item)));
                public.extend(grams(&as_text(item)));
            }
            public.extend(grams(&as_text(&ground)));
            public.extend(grams(&K::describe(scale)));
        }
        if part == Part::Train {
            pooled = accepted.split_off(sizes.of(part));
        }
        let numbered = accepted.into_iter().enumerate();
        let named = numbered.map(|(number, item)| Ok((item_id(task, part, number)?, item)));
        parts.insert(part, named.collect::<Result<_, TaskError>>()?);
    }
    Ok(Generated { ground, parts, pooled })
}

/// A value as it is written in public files.
pub(crate) fn as_text(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("items and grounds are plain data with text as keys")
}
