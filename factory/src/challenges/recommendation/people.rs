//! People with what they chose, as the tables show them, and the items that they choose from.

use crate::challenges::challenge::Cells;
use std::collections::BTreeSet;

/// A person, with words and items of type `T`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Person<T> {
    /// A word of each of the two columns, in the order of the table.
    pub(super) words: [T; 2],
    /// The number whose threshold may turn a move round.
    pub(super) number: f64,
    /// What was chosen, in order of time.
    pub(super) chosen: Vec<T>,
}

impl Person<String> {
    /// A row; `None` if a cell is missing or the number is none.
    pub(super) fn read(cells: &[String]) -> Option<Self> {
        let [first, second, number, chosen] = cells else { return None };
        let chosen = chosen.split(' ').map(str::to_owned).collect();
        Some(Self { words: [first.clone(), second.clone()], number: number.parse().ok()?, chosen })
    }
}

impl Person<usize> {
    /// The person before the choice at a place.
    pub(super) fn before(&self, place: usize) -> Self {
        Self { words: self.words, number: self.number, chosen: self.chosen[..place].to_vec() }
    }

    /// The item that was chosen so many choices ago.
    pub(super) fn back(&self, gap: usize) -> Option<usize> {
        self.chosen.len().checked_sub(gap).map(|place| self.chosen[place])
    }
}

/// All items and words of the training rows, in order of their names.
#[derive(Debug)]
pub(super) struct Catalogue {
    pub(super) items: Vec<String>,
    pub(super) words: [Vec<String>; 2],
}

impl Catalogue {
    /// `next` is what was chosen next, one name per row.
    pub(super) fn new(rows: &[Cells], next: &[&str]) -> Self {
        let people: Vec<Person<String>> = rows.iter().filter_map(|row| Person::read(row)).collect();
        let chosen = people.iter().flat_map(|person| person.chosen.iter().cloned());
        let items: BTreeSet<String> =
            chosen.chain(next.iter().map(|name| (*name).to_owned())).collect();
        let words = |place: usize| -> Vec<String> {
            let words: BTreeSet<&String> =
                people.iter().map(|person| &person.words[place]).collect();
            words.into_iter().cloned().collect()
        };
        Self { items: items.into_iter().collect(), words: [words(0), words(1)] }
    }

    /// The rows, with what was chosen next as the last choice where it is given. Words that were
    /// never seen count as the first, and items that were never seen are left out.
    pub(super) fn people(&self, rows: &[Cells], next: Option<&[&str]>) -> Vec<Person<usize>> {
        let item = |name: &str| self.items.binary_search_by(|item| item.as_str().cmp(name)).ok();
        let none = Person { words: [0; 2], number: 0.0, chosen: Vec::new() };
        let person = |(place, row): (usize, &Cells)| {
            let Some(told) = Person::read(row) else { return none.clone() };
            let word =
                |place: usize| self.words[place].binary_search(&told.words[place]).unwrap_or(0);
            let next = next.map(|next| next[place]);
            let chosen = told.chosen.iter().map(String::as_str).chain(next);
            Person {
                words: [word(0), word(1)],
                number: told.number,
                chosen: chosen.filter_map(item).collect(),
            }
        };
        rows.iter().enumerate().map(person).collect()
    }

    /// The names of items.
    pub(super) fn named(&self, items: &[usize]) -> Vec<String> {
        items.iter().map(|item| self.items[*item].clone()).collect()
    }
}

/// The items with the highest scores, the highest first; the first of equals.
pub(super) fn ranked(scores: &[f64], most: usize) -> Vec<usize> {
    let mut items: Vec<usize> = (0..scores.len()).collect();
    items.sort_by(|one, other| scores[*other].total_cmp(&scores[*one]));
    items.truncate(most);
    items
}

/// What an answer is worth: one over the rank of the item that was chosen, if it is named.
pub(super) fn worth(scores: &[f64], chosen: usize, most: usize) -> f64 {
    let rank = ranked(scores, most).into_iter().position(|item| item == chosen);
    rank.map_or(0.0, |rank| 1.0 / (rank + 1) as f64)
}

/// All choices that have an earlier one so many choices before them: the person, the earlier
/// choice, the place of the later one.
pub(super) fn pairs(
    people: &[Person<usize>],
    gap: usize,
) -> impl Iterator<Item = (&Person<usize>, usize, usize)> {
    people.iter().flat_map(move |person| {
        (gap..person.chosen.len()).map(move |place| (person, person.chosen[place - gap], place))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(history: &str) -> Cells {
        ["north", "weekly", "41", history].map(str::to_owned).into()
    }

    #[test]
    fn rows_are_read_and_items_are_known_by_name() {
        let rows = [row("b c b"), row("c")];
        let catalogue = Catalogue::new(&rows, &["a", "b"]);
        assert_eq!(catalogue.items, ["a", "b", "c"]);
        let people = catalogue.people(&rows, Some(&["a", "b"]));
        assert_eq!((people[0].number, &people[0].chosen), (41.0, &vec![1, 2, 1, 0]));
        let new = catalogue.people(&[row("c x b")], None);
        assert_eq!(catalogue.named(&new[0].chosen), ["c", "b"]);
        assert_eq!((new[0].back(2), new[0].back(3)), (Some(2), None));
        let found: Vec<(usize, usize)> =
            pairs(&people, 2).map(|(_, from, place)| (from, place)).collect();
        assert_eq!(found, [(1, 2), (2, 3)]);
    }

    #[test]
    fn answers_are_worth_one_over_the_rank() {
        let scores = [0.1, 0.4, 0.4, 0.2];
        assert_eq!(ranked(&scores, 3), [1, 2, 3]);
        assert_eq!((worth(&scores, 2, 3), worth(&scores, 0, 3)), (0.5, 0.0));
    }
}
