//! The piece of a text that shows an attitude, copied as it stands.
//!
//! A row is a remark of several clauses and the attitude that is asked for; the answer is a piece
//! of the remark. Hidden conventions decide between clauses of the same attitude, and which words
//! of the clause belong to the piece. The ladder: R0 the whole remark; R1 the part between two
//! marks whose words are most like those of known answers; R2 the run of words that is most like
//! known answers inside and at its ends; R3 the conventions that reproduce most training rows. The
//! ceiling is the conventions without slips.

#[cfg(test)]
mod tests;

use super::challenge::{Answer, Cells, Challenge, DrawnRow, Material, SLIPS, Strengths, nothing};
use super::distinct::Distinct;
use super::reading;
use super::remarks::{Attitude, Clause, MARKS, clauses, remark};
use super::tagger::{Tagged, Tagger};
use crate::baselines::ladder::LadderError;
use crate::baselines::rungs::Rungs;
use crate::media::{Blemish, Reading};
use crate::numeric::draws::Draws;
use crate::spec::challenge::Wording;
use crate::spec::extraction::{Beginning, Ending, Extraction, Mark, Negation, Neutral, Winner};
use std::collections::BTreeMap;
use std::ops::Range;
use tasks::metrics::Metric;
use tasks::prediction::Prediction;
use tasks::task::RowCounts;
use tasks::values::{self, Values};

/// Conventions of a task that are not the usual ones, at least.
const UNUSUAL: usize = 5;
/// Python that takes remarks apart and copies pieces.
const REMARKS: &str = include_str!("remarks.py");

impl Extraction {
    /// Draws conventions.
    pub(super) fn plan(draws: &mut Draws) -> Self {
        loop {
            let rule = Self {
                praise_from: *draws.pick(&Beginning::ALL),
                praise_to: *draws.pick(&Ending::ALL),
                complaint_from: *draws.pick(&Beginning::ALL),
                complaint_to: *draws.pick(&Ending::ALL),
                winner: *draws.pick(&Winner::ALL),
                negation: *draws.pick(&Negation::ALL),
                neutral: *draws.pick(&Neutral::ALL),
                mark: *draws.pick(&Mark::ALL),
            };
            if rule.unusual().len() >= UNUSUAL {
                return rule;
            }
        }
    }

    /// The piece of a text that is asked for; `None` if no clause shows the attitude.
    fn piece<'t>(self, text: &'t str, clauses: &[Clause], asked: Attitude) -> Option<&'t str> {
        self.span(text, clauses, asked).map(|span| &text[span])
    }

    /// The bytes of the piece.
    fn span(self, text: &str, clauses: &[Clause], asked: Attitude) -> Option<Range<usize>> {
        let whole = |clause: &Clause| self.cut(text, clause.subject, clause.end);
        let (from, to) = match asked {
            Attitude::Praise => (self.praise_from, self.praise_to),
            Attitude::Complaint => (self.complaint_from, self.complaint_to),
            Attitude::Neutral => {
                let is_plain = |clause: &&Clause| clause.attitude == Attitude::Neutral;
                return match self.neutral {
                    Neutral::Text => Some(self.cut(text, 0, text.trim_end_matches(MARKS).len())),
                    Neutral::Plain => clauses.iter().find(is_plain).map(whole),
                    Neutral::Opening => clauses.first().map(whole),
                    Neutral::Closing => clauses.last().map(whole),
                };
            }
        };
        let mut shows = clauses.iter().filter(|clause| self.attitude(clause) == asked);
        let clause = match self.winner {
            Winner::First => shows.next(),
            Winner::Last => shows.next_back(),
            // The last one from behind is the first of equals.
            Winner::Strongest => shows.rev().max_by_key(|clause| clause.degree),
            Winner::Longest => shows.rev().max_by_key(|clause| clause.words),
        }?;
        let start = match from {
            Beginning::Subject => clause.subject,
            Beginning::Conjunction => clause.start,
            Beginning::Verb => clause.verb,
            Beginning::Degree => clause.degree_start,
            Beginning::Opinion => clause.opinion,
        };
        let end = match to {
            Ending::Clause => clause.end,
            Ending::Opinion => clause.opinion_end,
            Ending::First => clause.first_end,
        };
        Some(self.cut(text, start, end))
    }

    /// What a clause counts for.
    fn attitude(self, clause: &Clause) -> Attitude {
        match (clause.negated, self.negation) {
            (false, _) => clause.attitude,
            (true, Negation::Turned) => clause.attitude.turned(),
            (true, Negation::Skipped) => Attitude::Neutral,
        }
    }

    /// A piece of a text, with the mark behind it where marks are copied.
    fn cut(self, text: &str, start: usize, end: usize) -> Range<usize> {
        let marks = text[end..].chars().take_while(|letter| MARKS.contains(letter)).count();
        match self.mark {
            Mark::Without => start..end,
            Mark::With => start..end + marks,
        }
    }

    /// The rule itself, and the rules that differ in conventions that meet in one piece.
    fn variants(self) -> Vec<Self> {
        let mut variants = vec![self];
        variants.extend(Neutral::ALL.map(|neutral| Self { neutral, ..self }));
        for winner in Winner::ALL {
            for negation in Negation::ALL {
                variants.extend(Mark::ALL.map(|mark| Self { winner, negation, mark, ..self }));
            }
        }
        for from in Beginning::ALL {
            for to in Ending::ALL {
                variants.push(Self { praise_from: from, praise_to: to, ..self });
                variants.push(Self { complaint_from: from, complaint_to: to, ..self });
            }
        }
        variants
    }
}

