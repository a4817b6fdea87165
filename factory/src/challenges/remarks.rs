//! Remarks: texts of clauses that praise, complain or do neither, put together and taken apart.
//!
//! A clause is `[conjunction] subject verb [degree] [not] opinion [and opinion] [setting]` with a
//! mark behind it. What has another form after the verb has no opinion.

use crate::numeric::draws::Draws;
use crate::spec::challenge::Wording;
use crate::spec::extraction::VERBS;

const PRAISE: [&str; 20] = [
    "pleasant",
    "helpful",
    "splendid",
    "excellent",
    "reliable",
    "delightful",
    "charming",
    "superb",
    "impressive",
    "lovely",
    "wonderful",
    "outstanding",
    "perfect",
    "great",
    "cheerful",
    "fine",
    "brilliant",
    "adorable",
    "good",
    "marvellous",
];
const COMPLAINT: [&str; 20] = [
    "dreadful",
    "annoying",
    "useless",
    "awful",
    "disappointing",
    "tiresome",
    "hopeless",
    "poor",
    "unpleasant",
    "irritating",
    "terrible",
    "miserable",
    "mediocre",
    "horrible",
    "unreliable",
    "bad",
    "frustrating",
    "sloppy",
    "ghastly",
    "unhelpful",
];
const STRONG: [&str; 6] = ["really", "truly", "extremely", "absolutely", "utterly", "incredibly"];
const WEAK: [&str; 5] = ["rather", "fairly", "somewhat", "slightly", "mostly"];
const NOT: [&str; 3] = ["not", "never", "hardly"];
const CONJUNCTIONS: [&str; 4] = ["but", "and", "yet", "while"];
pub(super) const MARKS: [char; 4] = [',', ';', '.', '!'];

/// What is said of a subject without an opinion, behind the verb.
const PLAIN: [(&str, &str); 12] = [
    ("was", "mentioned in the notes"),
    ("was", "new to most of us"),
    ("was", "the same as last time"),
    ("is", "shown on the first page"),
    ("is", "listed under another name"),
    ("has", "been there for years"),
    ("has", "changed a little"),
    ("remained", "where we had expected it"),
    ("looked", "as in the old pictures"),
    ("seemed", "to be in use already"),
    ("was", "what everybody talked about"),
    ("has", "a number on its front"),
];
/// Verbs before an opinion.
const SEEMING: &[&str] = VERBS.split_at(6).0;

/// What a clause says of its subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Attitude {
    Praise,
    Complaint,
    Neutral,
}

impl Attitude {
    pub(super) const ALL: [Self; 3] = [Self::Praise, Self::Complaint, Self::Neutral];

    /// As rows name it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Praise => "praise",
            Self::Complaint => "complaint",
            Self::Neutral => "neutral",
        }
    }

    /// The attitude that a row names.
    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|attitude| attitude.name() == name)
    }

    /// Praise for a complaint, and the other way round.
    pub(super) fn turned(self) -> Self {
        match self {
            Self::Praise => Self::Complaint,
            Self::Complaint => Self::Praise,
            Self::Neutral => Self::Neutral,
        }
    }

    fn opinions(self) -> &'static [&'static str] {
        match self {
            Self::Praise => &PRAISE,
            Self::Complaint => &COMPLAINT,
            Self::Neutral => &[],
        }
    }
}

/// A clause of a text. Places are bytes of the text; ends lie behind the last letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Clause {
    /// What the words say, whatever stands before them.
    pub(super) attitude: Attitude,
    /// Whether there is a `not`.
    pub(super) negated: bool,
    /// 2 for a strong word of degree, 0 for a weak one, 1 for none.
    pub(super) degree: usize,
    /// Number of words.
    pub(super) words: usize,
    /// Where the conjunction begins, or else the subject.
    pub(super) start: usize,
    /// Where the subject begins.
    pub(super) subject: usize,
    /// Where the verb begins.
    pub(super) verb: usize,
    /// Where the word of degree begins, or else the opinion.
    pub(super) degree_start: usize,
    /// Where the opinion begins, with its `not`.
    pub(super) opinion: usize,
    /// Where the first word of the opinion ends.
    pub(super) first_end: usize,
    /// Where the opinion ends.
    pub(super) opinion_end: usize,
    /// Where the clause ends.
    pub(super) end: usize,
}

/// Takes a text apart. Nothing comes of pieces that are no clauses.
pub(super) fn clauses(text: &str) -> Vec<Clause> {
    let mut found = Vec::new();
    let (mut words, mut place) = (Vec::new(), 0);
    for word in text.split(' ') {
        let bare = word.trim_end_matches(MARKS);
        words.push((place, bare));
        place += word.len() + 1;
        if bare.len() < word.len() {
            found.extend(clause(&words));
            words.clear();
        }
    }
    found.extend(clause(&words));
    found
}

