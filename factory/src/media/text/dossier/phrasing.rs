//! How sentences of the banks are chosen and their slots filled.

use super::bank::{BANKS, Template};
use super::calendar::any_weekday;
use super::volume::Volume;
use crate::media::text::wording::capitalised;
use crate::numeric::draws::Draws;
use std::collections::BTreeMap;

/// Share of sentences that are told through somebody, or with a word before them.
const FRAMED: f64 = 0.3;
/// Kinds of sentences that bear a frame.
const BEAR_FRAMES: [&str; 6] = ["good", "bad", "blame", "paid", "unpaid", "wait"];
/// The kind of sentences beside the story.
const FILLER: &str = "filler";
/// Frames of reports, and those in which somebody reports.
const FRAME: &str = "frame";
const NAMED_FRAME: &str = "frame with somebody";
/// Where sentences beside the story come from, and how often: from the trade, from the kind of papers,
/// from anywhere. The third share is less where nobody jokes.
const SOURCES: [&str; 3] = ["trade filler", "register filler", "common filler"];
const SHARES: [f64; 3] = [0.52, 0.26, 0.22];
const FORMAL_SHARES: [f64; 3] = [0.56, 0.34, 0.1];

/// How often one sentence may stand in a dossier.
const MOST: usize = 2;
/// Draws of a sentence that has not stood so often. A bank has many more.
const TRIES: usize = 60;

/// The sentences of a kind in random order: none comes again before all others have come.
#[derive(Debug, Default)]
struct Deck {
    left: Vec<&'static str>,
}

/// Sentences for one dossier.
#[derive(Debug)]
pub(super) struct Phrasing<'a> {
    volume: &'a Volume,
    decks: BTreeMap<&'static str, Deck>,
    /// How often each clause beside the story stands there.
    told: BTreeMap<String, usize>,
    /// What the management is asked for.
    plea: String,
}

impl<'a> Phrasing<'a> {
    pub(super) fn new(volume: &'a Volume, draws: &mut Draws) -> Self {
        let plea = draws.pick(BANKS.common.of("plea")).text.clone();
        Self { volume, decks: BTreeMap::new(), told: BTreeMap::new(), plea }
    }