impl Challenge for Extraction {
    fn prediction(&self, column: &str) -> Prediction {
        Prediction::Text { column: column.to_owned() }
    }

    fn metric(&self) -> Metric {
        Metric::WordJaccard
    }

    fn blemishes(&self) -> &'static [Blemish] {
        &[SLIPS]
    }

    fn draw(
        &self,
        wording: &Wording,
        strengths: &Strengths,
        rows: RowCounts,
        draws: &mut Draws,
    ) -> Vec<DrawnRow> {
        let slips = strengths.get(SLIPS.name).copied().unwrap_or(0.0);
        let mut distinct = Distinct::default();
        let mut drawn = Vec::new();
        while drawn.len() < rows.train + rows.test {
            let text = remark(wording, draws);
            let asked = Attitude::ALL[draws.weighted(&[0.42, 0.42, 0.16])];
            let slipped = draws.chance(slips);
            let clauses = clauses(&text);
            // One clause shows the attitude whatever the conventions are.
            if !clauses.iter().any(|clause| !clause.negated && clause.attitude == asked) {
                continue;
            }
            let Some(ideal) = self.piece(&text, &clauses, asked) else { continue };
            if !distinct.keep(&text) {
                continue;
            }
            let usual = Self::default().piece(&text, &clauses, asked);
            let usual = usual.filter(|usual| *usual != ideal).unwrap_or(&text);
            let truth = if slipped { usual } else { ideal };
            let [truth, ideal] = [truth, ideal].map(|text| Answer::Text(text.to_owned()));
            drawn.push(DrawnRow { cells: vec![text, asked.name().to_owned()], truth, ideal });
        }
        drawn
    }

    fn read(&self, cells: &[String]) -> Reading {
        reading::texts(cells)
    }

    fn climb(&self, material: &Material<'_>) -> Result<Rungs, LadderError> {
        let Values::Texts(truths) = material.train_truth else {
            return Ok(nothing(material));
        };
        let known: Vec<Known<'_>> =
            material.train.iter().zip(truths).map(|(row, truth)| Known::new(row, truth)).collect();
        let copied = |rows: &[Cells]| read(rows, |row| &row[0]);
        let parts = Parts::new(&known);
        let pieces = Pieces::new(&known);
        let rule = fitted(&known);
        // Each half by what was learnt from the other.
        let half = |rest: usize| -> Vec<Known<'_>> {
            known.iter().skip(rest).step_by(2).copied().collect()
        };
        let others = [Pieces::new(&half(1)), Pieces::new(&half(0))];
        let unseen = material.train.iter().enumerate();
        let unseen = unseen.map(|(place, row)| others[place % 2].of(row).to_owned()).collect();
        let forecasts = [
            copied(&material.test),
            read(&material.test, |row| parts.of(row)),
            read(&material.test, |row| pieces.of(row)),
            read(&material.test, |row| {
                let asked = Attitude::named(&row[1]);
                let piece = asked.and_then(|asked| rule.piece(&row[0], &clauses(&row[0]), asked));
                piece.unwrap_or(&row[0])
            }),
            material.ideal.clone(),
        ];
        let start = Some(copied(&material.train));
        Ok(Rungs { forecasts, start, unseen: Values::Texts(unseen) })
    }

    fn oracle(&self) -> String {
        let choices: Vec<String> =
            self.choices().iter().map(|(name, option)| format!("{name:?}: {option:?}")).collect();
        format!("{REMARKS}STYLE = {{{}}}\n", choices.join(", "))
    }

    fn made_of(&self) -> &'static str {
        "short texts"
    }
}

