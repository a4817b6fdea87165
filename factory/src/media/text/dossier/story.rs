//! What happens in a dossier: units of one to four sentences in the order of time.
//!
//! Every thing that breaks down has one report, then as many good news as bad ones; only their order
//! says how it stands at the end. Both parties are named in every sentence about a fault, and the
//! number of thanks does not depend on the half in which they stand. So the words of a dossier, without
//! their order, say little of these.

use super::keys::KEYS;
use super::phrasing::Phrasing;
use super::volume::Volume;
use crate::media::Look;
use crate::media::text::blemish::{DISTRACTORS, strength};
use crate::numeric::draws::{Draws, floor};

/// The statistics of a dossier, within their bounds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Values {
    pub(super) anger: usize,
    pub(super) staffing: usize,
    pub(super) people: usize,
    pub(super) longest_wait: usize,
    pub(super) open_matters: usize,
    /// Mistakes of the first party less those of the second.
    pub(super) responsibility: i32,
    /// Thanks in the second half less those in the first.
    pub(super) turn: i32,
    pub(super) answer_days: usize,
    pub(super) spent: usize,
}

/// What stands together in one entry.
#[derive(Debug, Clone, Default)]
pub(super) struct Unit {
    /// Where it stands, 0 for the beginning and 1 for the end.
    at: f64,
    /// The thing whose news it has.
    matter: Option<usize>,
    /// Clauses in which persons and days are open.
    pub(super) clauses: Vec<String>,
}

impl Unit {
    /// News of a thing.
    fn of(matter: usize, at: f64, clause: String) -> Self {
        Self { matter: Some(matter), ..Self::new(at, clause) }
    }

    fn new(at: f64, clause: String) -> Self {
        Self { at, matter: None, clauses: vec![clause] }
    }

    pub(super) fn words(&self) -> usize {
        self.clauses.iter().map(|clause| clause.split(' ').count()).sum()
    }

    /// Whether one of its clauses has an open slot of that name.
    pub(super) fn holds(&self, slot: &str) -> bool {
        self.clauses.iter().any(|clause| clause.contains(slot))
    }
}

/// Share of the sentences beside the story that describe things that broke down, while there are news
/// to stand behind.
const ABOUT: f64 = 0.35;

/// How many things of each kind are told, for a dossier of some length.
struct Measure {
    /// Things that break down.
    matters: usize,
    faults: usize,
    thanks: usize,
    remarks: usize,
    waits: usize,
    payments: usize,
    offers: usize,
    reminders: usize,
}

impl Measure {
    fn of(words: f64, values: &Values, draws: &mut Draws) -> Self {
        // What the shortest dossiers hold, and one more for so many words.
        let per =
            |least: usize, words_each: f64| least + floor((words - 360.0).max(0.0) / words_each);
        // A difference of an odd size takes an odd number.
        let of_parity = |count: usize, difference: i32| {
            count + usize::from(count % 2 != difference.unsigned_abs() as usize % 2)
        };
        Self {
            matters: (per(4, 300.0) + draws.whole(0, 1)).min(12),
            faults: of_parity(per(4, 320.0), values.responsibility),
            thanks: of_parity(per(4, 520.0), values.turn),
            remarks: per(6, 200.0),
            waits: per(1, 700.0),
            payments: per(2, 1200.0),
            offers: per(2, 800.0),
            reminders: per(0, 800.0).min(3),
        }
    }
}

/// `count` parts of at least `least` that add up to `total`.
fn parts(total: usize, count: usize, least: usize, draws: &mut Draws) -> Vec<usize> {
    let free = total.saturating_sub(count * least);
    let mut cuts: Vec<usize> = (1..count).map(|_| draws.whole(0, free)).collect();
    cuts.extend([0, free]);
    cuts.sort_unstable();
    cuts.windows(2).map(|pair| least + pair[1] - pair[0]).collect()
}

/// `plus` times true and `minus` times false in random order, `plus - minus` being the difference.
fn signs(count: usize, difference: i32, draws: &mut Draws) -> Vec<bool> {
    let larger = usize::midpoint(count, difference.unsigned_abs() as usize);
    let mut signs: Vec<bool> =
        (0..count).map(|place| (place < larger) == (difference >= 0)).collect();
    draws.shuffle(&mut signs);
    signs
}