    /// All sentences of a deck that suit the genre.
    fn suitable(&self, deck: &str) -> Vec<&'static str> {
        let (trade, register) = (self.volume.trade(), self.volume.register());
        let (banks, kind) = match deck {
            "trade filler" => (vec![trade], FILLER),
            "register filler" => (vec![register], FILLER),
            "common filler" => (vec![&BANKS.common], FILLER),
            FRAME | NAMED_FRAME => (vec![register], "report"),
            kind => (vec![&BANKS.cues, &BANKS.common, trade, register], kind),
        };
        let genre = self.volume.genre;
        let suits = |template: &&Template| {
            let tone = match kind {
                "good" | "bad" => genre.trade.is_tangible(),
                _ => !genre.register.is_formal(),
            };
            (tone || !template.narrow) && (template.names() || deck != NAMED_FRAME)
        };
        let all = banks.into_iter().flat_map(|bank| bank.of(kind)).filter(suits);
        all.map(|template| template.text.as_str()).collect()
    }

    /// The next sentence of a kind, slots open.
    fn next(&mut self, kind: &'static str, draws: &mut Draws) -> &'static str {
        if self.decks.get(kind).is_none_or(|deck| deck.left.is_empty()) {
            let mut left = self.suitable(kind);
            draws.shuffle(&mut left);
            self.decks.insert(kind, Deck { left });
        }
        self.decks.get_mut(kind).and_then(|deck| deck.left.pop()).unwrap_or_default()
    }

    /// A clause of a kind with its slots filled; persons and days stay open.
    pub(super) fn clause(
        &mut self,
        kind: &'static str,
        fills: &[(&str, &str)],
        draws: &mut Draws,
    ) -> String {
        let template = self.next(kind, draws);
        let clause = self.filled(template, fills, draws);
        if !BEAR_FRAMES.contains(&kind) || !draws.chance(FRAMED) {
            return clause;
        }
        let frame = self.next("plain", draws);
        frame.replace("{c}", &clause)
    }

    /// A clause that stands [`MOST`] times at most, of the kind that `kind` draws.
    fn fresh(&mut self, kind: impl Fn(&mut Draws) -> &'static str, draws: &mut Draws) -> String {
        let mut clause = String::new();
        for _ in 0..TRIES {
            let kind = kind(draws);
            clause = self.clause(kind, &[], draws);
            if self.told.get(&clause).is_none_or(|count| *count < MOST) {
                break;
            }
        }
        *self.told.entry(clause.clone()).or_default() += 1;
        clause
    }

    /// What stands above an entry, of the kind `heading` or `question`.
    pub(super) fn title(&mut self, kind: &'static str, draws: &mut Draws) -> String {
        self.fresh(|_| kind, draws)
    }

    /// A sentence beside the story: the trade's, the register's or anybody's.
    pub(super) fn filler(&mut self, draws: &mut Draws) -> String {
        let formal = self.volume.genre.register.is_formal();
        let shares = if formal { FORMAL_SHARES } else { SHARES };
        self.fresh(|draws| SOURCES[draws.weighted(&shares)], draws)
    }

    /// The same with somebody in it.
    pub(super) fn filler_with_somebody(&mut self, draws: &mut Draws) -> String {
        let all = self.suitable(FILLER);
        let named: Vec<&str> = all.into_iter().filter(|text| text.contains("{person}")).collect();
        let template = *draws.pick(&named);
        self.filled(template, &[], draws)
    }

    /// The first report of a thing that has broken down.
    pub(super) fn report(&mut self, matter: &str, named: bool, draws: &mut Draws) -> String {
        let reports = self.volume.trade().of("report").iter();
        let of_it: Vec<&str> = reports
            .filter_map(|report| report.text.strip_prefix(matter)?.strip_prefix(": "))
            .collect();
        let template = *draws.pick(&of_it);
        let clause = self.filled(template, &[], draws);
        let dated = !self.volume.genre.register.is_dated() && draws.chance(0.35);
        let clause = if dated { format!("on {{today}} {clause}") } else { clause };
        let frame = self.next(if named { NAMED_FRAME } else { FRAME }, draws);
        frame.replace("{c}", &clause)
    }

    /// A template with its choices made and its slots filled; persons and days stay open.
    pub(super) fn filled(
        &self,
        template: &str,
        fills: &[(&str, &str)],
        draws: &mut Draws,
    ) -> String {
        let mut text = String::with_capacity(2 * template.len());
        let mut rest = template;
        while let Some(start) = rest.find(['{', '[']) {
            text.push_str(&rest[..start]);
            let close = if rest[start..].starts_with('{') { '}' } else { ']' };
            let Some(length) = rest[start..].find(close) else { break };
            let inner = &rest[start + 1..start + length];
            if close == ']' {
                let ways: Vec<&str> = inner.split('|').collect();
                text.push_str(ways[draws.whole(0, ways.len() - 1)]);
            } else {
                text.push_str(&self.slot(inner, fills, draws));
            }
            rest = &rest[start + length + 1..];
        }
        text + rest
    }

    fn slot(&self, name: &str, fills: &[(&str, &str)], draws: &mut Draws) -> String {
        if let Some((_, fill)) = fills.iter().find(|(known, _)| *known == name) {
            return (*fill).to_owned();
        }
        let of_trade =
            |kind: &str, draws: &mut Draws| draws.pick(self.volume.trade().of(kind)).text.clone();
        match name {
            "weekday" => any_weekday(draws).to_owned(),
            "number" => draws.whole(2, 60).to_string(),
            "few" => draws.whole(2, 12).to_string(),
            "place" | "thing" => of_trade(name, draws),
            "plea" => self.plea.clone(),
            "house" => self.volume.house.to_owned(),
            open => format!("{{{open}}}"),
        }
    }
}

/// A sentence of a clause: a capital at its beginning and a full stop at its end.
pub(super) fn sentence(clause: &str) -> String {
    let end = if clause.ends_with('?') { "" } else { "." };
    capitalised(clause) + end
}
