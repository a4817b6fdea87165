//! Draws instructions: a topic, wishes of different kinds, and a reference answer.

use super::topics::{TOPICS, Topic};
use super::wish::Wish;
use super::writer::{Style, least, write};
use super::{InstructionItem, Judge};
use crate::kind::Scale;
use crate::part::Part;
use rand::RngExt as _;
use rand::seq::{IndexedRandom as _, SliceRandom as _};
use rand_chacha::ChaCha8Rng;
use tasks::stream::Stream;

/// The share of wishes that the reference answers fulfil.
pub(super) const FULFILLED: f64 = 0.6;
/// Half of the sealed items are on topics that no other part has.
const OWN_TOPICS: f64 = 0.5;
const OPENINGS: [&str; 4] = ["Today", "Well", "Indeed", "Surely"];

/// Wishes of an item, at most; one of each kind is the most there can be.
fn most_wishes(scale: Scale) -> usize {
    match scale {
        Scale::Tiny => 3,
        Scale::Full => 5,
    }
}

/// One candidate for a part; `None` if the wishes do not go together.
pub(super) fn draw(part: Part, scale: Scale, stream: Stream) -> Option<InstructionItem> {
    let mut rng = stream.rng();
    let only = (part.is_sealed() && rng.random_bool(OWN_TOPICS)).then_some(part);
    let topics: Vec<&'static Topic> = TOPICS.iter().filter(|topic| topic.only == only).collect();
    let topic = *topics.choose(&mut rng)?;
    let wishes = wishes(topic, rng.random_range(1..=most_wishes(scale)), &mut rng);
    let told: Vec<String> = wishes.iter().map(|wish| wish.tell(rng.random_range(0..2))).collect();
    let opening = ["Write about", "Write a short text about", "Tell me about"].choose(&mut rng)?;
    let instruction = format!("{opening} {}. {}", topic.name, told.join(" "));
    let flags: Vec<bool> = wishes.iter().map(|_| rng.random_bool(FULFILLED)).collect();
    let reference = write(topic, &wishes, &flags, Style::MIDDLE, &mut rng)?;
    let item = InstructionItem { instruction, topic: topic.name.to_owned(), wishes, reference };
    // Others must be able to answer it.
    ideal(&item)?;
    gamed(&item)?;
    Some(item)
}

/// Wishes of so many different kinds.
fn wishes(topic: &Topic, count: usize, rng: &mut ChaCha8Rng) -> Vec<Wish> {
    let mut words: Vec<String> =
        topic.sentences.iter().map(|(word, _)| (*word).to_owned()).collect();
    words.shuffle(rng);
    let mut word = || words.pop().unwrap_or_default();
    let mut kinds = [0, 1, 2, 3, 4];
    kinds.shuffle(rng);
    let mut wishes = Vec::new();
    // What is counted comes last, because it depends on what is to be said.
    let mut kinds = kinds[..count].to_vec();
    kinds.sort_by_key(|&kind| kind == 0);
    for kind in kinds {
        let wish = match kind {
            0 => {
                let topic = Topic::named(topic.name).expect("it is one of them");
                let (sentences, words) = least(topic, &wishes);
                if rng.random_bool(0.5) {
                    Wish::Sentences(sentences.max(2) + rng.random_range(0..=2))
                } else {
                    Wish::WordsAtMost(words.max(12) + rng.random_range(2..=8))
                }
            }
            1 => Wish::Mention(word()),
            2 => Wish::Order(word(), word()),
            3 => match rng.random_range(0..4) {
                0 => Wish::List,
                1 => Wish::Title(capitalised(topic.name)),
                2 => Wish::Question,
                _ => Wish::Opening(OPENINGS.choose(rng).copied().unwrap_or_default().to_owned()),
            },
            _ => match rng.random_range(0..4) {
                0 => Wish::Cheerful,
                1 => Wish::Calm,
                2 => Wish::Polite,
                _ => Wish::Personal,
            },
        };
        wishes.push(wish);
    }
    wishes.shuffle(rng);
    wishes
}

fn capitalised(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// An answer that fulfils all wishes, always the same for an item.
pub(super) fn ideal(item: &InstructionItem) -> Option<String> {
    let topic = Topic::named(&item.topic)?;
    let flags = vec![true; item.wishes.len()];
    let mut rng = Stream::root(0).child("instructions ideal").child(&item.instruction).rng();
    write(topic, &item.wishes, &flags, Style { tails: 0.0, ..Style::MIDDLE }, &mut rng)
}

/// The reference answer written shorter and longer: the same wishes fulfilled, nothing else said
/// better.
pub(super) fn gamed(item: &InstructionItem) -> Option<[String; 2]> {
    let topic = Topic::named(&item.topic)?;
    let flags: Vec<bool> =
        item.wishes.iter().map(|wish| wish.is_fulfilled(&item.reference)).collect();
    let mut rng = Stream::root(0).child("instructions gamed").child(&item.instruction).rng();
    let [short, long] =
        Style::GAMED.map(|style| write(topic, &item.wishes, &flags, style, &mut rng));
    Some([short?, long?])
}

/// The judge of a suite.
pub(super) fn judge(stream: Stream) -> Judge {
    Judge::draw(stream.child("judge"))
}
