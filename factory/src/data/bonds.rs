//! What binds rows together: the groups that they belong to, and when they were taken down.

use crate::numeric::draws::{Draws, floor};
use crate::spec::blueprint::Blueprint;
use crate::spec::rule::Frame;
use crate::spec::structure::{self, DateSpec, GroupSpec};
use std::collections::BTreeSet;
use tasks::stream::Stream;

/// Where training rows end, as a share of all days.
const TRAINED: f64 = 0.7;

/// The column of a frame that holds what groups add to scores. It is never written, and no rule
/// uses it.
pub(super) const SHIFT: &str = "shift of the group";

/// Groups and times of rows, training rows first.
#[derive(Debug)]
pub(super) struct Bonds<'a> {
    groups: Option<(&'a GroupSpec, Groups)>,
    dates: Option<(&'a DateSpec, Vec<f64>)>,
    stream: Stream,
}

#[derive(Debug)]
struct Groups {
    /// The group of each row.
    of: Vec<usize>,
    /// The coarser group of each group; all 0 where there are none.
    within: Vec<usize>,
}

impl<'a> Bonds<'a> {
    /// Draws the groups and times of so many rows.
    pub(super) fn draw(blueprint: &'a Blueprint, rows: usize, stream: Stream) -> Self {
        let stream = stream.child("bonds");
        let counts = blueprint.rows;
        let known = rows * counts.train / (counts.train + counts.test).max(1);
        let groups = blueprint.structure.groups.as_ref().map(|spec| {
            let mut draws = Draws::new(stream.child("groups"));
            (spec, Groups::draw(spec, rows, known, &mut draws))
        });
        let dates = blueprint.structure.dates.as_ref().map(|spec| {
            let mut draws = Draws::new(stream.child("dates"));
            let time = |row| {
                let (low, high) = if row < known { (0.0, TRAINED) } else { (TRAINED, 1.0) };
                draws.between(low, high)
            };
            (spec, (0..rows).map(time).collect())
        });
        Self { groups, dates, stream }
    }

    /// The latent values of a column whose own ones are `own`: rows of a group are alike, and time
    /// moves them.
    pub(super) fn bound(&self, column: &str, mut own: Vec<f64>) -> Vec<f64> {
        let alike =
            self.groups.as_ref().filter(|(spec, _)| spec.columns.iter().any(|c| c == column));
        if let Some((spec, groups)) = alike {
            let shared =
                groups.shared(spec, &mut Draws::new(self.stream.child("alike").child(column)));
            let (own_part, part) = ((1.0 - spec.alike).sqrt(), spec.alike.sqrt());
            for (value, group) in own.iter_mut().zip(&groups.of) {
                *value = own_part * *value + part * shared[*group];
            }
        }
        if let Some((spec, times)) = &self.dates
            && let Some(drift) = spec.drifts.iter().find(|drift| drift.column == column)
        {
            // From the middle of training to the middle of testing, half of the time goes by.
            for (value, time) in own.iter_mut().zip(times) {
                *value += 2.0 * drift.size * (time - 0.5);
            }
        }
        own
    }

    /// Adds what is written of groups and times, and what groups add to scores.
    pub(super) fn tell(&self, frame: &mut Frame) {
        if let Some((spec, groups)) = &self.groups {
            let mut draws = Draws::new(self.stream.child("names"));
            let names = codes(groups.within.len(), &mut draws);
            let name = groups.of.iter().map(|group| names[*group].clone());
            frame.words.insert(spec.column.clone(), name.collect());
            if let Some(parent) = &spec.within {
                let name = |group: &usize| {
                    let place = u32::try_from(groups.within[*group]).unwrap_or(0);
                    char::from_u32(u32::from('A') + place).unwrap_or('A').to_string()
                };
                frame.words.insert(parent.column.clone(), groups.of.iter().map(name).collect());
            }
            let shifts = groups.shared(spec, &mut Draws::new(self.stream.child("shift")));
            let shift = groups.of.iter().map(|group| spec.shift * shifts[*group]);
            frame.numbers.insert(SHIFT.to_owned(), shift.collect());
        }
        if let Some((spec, times)) = &self.dates {
            let day = |time: &f64| {
                let day = floor(time * spec.days as f64).min(spec.days - 1);
                structure::date(spec.first + i32::try_from(day).unwrap_or(0))
            };
            frame.words.insert(spec.column.clone(), times.iter().map(day).collect());
        }
    }
}

impl Groups {
    /// Groups of which those of the first `known` rows have no other rows.
    fn draw(spec: &GroupSpec, rows: usize, known: usize, draws: &mut Draws) -> Self {
        let count = |rows: usize| (rows / spec.size).max(2);
        let (first, second) = (count(known), count(rows - known));
        let mut group = |row| {
            if row < known { draws.whole(0, first - 1) } else { first + draws.whole(0, second - 1) }
        };
        let of = (0..rows).map(&mut group).collect();
        let parents = spec.within.as_ref().map_or(1, |parent| parent.count);
        // One after the other, so that both halves have groups in every coarser one.
        let within = (0..first + second).map(|group| group % parents).collect();
        Self { of, within }
    }

    /// A standard normal value per group; groups of one coarser group are alike, too.
    fn shared(&self, spec: &GroupSpec, draws: &mut Draws) -> Vec<f64> {
        let coarse: Vec<f64> = match &spec.within {
            Some(parent) => (0..parent.count).map(|_| draws.normal()).collect(),
            None => vec![0.0],
        };
        let own = if spec.within.is_some() { std::f64::consts::FRAC_1_SQRT_2 } else { 1.0 };
        let rest = (1.0 - own * own).sqrt();
        self.within.iter().map(|parent| rest * coarse[*parent] + own * draws.normal()).collect()
    }
}

/// Distinct opaque codes.
fn codes(count: usize, draws: &mut Draws) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let mut codes = Vec::with_capacity(count);
    while codes.len() < count {
        let letter = |draws: &mut Draws| char::from(b"BCDFGHKLMNPRSTVWXZ"[draws.whole(0, 17)]);
        let code = format!("{}{}{:03}", letter(draws), letter(draws), draws.whole(0, 999));
        if seen.insert(code.clone()) {
            codes.push(code);
        }
    }
    codes
}
