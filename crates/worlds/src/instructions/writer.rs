//! Writes answers that fulfil some wishes and not others, in a chosen length.

use super::topics::Topic;
use super::wish::Wish;
use crate::grams::words;
use rand::RngExt as _;
use rand::seq::{IndexedMutRandom as _, IndexedRandom as _, SliceRandom as _};
use rand_chacha::ChaCha8Rng;

/// Attempts at one answer.
const TRIES: usize = 40;
/// What may be put behind a sentence to make it longer.
const TAILS: [&str; 6] = [
    "as most people know",
    "and that has always been so",
    "as everybody says",
    "at least in our part of the country",
    "as far as one can tell",
    "which is easy to see",
];

/// How long answers are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Style {
    /// Sentences on the topic, where no wish counts them.
    pub(super) sentences: usize,
    /// The share of sentences that are made longer without saying more.
    pub(super) tails: f64,
}

impl Style {
    /// Of the reference answers.
    pub(super) const MIDDLE: Self = Self { sentences: 3, tails: 0.3 };
    /// The same answers, shorter and longer: the two gamed baselines.
    pub(super) const GAMED: [Self; 2] =
        [Self { sentences: 2, tails: 0.0 }, Self { sentences: 5, tails: 1.0 }];
}

/// What a plan has besides sentences on the topic.
struct Plan<'a> {
    topic: &'static Topic,
    style: Style,
    /// Each wish with whether it is to be fulfilled.
    wishes: Vec<(&'a Wish, bool)>,
}

impl Plan<'_> {
    fn is_to_be(&self, wish: &Wish) -> bool {
        self.wishes.contains(&(wish, true))
    }
}

/// An answer that fulfils the wishes whose flag is set and no others; `None` if the wishes do not
/// allow that.
pub(super) fn write(
    topic: &'static Topic,
    wishes: &[Wish],
    flags: &[bool],
    style: Style,
    rng: &mut ChaCha8Rng,
) -> Option<String> {
    let wishes: Vec<(&Wish, bool)> = wishes.iter().zip(flags.iter().copied()).collect();
    let plan = Plan { topic, style, wishes };
    let is_as_planned = |answer: &String| {
        plan.wishes.iter().all(|(wish, is_wanted)| wish.is_fulfilled(answer) == *is_wanted)
    };
    (0..TRIES).filter_map(|_| attempt(&plan, rng)).find(is_as_planned)
}

/// One attempt, which may miss a wish.
fn attempt(plan: &Plan<'_>, rng: &mut ChaCha8Rng) -> Option<String> {
    let mut required: Vec<&str> = Vec::new();
    let mut excluded: Vec<&str> = Vec::new();
    let mut extras = Vec::new();
    let name = plan.topic.name;
    for (wish, is_wanted) in &plan.wishes {
        match (wish, is_wanted) {
            (Wish::Mention(word), true) => required.push(word),
            (Wish::Mention(word), false) => excluded.push(word),
            (Wish::Order(first, then), true) => required.extend([first.as_str(), then]),
            (Wish::Order(first, then), false) => required.extend([then.as_str(), first]),
            (Wish::Polite, true) => extras.push("Thank you for asking.".to_owned()),
            (Wish::Personal, true) => extras.push(format!("I like {name} very much.")),
            _ => {}
        }
    }
    let ends_with_question = plan.is_to_be(&Wish::Question);
    let question = ends_with_question.then(|| format!("Do you like {name} too?"));
    let others = extras.len() + usize::from(question.is_some());

    // What else there is to say, in a new order each time.
    let mut rest: Vec<&str> = plan.topic.sentences.iter().map(|(word, _)| *word).collect();
    rest.retain(|word| !required.contains(word) && !excluded.contains(word));
    rest.shuffle(rng);
    let mut chosen = required.clone();
    let mut tails = plan.style.tails;
    let more = match plan.wishes.iter().find(|(wish, _)| is_count(wish)) {
        Some((Wish::Sentences(count), true)) => count.checked_sub(others + chosen.len())?,
        Some((Wish::Sentences(count), false)) => {
            let wrong = if rng.random_bool(0.5) { count + 1 } else { count.checked_sub(1)? };
            wrong.checked_sub(others + chosen.len())?
        }
        Some((Wish::WordsAtMost(_), true)) => {
            tails = 0.0;
            rng.random_range(0..=plan.style.sentences).saturating_sub(chosen.len())
        }
        Some((Wish::WordsAtMost(_), false)) => rest.len(),
        _ => plan.style.sentences.saturating_sub(chosen.len()),
    };
    // Thanks alone are no answer.
    if more > rest.len() || chosen.len() + more == 0 {
        return None;
    }
    for word in &rest[..more] {
        // Anywhere: the order of the required ones stays.
        chosen.insert(rng.random_range(0..=chosen.len()), word);
    }
    let mut all: Vec<String> = Vec::new();
    for word in chosen {
        let sentence = plan.topic.sentence(word)?;
        all.push(if rng.random_bool(tails) {
            let tail = TAILS.choose(rng)?;
            format!("{}, {tail}.", sentence.trim_end_matches('.'))
        } else {
            sentence.to_owned()
        });
    }
    all.extend(extras);
    let is_loud = plan.is_to_be(&Wish::Cheerful) || plan.wishes.contains(&(&Wish::Calm, false));
    if is_loud && let Some(sentence) = all.choose_mut(rng) {
        *sentence = format!("{}!", sentence.trim_end_matches('.'));
    }
    all.extend(question);
    Some(lay_out(plan, all))
}

/// Puts sentences together in the form that is asked for.
fn lay_out(plan: &Plan<'_>, mut sentences: Vec<String>) -> String {
    let form = plan.wishes.iter().find(|(wish, is_wanted)| *is_wanted && is_form(wish));
    match form.map(|(wish, _)| wish) {
        Some(Wish::List) => {
            sentences.iter().map(|sentence| format!("- {sentence}")).collect::<Vec<_>>().join("\n")
        }
        Some(Wish::Title(title)) => format!("{title}\n{}", sentences.join(" ")),
        Some(Wish::Opening(word)) => {
            if let Some(first) = sentences.first_mut() {
                let mut letters = first.chars();
                let small = letters.next().map(|letter| letter.to_ascii_lowercase());
                *first = format!("{word}, {}{}", small.unwrap_or(' '), letters.as_str());
            }
            sentences.join(" ")
        }
        _ => sentences.join(" "),
    }
}

fn is_count(wish: &Wish) -> bool {
    matches!(wish, Wish::Sentences(_) | Wish::WordsAtMost(_))
}

fn is_form(wish: &Wish) -> bool {
    matches!(wish, Wish::List | Wish::Title(_) | Wish::Opening(_))
}

/// Sentences and words of the shortest answer that fulfils wishes which count nothing.
pub(super) fn least(topic: &'static Topic, wishes: &[Wish]) -> (usize, usize) {
    let (mut sentences, mut count) = (0, 0);
    let mut add = |text: &str| {
        sentences += 1;
        count += words(text).len();
    };
    for wish in wishes {
        let mut say = |word: &str| add(topic.sentence(word).unwrap_or_default());
        match wish {
            Wish::Mention(word) => say(word),
            Wish::Order(first, then) => {
                say(first);
                say(then);
            }
            Wish::Polite => add("Thank you for asking."),
            Wish::Personal => add("I like them very much."),
            Wish::Question => add("Do you like them too?"),
            _ => {}
        }
    }
    let in_front = wishes.iter().filter(|wish| matches!(wish, Wish::Title(_) | Wish::Opening(_)));
    (sentences, count + in_front.count())
}