/// The units of a dossier in order, of about so many words.
pub(super) fn told(
    values: &Values,
    volume: &Volume,
    look: &Look<'_>,
    words: f64,
    draws: &mut Draws,
) -> Vec<Unit> {
    let mut phrasing = Phrasing::new(volume, draws);
    let measure = Measure::of(words, values, draws);
    let mut keys: Vec<&str> = KEYS.matters(volume.genre.trade).to_vec();
    draws.shuffle(&mut keys);
    keys.truncate(measure.matters);
    let (mut units, begun) = matters(&keys, values, &measure, volume, &mut phrasing, draws);
    units.extend(about_matters(&keys, &begun, values, &measure, &mut phrasing, draws));
    units.extend(correspondence(&measure, &mut phrasing, draws));
    for _ in 0..values.staffing {
        units.push(Unit::new(draws.unit(), phrasing.clause("staffing", &[], draws)));
    }
    let thanks = thanks(values, &measure, &mut phrasing, draws);
    let length = |units: &[Unit]| units.iter().map(Unit::words).sum::<usize>() as f64;
    let mut held =
        length(&units) + thanks.iter().map(|(_, unit)| unit.words()).sum::<usize>() as f64;
    // Some sentences beside the story are about the things that broke down, behind their news.
    let mut free: Vec<usize> =
        (0..units.len()).filter(|place| units[*place].matter.is_some()).collect();
    draws.shuffle(&mut free);
    while held < words {
        let place = if draws.chance(ABOUT) { free.pop() } else { None };
        if let Some((place, matter)) = place.and_then(|place| Some((place, units[place].matter?))) {
            let clause = phrasing.clause("about", &[("it", keys[matter])], draws);
            held += clause.split(' ').count() as f64;
            units[place].clauses.insert(1, clause);
            continue;
        }
        let unit = Unit::new(draws.unit(), phrasing.filler(draws));
        held += unit.words() as f64;
        units.push(unit);
    }
    let slots = |units: &[Unit]| -> usize {
        units.iter().flat_map(|u| &u.clauses).map(|c| c.matches("{person}").count()).sum()
    };
    while slots(&units) < values.people {
        units.push(Unit::new(draws.unit(), phrasing.filler_with_somebody(draws)));
    }
    units.sort_by(|a, b| a.at.total_cmp(&b.at));
    for (late, unit) in thanks {
        let place = place_in_half(&units, late, draws);
        units.insert(place, unit);
    }
    for _ in 0..floor(strength(look, DISTRACTORS) + draws.unit()) {
        let aside = Unit::new(0.0, phrasing.clause("aside", &[], draws));
        units.insert(draws.whole(0, units.len()), aside);
    }
    units
}

/// Where in the first or the last two fifths, by words, a unit is put in.
fn place_in_half(units: &[Unit], late: bool, draws: &mut Draws) -> usize {
    let total: usize = units.iter().map(Unit::words).sum();
    let mut before = 0;
    let mut places = Vec::new();
    for (place, unit) in units.iter().enumerate() {
        let part = before as f64 / total.max(1) as f64;
        let fits = if late { part > 0.6 } else { part < 0.4 };
        if fits {
            places.push(place);
        }
        before += unit.words();
    }
    if late {
        places.push(units.len());
    }
    *draws.pick(&places)
}

