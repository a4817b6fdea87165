//! The columns of a blueprint by the part that they can play in a rule, and how they are dealt.

use super::families::{Columns, Shares, Step};
use super::rule_request::{RuleColumn, RuleColumns};
use super::strategist::RULED;
use crate::media::Reach;
use crate::numeric::draws::Draws;
use crate::spec::blueprint::Blueprint;
use crate::spec::layout::NetworkLayout;
use crate::spec::rule::Frame;
use crate::spec::scenario::WordColumn;

/// The columns of a blueprint, by the part that they can play in a rule.
pub(super) struct Parts {
    floors: Vec<String>,
    /// Number columns for a step, where there are no words.
    jumps: Vec<String>,
    words: Vec<(String, Vec<String>)>,
    shares: Shares,
    /// Columns for the mechanism; where there are two kinds, every term takes one of each.
    first: Vec<String>,
    second: Vec<String>,
}

impl Parts {
    pub(super) fn of(blueprint: &Blueprint) -> Self {
        let words: Vec<(String, Vec<String>)> = blueprint
            .words
            .iter()
            .map(|spec| (spec.column.name.clone(), spec.column.words.clone()))
            .collect();
        let own =
            |name: &String| blueprint.queries().is_some_and(|queries| queries.own.contains(name));
        let (of_queries, of_rows): (Vec<String>, Vec<String>) = blueprint
            .numbers
            .iter()
            .take(RULED)
            .map(|spec| spec.column.name.clone())
            .partition(own);
        if let Some(network) = blueprint.network() {
            let own = of_rows.iter().filter(|name| !network.near.contains(name));
            return Self {
                floors: network.near.clone(),
                jumps: NetworkLayout::STRUCTURE.map(str::to_owned).to_vec(),
                // A straight line finds words as well as trees do, and needs no links.
                words: Vec::new(),
                shares: Shares::SURROUNDED,
                first: network.near.iter().map(|column| NetworkLayout::hidden(column)).collect(),
                second: own.cloned().collect(),
            };
        }
        let Some(item) = blueprint.item() else {
            let first = of_rows.clone();
            return Self {
                floors: of_rows,
                jumps: Vec::new(),
                words,
                shares: Shares::WRITTEN,
                first,
                second: of_queries,
            };
        };
        let reach = |reach: Reach| -> Vec<String> {
            let statistics = item.medium.statistics().iter().zip(&item.statistics);
            statistics
                .filter(|(statistic, _)| statistic.reach == reach)
                .map(|(_, spec)| spec.column.name.clone())
                .collect()
        };
        let (plain, generic, hidden) =
            (reach(Reach::Plain), reach(Reach::Generic), reach(Reach::Hidden));
        let second = if of_queries.is_empty() { of_rows.clone() } else { of_queries };
        Self {
            floors: [plain, of_rows].concat(),
            jumps: generic.clone(),
            words,
            shares: Shares::CARRIED,
            first: [hidden, generic].concat(),
            second,
        }
    }

    /// Columns left for a mechanism once floor and step have theirs.
    pub(super) fn rest(&self) -> usize {
        let both = if self.second.is_empty() {
            self.first.len().saturating_sub(usize::from(self.words.is_empty()))
        } else {
            2 * self.first.len().min(self.second.len())
        };
        let shared = self.floors.iter().filter(|floor| self.first.contains(floor)).count();
        both - usize::from(shared > 0).min(both)
    }

    /// Deals the columns out in random order.
    pub(super) fn deal<'a>(&self, population: &'a Frame, draws: &mut Draws) -> Option<Columns<'a>> {
        let shuffled = |list: &Vec<String>, draws: &mut Draws| {
            let mut list = list.clone();
            draws.shuffle(&mut list);
            list
        };
        let floor = shuffled(&self.floors, draws).first()?.clone();
        let step = if self.words.is_empty() {
            Step::Jump(shuffled(&self.jumps, draws).first()?.clone())
        } else {
            let (column, words) = draws.pick(&self.words).clone();
            Step::Words(column, words)
        };
        let free = |list: Vec<String>| -> Vec<String> {
            let taken = |name: &String| {
                *name == floor || matches!(&step, Step::Jump(column) if column == name)
            };
            list.into_iter().filter(|name| !taken(name)).collect()
        };
        let first = free(shuffled(&self.first, draws));
        let second = free(shuffled(&self.second, draws));
        let rest = if second.is_empty() {
            first
        } else {
            first.into_iter().zip(second).flat_map(|(one, other)| [one, other]).collect()
        };
        Some(Columns { floor, step, shares: self.shares, rest, population })
    }

    /// All columns that a rule may use, with their ranges in the population.
    pub(super) fn columns(&self, blueprint: &Blueprint, population: &Frame) -> RuleColumns {
        let kinds = if self.second.is_empty() {
            ["mechanism"; 2]
        } else {
            ["mechanism, first kind", "mechanism, second kind"]
        };
        let lists = [
            ("floor", &self.floors),
            ("step", &self.jumps),
            (kinds[0], &self.first),
            (kinds[1], &self.second),
        ];
        let mut names: Vec<&String> = Vec::new();
        for name in lists.iter().flat_map(|(_, list)| list.iter()) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let column = |name: &String| {
            let suits = lists.iter().filter(|(_, list)| list.contains(name));
            let suits = suits.map(|(suits, _)| *suits).collect();
            RuleColumn::new(name, meaning(blueprint, name), suits, population)
        };
        let words = self.words.iter().cloned();
        RuleColumns {
            numbers: names.into_iter().map(column).collect(),
            words: words.map(|(name, words)| WordColumn { name, words }).collect(),
        }
    }
}

/// What a column measures that stands in no table, or is shared by rows.
fn meaning(blueprint: &Blueprint, name: &String) -> String {
    if let Some(item) = blueprint.item() {
        let mut known = item.medium.statistics().iter().zip(&item.statistics);
        if let Some((statistic, _)) = known.find(|(_, spec)| spec.column.name == *name) {
            return format!("read from the item: {}", statistic.means);
        }
    }
    if let Some(network) = blueprint.network() {
        let [degree, near_degree] = NetworkLayout::STRUCTURE;
        let mut near = network.near.iter();
        return match near.find(|column| NetworkLayout::hidden(column) == *name) {
            Some(column) => format!("mean of `{column}` over the row's neighbours"),
            None if name == degree => "number of the row's links".to_owned(),
            None if name == near_degree => "mean number of links of its neighbours".to_owned(),
            None => String::new(),
        };
    }
    if blueprint.queries().is_some_and(|queries| queries.own.contains(name)) {
        return "the same in all rows of a query".to_owned();
    }
    String::new()
}
