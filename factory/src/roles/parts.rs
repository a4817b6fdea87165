//! The columns of a blueprint by the part that they can play in a rule, and how they are dealt.

use super::families::{Columns, Step};
use super::rule_request::{RuleColumn, RuleColumns};
use super::shares::Shares;
use super::strategist::RULED;
use crate::media::Reach;
use crate::numeric::draws::Draws;
use crate::spec::blueprint::Blueprint;
use crate::spec::layout::NetworkLayout;
use crate::spec::rule::Frame;
use crate::spec::scenario::{Cause, Effect, Follows, WordColumn};
use std::collections::BTreeMap;

/// The columns of a blueprint, by the part that they can play in a rule.
pub(super) struct Parts {
    floors: Vec<String>,
    /// Number columns for a step, where there are no words.
    jumps: Vec<String>,
    words: Vec<WordColumn>,
    shares: Shares,
    /// Columns for the mechanism; where there are two kinds, every term takes one of each.
    first: Vec<String>,
    second: Vec<String>,
    /// How columns move the target, as far as the story says.
    effects: BTreeMap<String, Effect>,
    follows: Vec<Follows>,
    /// The column that records or places hold: mechanisms begin with it.
    worked_out: Option<String>,
}

impl Parts {
    /// The parts for a target that is moved by `causes`, if the story says what moves it.
    pub(super) fn of(blueprint: &Blueprint, causes: &[Cause]) -> Self {
        let words: Vec<WordColumn> =
            blueprint.words.iter().map(|spec| spec.column.clone()).collect();
        let mut effects: BTreeMap<String, Effect> =
            causes.iter().map(|cause| (cause.column.clone(), cause.effect.clone())).collect();
        // What neighbours have moves a row's target as what it has itself.
        for column in blueprint.network().iter().flat_map(|network| &network.near) {
            if let Some(effect) = effects.get(column).cloned() {
                effects.insert(NetworkLayout::hidden(column), effect);
            }
        }
        // What all rows of a query share does not order them: it only acts on what they differ in.
        for column in blueprint.queries().iter().flat_map(|queries| &queries.own) {
            effects.remove(column);
        }
        let follows = blueprint.follows.clone();
        let worked_out = blueprint.structure.worked_out().map(str::to_owned);
        let parts = Self { effects, follows, worked_out, ..Self::among(blueprint, words) };
        parts.of_causes()
    }

    /// The same for one of the axes of classes without an order.
    pub(super) fn of_axis(self, axes: usize) -> Self {
        Self { shares: Shares::of_axis(axes), ..self }
    }

    /// The same without columns that move nothing, where enough are left.
    fn of_causes(mut self) -> Self {
        // A straight line reads no records and knows no distances.
        self.floors.retain(|name| Some(name) != self.worked_out.as_ref());
        if self.effects.is_empty() {
            return self;
        }
        let narrow = |list: &mut Vec<String>, least: usize, suits: &dyn Fn(&String) -> bool| {
            let least = least.min(list.len());
            if list.iter().filter(|name| suits(name)).count() >= least {
                list.retain(suits);
            }
        };
        let effects = &self.effects;
        let of_item = |name: &String| name.contains('.') && !NetworkLayout::is_hidden(name);
        let moves = |name: &String| of_item(name) || effects.contains_key(name);
        let straight = |name: &String| {
            of_item(name) || effects.get(name).is_some_and(|effect| effect.sign().is_some())
        };
        narrow(&mut self.floors, 1, &straight);
        narrow(&mut self.first, 4, &moves);
        narrow(&mut self.second, 2, &moves);
        self
    }

    /// The parts without what a story says of causes.
    fn among(blueprint: &Blueprint, words: Vec<WordColumn>) -> Self {
        let (effects, follows, worked_out) = (BTreeMap::new(), Vec::new(), None);
        let own =
            |name: &String| blueprint.queries().is_some_and(|queries| queries.own.contains(name));
        let (of_queries, of_rows): (Vec<String>, Vec<String>) =
            blueprint.numbers.iter().take(RULED).map(|column| column.name.clone()).partition(own);
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
                effects,
                follows,
                worked_out,
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
                effects,
                follows,
                worked_out,
            };
        };
        let reach = |reach: Reach| -> Vec<String> {
            let statistics = item.medium.statistics().iter().zip(&item.statistics);
            statistics
                .filter(|(statistic, _)| statistic.reach == reach)
                .map(|(_, column)| column.name.clone())
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
            effects,
            follows,
            worked_out,
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
    pub(super) fn deal<'a>(
        &'a self,
        population: &'a Frame,
        draws: &mut Draws,
    ) -> Option<Columns<'a>> {
        let shuffled = |list: &Vec<String>, draws: &mut Draws| {
            let mut list = list.clone();
            draws.shuffle(&mut list);
            list
        };
        let floors = shuffled(&self.floors, draws);
        let floor = floors.first()?.clone();
        // A table's columns are few, and all of its mechanism is made of them.
        let spare = (!self.jumps.is_empty()).then(|| floors.get(1).cloned()).flatten();
        let step = if self.words.is_empty() {
            Step::Bent(shuffled(&self.jumps, draws).first()?.clone())
        } else {
            Step::Words(draws.pick(&self.words).clone())
        };
        let free = |list: Vec<String>| -> Vec<String> {
            let taken = |name: &String| {
                let bent = matches!(&step, Step::Bent(column) if column == name);
                *name == floor || bent
            };
            list.into_iter().filter(|name| !taken(name)).collect()
        };
        let mut first = free(shuffled(&self.first, draws));
        // Stable: the others stay in their order.
        first.sort_by_key(|name| Some(name) != self.worked_out.as_ref());
        let second = free(shuffled(&self.second, draws));
        let rest = if second.is_empty() {
            first
        } else {
            first.into_iter().zip(second).flat_map(|(one, other)| [one, other]).collect()
        };
        let shares = self.shares;
        let (words, effects, follows) = (&self.words[..], &self.effects, &self.follows[..]);
        Some(Columns {
            floor,
            second: spare,
            step,
            shares,
            rest,
            words,
            effects,
            follows,
            population,
        })
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
            let effect = self.effects.get(name).cloned();
            RuleColumn::new(name, meaning(blueprint, name), effect, suits, population)
        };
        RuleColumns { numbers: names.into_iter().map(column).collect(), words: self.words.clone() }
    }
}

/// What a column measures that stands in no table, or is shared by rows.
fn meaning(blueprint: &Blueprint, name: &String) -> String {
    if let Some(item) = blueprint.item() {
        let mut known = item.medium.statistics().iter().zip(&item.statistics);
        if let Some((statistic, _)) = known.find(|(_, column)| column.name == *name) {
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
    if blueprint.structure.worked_out().is_some_and(|of| of == name) {
        let told = match &blueprint.structure.records {
            Some(_) => "the row's records in a second file",
            None => "how far a place of the row is from another",
        };
        return format!("in no table, but follows from {told}; at least one term has to use it");
    }
    String::new()
}