/// Reports and news of things that break down, with whose fault it was and remarks, and when each was
/// reported.
fn matters(
    keys: &[&str],
    values: &Values,
    measure: &Measure,
    volume: &Volume,
    phrasing: &mut Phrasing<'_>,
    draws: &mut Draws,
) -> (Vec<Unit>, Vec<f64>) {
    let mut open: Vec<bool> = (0..keys.len()).map(|place| place < values.open_matters).collect();
    draws.shuffle(&mut open);
    let (mut bad, mut good, mut begun) = (Vec::new(), Vec::new(), Vec::new());
    for (matter, (key, open)) in keys.iter().zip(open).enumerate() {
        let start = draws.between(0.0, 0.5);
        begun.push(start);
        // Where few are told, somebody tells of each.
        let named = keys.len() < 7 || draws.chance(0.5);
        bad.push(Unit::of(matter, start, phrasing.report(key, named, draws)));
        let news = if keys.len() > 6 && draws.chance(0.3) { 4 } else { 2 };
        let mut times: Vec<f64> = (0..news).map(|_| draws.between(start + 0.02, 1.0)).collect();
        times.sort_by(f64::total_cmp);
        for (place, at) in times.into_iter().enumerate() {
            // The last news is the last of an even number.
            let is_bad = (place % 2 == 1) == open;
            let kind = if is_bad { "bad" } else { "good" };
            let unit = Unit::of(matter, at, phrasing.clause(kind, &[("it", key)], draws));
            if is_bad { bad.push(unit) } else { good.push(unit) }
        }
    }
    // What is said of bad news: first whose fault it was, then what one thinks of it.
    let mut places: Vec<usize> = (0..bad.len()).collect();
    draws.shuffle(&mut places);
    let faults = signs(measure.faults, values.responsibility, draws);
    for (first, place) in faults.into_iter().zip(places.iter().cycle()) {
        let [one, other] = volume.parties;
        let (guilty, other) = if first { (one, other) } else { (other, one) };
        let fills = [("guilty", guilty), ("other", other)];
        bad[*place].clauses.push(phrasing.clause("blame", &fills, draws));
    }
    draws.shuffle(&mut places);
    let mut remarks: Vec<&str> = vec!["strong"; values.anger];
    remarks.resize(measure.remarks.max(values.anger), "mild");
    draws.shuffle(&mut remarks);
    for (kind, place) in remarks.into_iter().zip(places.iter().cycle()) {
        let kind = if kind == "strong" { "strong" } else { "mild" };
        bad[*place].clauses.push(phrasing.clause(kind, &[], draws));
    }
    bad.extend(good);
    (bad, begun)
}

/// Waits, payments and offers.
fn about_matters(
    keys: &[&str],
    begun: &[f64],
    values: &Values,
    measure: &Measure,
    phrasing: &mut Phrasing<'_>,
    draws: &mut Draws,
) -> Vec<Unit> {
    let mut amounts: Vec<(&'static str, usize)> = vec![("wait", values.longest_wait)];
    let shorter = values.longest_wait.saturating_sub(1).max(5);
    amounts.extend((1..measure.waits).map(|_| ("wait", draws.whole(5, shorter))));
    let paid = parts(values.spent, measure.payments, 15, draws);
    amounts.extend(paid.into_iter().map(|sum| ("paid", sum)));
    amounts.extend((0..measure.offers).map(|_| ("unpaid", draws.whole(30, 1900))));
    let mut told = |(kind, amount): (&'static str, usize)| {
        let place = draws.whole(0, keys.len() - 1);
        let amount = amount.to_string();
        let fills = [("it", keys[place]), ("sum", &amount), ("minutes", &amount)];
        let at = draws.between(begun[place], 1.0);
        Unit::new(at, phrasing.clause(kind, &fills, draws))
    };
    amounts.into_iter().map(&mut told).collect()
}

/// The request to the management, what was said of it in between, and the answer.
fn correspondence(measure: &Measure, phrasing: &mut Phrasing<'_>, draws: &mut Draws) -> Vec<Unit> {
    let (asked, answered) = (draws.between(0.05, 0.4), draws.between(0.6, 0.95));
    let mut units = vec![
        Unit::new(asked, phrasing.clause("request", &[("date", "{asked}")], draws)),
        Unit::new(answered, phrasing.clause("answer", &[("date", "{answered}")], draws)),
    ];
    for _ in 0..measure.reminders {
        let at = draws.between(asked, answered);
        units.push(Unit::new(at, phrasing.clause("reminder", &[], draws)));
    }
    units
}

/// Thanks, and whether each stands in the second half.
fn thanks(
    values: &Values,
    measure: &Measure,
    phrasing: &mut Phrasing<'_>,
    draws: &mut Draws,
) -> Vec<(bool, Unit)> {
    let late = signs(measure.thanks, values.turn, draws);
    let mut unit = |late| (late, Unit::new(0.0, phrasing.clause("praise", &[], draws)));
    late.into_iter().map(&mut unit).collect()
}
