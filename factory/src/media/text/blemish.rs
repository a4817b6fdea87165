//! How texts get worse: mistakes, gaps in punctuation, sentences beside the point.

use super::lexicon::{LONG, Slip, mistyped};
use super::wording::{Dialect, finish};
use crate::media::{Blemish, Look};
use crate::numeric::draws::{Draws, floor};

pub(super) const TYPOS: Blemish = Blemish {
    name: "typos",
    low: 0.04,
    high: 0.2,
    means: "a share of the longer words is mistyped: letters swapped, dropped or doubled",
};
pub(super) const DISTRACTORS: Blemish = Blemish {
    name: "distractors",
    low: 1.0,
    high: 4.0,
    means: "sentences that have nothing to do with the matter stand in between",
};
pub(super) const SHUFFLE: Blemish = Blemish {
    name: "shuffle",
    low: 0.3,
    high: 1.0,
    means: "in a share of the texts the sentences stand in random order",
};
pub(super) const BARE: Blemish = Blemish {
    name: "bare",
    low: 0.1,
    high: 0.6,
    means: "a share of the full stops and semicolons is missing",
};

/// Sentences beside the point: negations, numbers and nouns that mean nothing.
const ASIDES: [&str; 8] = [
    "the weather was not a topic here|today",
    "page $number of the handbook was copied for the files",
    "without further talk the tea was served",
    "no letter came from the town that week",
    "a $noun like this can be seen in many towns",
    "the road to the station never gets empty",
    "form $number lies with the others in a drawer",
    "some people like to talk about the $noun in spring",
];

/// The strength of a blemish in this task, 0 where it is not in force.
pub(super) fn strength(look: &Look<'_>, blemish: Blemish) -> f64 {
    look.blemishes.get(blemish.name).copied().unwrap_or(0.0)
}

/// Sentences beside the point, as many as the strength says on average.
pub(super) fn asides(look: &Look<'_>, dialect: &Dialect, draws: &mut Draws) -> Vec<Vec<String>> {
    let count = floor(strength(look, DISTRACTORS) + draws.unit());
    let mut templates = ASIDES;
    draws.shuffle(&mut templates);
    let aside = |template: &&str| {
        let mut words = dialect.phrase(template, draws, |slot, draws| match slot {
            "number" => draws.whole(10, 40).to_string(),
            _ => dialect.noun(draws),
        });
        finish(&mut words);
        words
    };
    templates.iter().take(count).map(aside).collect()
}

/// A word of three letters or more with one slip at an inner letter.
pub(super) fn slipped(word: &str, draws: &mut Draws) -> String {
    let slip = *draws.pick(&Slip::ALL);
    let letter = draws.whole(1, word.len() - 2);
    mistyped(word, slip, letter)
}

/// One line of text, after the blemishes of the pen.
pub(super) fn written(sentences: Vec<Vec<String>>, look: &Look<'_>, draws: &mut Draws) -> String {
    let bare = strength(look, BARE);
    let typos = strength(look, TYPOS);
    let mut words: Vec<String> = sentences.into_iter().flatten().collect();
    for word in &mut words {
        if word.ends_with(['.', ';']) && draws.chance(bare) {
            word.pop();
        }
        let letters = word.trim_end_matches(['.', ';']).len();
        if letters >= LONG && word.as_bytes()[0].is_ascii_alphabetic() && draws.chance(typos) {
            *word = slipped(&word[..letters], draws) + &word[letters..];
        }
    }
    words.join(" ")
}
