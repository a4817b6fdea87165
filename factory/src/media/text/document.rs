//! Documents: reports as long texts of several paragraphs, one file each.
//!
//! A document holds the sentences of a short report and, between them, sentences about the trade
//! that have no influence on any statistic. The added sentences name no person, state and deny no
//! finding, and hold no number, no time and no detail of an entry. So the estimates of a reader
//! stay the same; only positions in the text and shares of words change.

use super::blemish;
use super::wording::{Dialect, sentences};
use crate::media::Look;
use crate::numeric::draws::Draws;

/// Clauses about the trade. They begin with one of two words, and stand two to a sentence, so that
/// capitals still tell who is named and how often.
const TRADE: [&str; 30] = [
    "the $noun is one of several that this team keeps|has in daily use",
    "our rules|guidelines for handling a $noun were last revised some years ago",
    "the best way to set up a $noun takes two people and a little patience",
    "our $noun stands next to the $noun so that both can be reached|served at once",
    "the older|earlier model of this $noun had a narrower base and a shorter handle",
    "our supplier|maker of the $noun sends a leaflet with every delivery",
    "the $noun was moved closer to the wall when the room was rearranged|refitted",
    "our staff like this $noun because it is light and easy to carry|lift",
    "the label on the $noun can still be read from a few steps away",
    "our spare parts for a $noun lie on the shelf behind the door",
    "the $noun and the $noun share one cable|cover and one set of keys",
    "our training for new colleagues begins with the $noun and ends with the $noun",
    "the cover of the $noun opens to the left and closes with a click|snap",
    "our budget for a second $noun was agreed on in principle last year",
    "the visitors often ask what the $noun is for and how old it may be",
    "our $noun makes a low humming sound which most people hardly notice",
    "the list of tools next to the $noun is renewed at the end of each month|quarter",
    "our floor under the $noun was swept and the shelf above it was wiped|tidied",
    "the $noun came with a long guarantee that covers the moving parts",
    "our way from the $noun to the entrance is short and well lit",
    "the drawing of the $noun hangs on the wall beside the window",
    "our team took a short break|pause and went on with the next $noun",
    "the weight of the $noun is given on a small plate at the back|side",
    "our $noun has wheels so that it can be pushed through the wide doors",
    "the light above the $noun goes on when somebody enters the room",
    "our instructions|directions for the $noun come in several languages",
    "the hooks beside the $noun hold aprons and gloves and a clean towel",
    "our $noun fits through the door only when its arms are tucked in",
    "the next $noun in line looks the same from the front|outside but is a little wider",
    "our notes about each $noun go to the archive when the year is over",
];

/// Clauses about the trade in a document, at least and at most.
const FEWEST: usize = 5;
const MOST: usize = 10;
/// Sentences of a paragraph, at least and at most.
const SHORT: usize = 2;
const LONG: usize = 4;

/// A report's sentences with some about the trade in between, in paragraphs with an empty line
/// between them, after the blemishes of the pen.
pub(super) fn written(
    mut told: Vec<Vec<String>>,
    dialect: &Dialect,
    look: &Look<'_>,
    draws: &mut Draws,
) -> String {
    let mut templates = TRADE;
    draws.shuffle(&mut templates);
    let count = draws.whole(FEWEST, MOST);
    let mut clause =
        |template: &&str| dialect.phrase(template, draws, |_, draws| dialect.noun(draws));
    let clauses: Vec<Vec<String>> = templates[..count].iter().map(&mut clause).collect();
    for sentence in sentences(clauses, count / 2, &[";"], draws) {
        told.insert(draws.whole(0, told.len()), sentence);
    }
    let mut paragraphs = Vec::new();
    while !told.is_empty() {
        let rest = told.split_off(draws.whole(SHORT, LONG).min(told.len()));
        paragraphs.push(blemish::written(told, look, draws) + "\n");
        told = rest;
    }
    paragraphs.join("\n")
}

#[cfg(test)]
mod tests {
    use super::super::lexicon;
    use super::*;

    #[test]
    fn nothing_about_the_trade_means_anything() {
        for template in TRADE {
            assert!(template.starts_with("the ") || template.starts_with("our "), "{template}");
            for word in template.split([' ', '|']).filter(|word| !word.starts_with('$')) {
                let word = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
                // Numbers in words mean something only right after a verb of counting.
                let counts = ["one", "two"].contains(&word);
                assert!(counts || lexicon::meaning(word).is_none(), "{word} in {template}");
            }
        }
    }
}