/// An answer to each row.
fn read(rows: &[Cells], answer: impl Fn(&Cells) -> &str) -> Values {
    Values::Texts(rows.iter().map(|row| answer(row).to_owned()).collect())
}

/// A training row with its answer.
#[derive(Debug, Clone, Copy)]
struct Known<'a> {
    text: &'a str,
    asked: &'a str,
    piece: &'a str,
}

impl<'a> Known<'a> {
    fn new(row: &'a Cells, piece: &'a str) -> Self {
        Self { text: &row[0], asked: &row[1], piece }
    }
}

/// What was learnt of each attitude by itself.
fn taggers<'a>(known: &[Known<'a>]) -> BTreeMap<&'a str, Tagger> {
    let mut by_attitude: BTreeMap<&str, Vec<Tagged<'_>>> = BTreeMap::new();
    for Known { text, asked, piece } in known {
        by_attitude.entry(asked).or_default().push(Tagged { text, piece });
    }
    by_attitude.into_iter().map(|(asked, rows)| (asked, Tagger::new(rows))).collect()
}

/// Parts between marks.
#[derive(Debug)]
struct Parts<'a>(BTreeMap<&'a str, Tagger>);

impl<'a> Parts<'a> {
    fn new(known: &[Known<'a>]) -> Self {
        let mut taggers = taggers(known);
        // An attitude whose answers are more like the whole texts is not looked for in parts.
        taggers.retain(|attitude, tagger| {
            let rows: Vec<&Known<'_>> = known.iter().filter(|row| row.asked == *attitude).collect();
            let texts = |answer: &dyn Fn(&Known<'a>) -> &'a str| {
                Values::Texts(rows.iter().map(|row| answer(row).to_owned()).collect())
            };
            let truth = texts(&|row| row.piece);
            let score = |forecast| values::score(Metric::WordJaccard, &truth, &forecast).ok();
            score(texts(&|row| tagger.part(row.text))) > score(texts(&|row| row.text))
        });
        Self(taggers)
    }

    fn of<'t>(&self, row: &'t Cells) -> &'t str {
        self.0.get(row[1].as_str()).map_or(&row[0], |tagger| tagger.part(&row[0]))
    }
}

/// Runs of words.
#[derive(Debug)]
struct Pieces<'a>(BTreeMap<&'a str, Tagger>);

impl<'a> Pieces<'a> {
    fn new(known: &[Known<'a>]) -> Self {
        Self(taggers(known))
    }

    fn of<'t>(&self, row: &'t Cells) -> &'t str {
        self.0.get(row[1].as_str()).map_or(&row[0], |tagger| tagger.piece(&row[0]))
    }
}

/// The conventions that reproduce most training rows, and come close to the others.
fn fitted(known: &[Known<'_>]) -> Extraction {
    let rows: Vec<(&Known<'_>, Vec<Clause>, Attitude)> = known
        .iter()
        .filter_map(|row| Some((row, clauses(row.text), Attitude::named(row.asked)?)))
        .collect();
    let likeness = |rule: &Extraction| -> f64 {
        let one = |(row, clauses, asked): &(&Known<'_>, Vec<Clause>, Attitude)| {
            let (span, start) = (rule.span(row.text, clauses, *asked)?, row.text.find(row.piece)?);
            let shared = overlap(&span, &(start..start + row.piece.len()));
            Some(if row.text[span] == *row.piece { 2.0 } else { shared })
        };
        rows.iter().filter_map(one).sum()
    };
    let mut rule = Extraction::default();
    let mut most = likeness(&rule);
    // Conventions that meet in one piece are changed together, as long as it helps.
    loop {
        let variants = rule.variants();
        let found = variants.iter().map(&likeness);
        // The first of equals, which is the rule itself if nothing helps.
        let best = found.enumerate().collect::<Vec<_>>().into_iter().rev();
        match best.max_by(|(_, one), (_, other)| one.total_cmp(other)) {
            Some((place, likeness)) if likeness > most => {
                (rule, most) = (variants[place], likeness);
            }
            _ => return rule,
        }
    }
}

/// Share of the bytes of either span that are in both.
fn overlap(one: &Range<usize>, other: &Range<usize>) -> f64 {
    let shared = one.end.min(other.end).saturating_sub(one.start.max(other.start));
    shared as f64 / (one.len() + other.len() - shared).max(1) as f64
}
