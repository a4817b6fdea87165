//! What is chosen, together with what and after what, by counts: what rungs R1 and R2 know.

use super::NAMES;
use super::people::{Catalogue, Person, pairs, ranked, worth};

/// Choices back that rung R2 looks at, at most.
const LAGS: usize = 3;
/// Choices of what is chosen most that are added to counts of what follows an item.
const PRIOR: f64 = 5.0;

/// How items are scored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    /// By how often people choose them who have the same word in a column.
    Word(usize),
    /// By how often they were chosen together with what the person chose.
    Together,
    /// By how often they followed the choices that lie so many choices back, and, where `returns`
    /// holds, by how often choices come back.
    After {
        /// How many choices back, from 1.
        lags: &'static [usize],
        /// Whether earlier choices count for themselves.
        returns: bool,
    },
}

/// What anyone tries first.
pub(super) const HURRIED: [Method; 3] = [Method::Word(0), Method::Word(1), Method::Together];

/// What a practised engineer tries.
pub(super) const PRACTISED: [Method; 8] = [
    Method::After { lags: &[1], returns: false },
    Method::After { lags: &[1], returns: true },
    Method::After { lags: &[2], returns: false },
    Method::After { lags: &[2], returns: true },
    Method::After { lags: &[1, 2], returns: false },
    Method::After { lags: &[1, 2], returns: true },
    Method::After { lags: &[1, 2, 3], returns: false },
    Method::After { lags: &[1, 2, 3], returns: true },
];

/// How often things were chosen: by whom, together with what, and after what.
#[derive(Debug)]
pub(super) struct Counts {
    /// Shares of the choices of people with a word: by column, word, item.
    by_word: [Vec<Vec<f64>>; 2],
    /// People who chose an item and another one, per person who chose the first.
    together: Vec<Vec<f64>>,
    /// Times that an item came so many choices after another one: by lag, item, later item.
    after: Vec<Vec<Vec<f64>>>,
    /// Share of the choices that repeat the one so many choices back, from 1.
    returns: Vec<f64>,
}

impl Counts {
    /// Counts what people chose, their last choice included.
    pub(super) fn new(catalogue: &Catalogue, people: &[Person<usize>]) -> Self {
        let items = catalogue.items.len();
        // One choice of everything, shared among all items.
        let mut popular = vec![1.0 / items as f64; items];
        people.iter().flat_map(|person| &person.chosen).for_each(|item| popular[*item] += 1.0);
        let popular = shares(&popular);
        let by_word = [0, 1].map(|column| {
            let mut words = vec![popular.clone(); catalogue.words[column].len()];
            for person in people {
                person.chosen.iter().for_each(|item| words[person.words[column]][*item] += 1.0);
            }
            words.iter().map(|counts| shares(counts)).collect()
        });
        let mut together = vec![vec![0.0; items]; items];
        let mut chose = vec![0.0_f64; items];
        for person in people {
            let mut chosen = person.chosen.clone();
            chosen.sort_unstable();
            chosen.dedup();
            for item in &chosen {
                chose[*item] += 1.0;
                for other in chosen.iter().filter(|other| *other != item) {
                    together[*item][*other] += 1.0;
                }
            }
        }
        for (row, chose) in together.iter_mut().zip(chose) {
            for count in row {
                *count /= chose.max(1.0);
            }
        }
        let after = (1..=LAGS).map(|lag| {
            let mut counts = vec![vec![0.0; items]; items];
            pairs(people, lag).for_each(|(person, from, place)| {
                counts[from][person.chosen[place]] += 1.0;
            });
            counts
        });
        let longest = people.iter().map(|person| person.chosen.len()).max().unwrap_or(0);
        let returns = (1..=longest).map(|gap| {
            let (mut all, mut same) = (0.0_f64, 0.0);
            for (person, from, place) in pairs(people, gap) {
                all += 1.0;
                same += f64::from(u8::from(person.chosen[place] == from));
            }
            same / all.max(1.0)
        });
        Self { by_word, together, after: after.collect(), returns: returns.collect() }
    }

    /// Shares of the choices of people with a word in a column.
    pub(super) fn of_word(&self, column: usize, word: usize) -> &[f64] {
        &self.by_word[column][word]
    }

    /// The scores of all items for a person.
    pub(super) fn scores(&self, method: Method, person: &Person<usize>) -> Vec<f64> {
        match method {
            Method::Word(column) => self.of_word(column, person.words[column]).to_vec(),
            Method::Together => {
                let mut chosen = person.chosen.clone();
                chosen.sort_unstable();
                chosen.dedup();
                let mut scores = vec![0.0; self.together.len()];
                for item in chosen {
                    scores.iter_mut().zip(&self.together[item]).for_each(|(sum, one)| *sum += one);
                }
                scores
            }
            Method::After { lags, returns } => self.after(lags, returns, person),
        }
    }