/// The clause of some words with their places.
fn clause(words: &[(usize, &str)]) -> Option<Clause> {
    let is = |place: usize, list: &[&str]| {
        words.get(place).is_some_and(|(_, word)| list.contains(&word.to_lowercase().as_str()))
    };
    let start = |place: usize| words.get(place).map(|(start, _)| *start);
    let end = |place: usize| words.get(place).map(|(start, word)| start + word.len());
    let subject = usize::from(is(0, &CONJUNCTIONS));
    let verb = (subject..words.len()).find(|place| is(*place, &VERBS))?;
    let has_degree = is(verb + 1, &STRONG) || is(verb + 1, &WEAK);
    let core = verb + 1 + usize::from(has_degree);
    let negated = is(core, &NOT);
    let first = core + usize::from(negated);
    let attitude = [Attitude::Praise, Attitude::Complaint]
        .into_iter()
        .find(|attitude| is(first, attitude.opinions()))
        .unwrap_or(Attitude::Neutral);
    let pair = is(first + 1, &["and"]) && is(first + 2, attitude.opinions());
    let last = if pair { first + 2 } else { first };
    Some(Clause {
        attitude,
        negated: negated && attitude != Attitude::Neutral,
        degree: if is(verb + 1, &STRONG) { 2 } else { usize::from(!is(verb + 1, &WEAK)) },
        words: words.len(),
        start: start(0)?,
        subject: start(subject)?,
        verb: start(verb)?,
        degree_start: start(verb + 1)?,
        opinion: start(core)?,
        first_end: end(first)?,
        opinion_end: end(last)?,
        end: end(words.len() - 1)?,
    })
}

/// A remark of three or four clauses on different subjects.
pub(super) fn remark(wording: &Wording, draws: &mut Draws) -> String {
    let mut subjects: Vec<&String> = wording.subjects.iter().collect();
    draws.shuffle(&mut subjects);
    let clauses = draws.whole(3, 4);
    let mut text = String::new();
    for (place, subject) in subjects.into_iter().take(clauses).enumerate() {
        let said = said(wording, draws);
        let clause = format!("{subject} {said}");
        if place == 0 {
            text.push_str(&capitalised(&clause));
            continue;
        }
        match draws.weighted(&[0.5, 0.2, 0.3]) {
            0 => text.extend([", ", *draws.pick(&CONJUNCTIONS), " ", &clause]),
            1 => text.extend(["; ", &clause]),
            _ => text.extend([". ", &capitalised(&clause)]),
        }
    }
    text.push(if draws.chance(0.2) { '!' } else { '.' });
    text
}

/// What a clause says of its subject, with the verb.
fn said(wording: &Wording, draws: &mut Draws) -> String {
    let attitude = Attitude::ALL[draws.weighted(&[0.38, 0.38, 0.24])];
    let has_setting = draws.chance(0.5);
    let setting = if has_setting {
        format!(" {}", draws.pick::<String>(&wording.settings))
    } else {
        String::new()
    };
    if attitude == Attitude::Neutral {
        let (verb, rest) = draws.pick(&PLAIN);
        return format!("{verb} {rest}{setting}");
    }
    let verb = draws.pick(SEEMING);
    let first = draws.pick(attitude.opinions());
    if draws.chance(0.2) {
        return format!("was {} {first}{setting}", draws.pick(&NOT));
    }
    let degree = match draws.weighted(&[0.35, 0.25, 0.4]) {
        0 => format!("{} ", draws.pick(&STRONG)),
        1 => format!("{} ", draws.pick(&WEAK)),
        _ => String::new(),
    };
    let second = draws.pick(attitude.opinions());
    let is_pair = draws.chance(0.4) && second != first;
    let pair = if is_pair { format!(" and {second}") } else { String::new() };
    format!("{verb} {degree}{first}{pair}{setting}")
}

/// A text with a capital at its start.
fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clauses_are_taken_apart_at_their_words() {
        let text = "The cabin was not good, but the steward seemed truly fine and great at night; \
                    the bar has been there for years.";
        let found = clauses(text);
        assert_eq!(found.len(), 3);
        let part = |from: usize, to: usize| &text[from..to];
        let [first, second, third] = found[..] else { panic!("{found:?}") };
        assert!(first.negated && first.attitude == Attitude::Praise);
        assert_eq!(part(first.opinion, first.end), "not good");
        assert_eq!(part(second.start, second.subject), "but ");
        assert_eq!(part(second.verb, second.first_end), "seemed truly fine");
        assert_eq!(part(second.degree_start, second.opinion_end), "truly fine and great");
        assert_eq!(part(second.opinion, second.end), "fine and great at night");
        assert_eq!((second.degree, second.words), (2, 10));
        assert_eq!(third.attitude, Attitude::Neutral);
        assert_eq!(part(third.subject, third.end), "the bar has been there for years");
    }

    #[test]
    fn lists_of_words_do_not_overlap() {
        let lists: [&[&str]; 7] =
            [&PRAISE, &COMPLAINT, &STRONG, &WEAK, &NOT, &CONJUNCTIONS, &VERBS];
        let words: Vec<&&str> = lists.iter().flat_map(|list| list.iter()).collect();
        let distinct: std::collections::BTreeSet<_> = words.iter().collect();
        assert_eq!(distinct.len(), words.len());
    }
}