    fn after(&self, lags: &[usize], returns: bool, person: &Person<usize>) -> Vec<f64> {
        let [first, second] = [0, 1].map(|column| self.of_word(column, person.words[column]));
        let liked: Vec<f64> =
            first.iter().zip(second).map(|(a, b)| f64::midpoint(*a, *b)).collect();
        let mut scores = vec![0.0; liked.len()];
        for (lag, from) in lags.iter().filter_map(|lag| Some((*lag, person.back(*lag)?))) {
            let counts = &self.after[lag - 1][from];
            let sum = counts.iter().sum::<f64>() + PRIOR;
            for (score, (count, liked)) in scores.iter_mut().zip(counts.iter().zip(&liked)) {
                *score += (count + PRIOR * liked) / sum;
            }
        }
        if returns {
            for (share, item) in self.returns.iter().zip(person.chosen.iter().rev()) {
                scores[*item] += share;
            }
        }
        scores
    }
}

fn shares(counts: &[f64]) -> Vec<f64> {
    let sum: f64 = counts.iter().sum();
    counts.iter().map(|count| count / sum).collect()
}

/// Calls `each` for every person with the counts of the half that the person is not in, the person
/// before the last choice, and the last choice.
fn halves(
    catalogue: &Catalogue,
    people: &[Person<usize>],
    mut each: impl FnMut(&Counts, &Person<usize>, usize),
) {
    let half = |rest: usize| -> Vec<Person<usize>> {
        people.iter().skip(rest).step_by(2).cloned().collect()
    };
    let others = [half(1), half(0)].map(|people| Counts::new(catalogue, &people));
    for (place, person) in people.iter().enumerate() {
        let last = person.chosen.len().saturating_sub(1);
        each(
            &others[place % 2],
            &person.before(last),
            person.chosen.get(last).copied().unwrap_or(0),
        );
    }
}

/// The method that finds last choices best, each half of the people by what the other shows; the
/// first of equals.
pub(super) fn best(catalogue: &Catalogue, people: &[Person<usize>], methods: &[Method]) -> Method {
    let mut sums = vec![0.0; methods.len()];
    halves(catalogue, people, |counts, person, chosen| {
        for (sum, method) in sums.iter_mut().zip(methods) {
            *sum += worth(&counts.scores(*method, person), chosen, NAMES);
        }
    });
    let mut best = 0;
    for place in 1..methods.len() {
        if sums[place] > sums[best] {
            best = place;
        }
    }
    methods[best]
}

/// A method's answers for the last choices, each half of the people by what the other shows.
pub(super) fn unseen(
    catalogue: &Catalogue,
    people: &[Person<usize>],
    method: Method,
) -> Vec<Vec<usize>> {
    let mut answers = Vec::new();
    halves(catalogue, people, |counts, person, _| {
        answers.push(ranked(&counts.scores(method, person), NAMES));
    });
    answers
}

#[cfg(test)]
mod tests {
    use super::*;

    fn catalogue() -> Catalogue {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Catalogue { items: names(&["a", "b", "c"]), words: [names(&["x", "y"]), names(&["z"])] }
    }

    fn person(word: usize, chosen: &[usize]) -> Person<usize> {
        Person { words: [word, 0], number: 0.0, chosen: chosen.to_vec() }
    }

    #[test]
    fn items_are_counted_by_word_together_and_in_order() {
        let people = [person(0, &[0, 1, 0, 1]), person(1, &[2, 2, 2])];
        let counts = Counts::new(&catalogue(), &people);
        let top = |method, person: &Person<usize>| ranked(&counts.scores(method, person), 1)[0];
        assert_eq!(top(Method::Word(0), &person(1, &[0])), 2);
        assert_eq!(top(Method::Together, &person(1, &[0])), 1);
        let after = |returns| Method::After { lags: &[1], returns };
        assert_eq!(top(after(false), &person(0, &[0])), 1);
        assert_eq!(top(after(false), &person(0, &[2, 1])), 0);
        // Every choice that has one two choices before it repeats that one.
        assert_eq!(counts.returns[1], 1.0);
        assert_eq!(top(after(true), &person(0, &[2, 0, 1])), 0);
    }

    #[test]
    fn best_method_is_the_one_that_finds_last_choices() {
        let people: Vec<Person<usize>> = (0..12)
            .map(|place| {
                person(place % 2, &[place % 3, (place + 1) % 3, (place + 2) % 3, place % 3])
            })
            .collect();
        let chosen = best(&catalogue(), &people, &[Method::Word(0), PRACTISED[0]]);
        assert_eq!(chosen, PRACTISED[0]);
        let answers = unseen(&catalogue(), &people, chosen);
        assert!(answers.iter().zip(&people).all(|(answer, one)| answer[0] == one.chosen[3]));
    }
}
