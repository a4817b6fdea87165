//! Draws problems: a number of steps, a scene, and events whose numbers come out whole.

use super::ArithmeticItem;
use super::scene::{DISTRACTORS, PEOPLE, SCENES};
use super::story::{Event, Story, Unit};
use crate::kind::Scale;
use rand::RngExt as _;
use rand::seq::IndexedRandom as _;
use rand_chacha::ChaCha8Rng;
use tasks::stream::Stream;

/// Problems of this many steps and more have a number that the answer does not need.
const DISTRACTED: usize = 5;
/// Events that are tried where the ones before did not fit.
const TRIES: usize = 40;
/// Percentages that people speak of.
const PERCENTAGES: [i64; 7] = [10, 20, 25, 30, 40, 50, 75];

/// How large numbers are.
#[derive(Debug, Clone, Copy)]
struct Range {
    /// Every value is below it.
    limit: i64,
    /// Counts at the start, at most.
    start: i64,
    /// Gains and losses, at most.
    change: i64,
    /// Factors, prices, packs, weeks, at most.
    factor: i64,
}

impl Range {
    fn of(scale: Scale) -> Self {
        match scale {
            Scale::Tiny => Self { limit: 100, start: 60, change: 40, factor: 9 },
            Scale::Full => Self { limit: 20_000, start: 400, change: 250, factor: 24 },
        }
    }
}

/// How many steps a problem has; at full scale about as often as in GSM8K.
fn steps(scale: Scale, rng: &mut ChaCha8Rng) -> Option<usize> {
    let weights: &[(usize, usize)] = match scale {
        Scale::Tiny => &[(1, 1), (2, 1)],
        Scale::Full => &[(1, 1), (2, 26), (3, 28), (4, 21), (5, 12), (6, 7), (7, 3), (8, 2)],
    };
    let all: Vec<usize> =
        weights.iter().flat_map(|&(steps, weight)| std::iter::repeat_n(steps, weight)).collect();
    all.choose(rng).copied()
}

/// One candidate; `None` if its story came to no end with the drawn number of steps.
pub(super) fn draw(scale: Scale, stream: Stream) -> Option<ArithmeticItem> {
    let mut rng = stream.rng();
    let steps = steps(scale, &mut rng)?;
    with_steps(steps, scale, &mut rng)
}

/// One candidate with this number of steps.
pub(super) fn with_steps(
    steps: usize,
    scale: Scale,
    rng: &mut ChaCha8Rng,
) -> Option<ArithmeticItem> {
    let range = Range::of(scale);
    let scene = SCENES.choose(rng)?;
    let people: Vec<_> = PEOPLE.sample(rng, 2).collect();
    let [person, other] = people[..] else { return None };
    let start = start(range, rng);
    let mut story = Story::begin(scene, [person, other], start, range.limit)?;
    let mut distracted = steps < DISTRACTED;
    for _ in 0..TRIES {
        if story.expression.steps() >= steps || story.is_over() {
            break;
        }
        if !distracted && rng.random_bool(0.3) {
            distracted = true;
            story.distract(DISTRACTORS.choose(rng)?, rng.random_range(2..60));
        }
        let event = event(&story, range, rng)?;
        let wording = rng.random_range(0..12);
        if let Some(next) = story.clone().tell(event, wording)
            && next.expression.steps() <= steps
            && (!next.is_over() || next.expression.steps() == steps)
        {
            story = next;
        }
    }
    if story.expression.steps() != steps || !distracted {
        return None;
    }
    let number = story.value();
    let question = format!("{} {}", story.sentences.join(" "), story.question());
    let answer = format!("{}\n#### {number}", story.expression.worked().join("\n"));
    Some(ArithmeticItem { question, answer, number, steps, story: story.events })
}

/// How a story begins.
fn start(range: Range, rng: &mut ChaCha8Rng) -> Event {
    let (count, each) = (rng.random_range(2..=range.factor), rng.random_range(2..=range.factor));
    match rng.random_range(0..4) {
        0 => Event::HavePacks(count, each),
        1 => Event::Work(count, each),
        _ => Event::Have(rng.random_range(3..=range.start)),
    }
}

/// What may happen next. Divisors are drawn among those that divide, where there are any.
fn event(story: &Story<'_>, range: Range, rng: &mut ChaCha8Rng) -> Option<Event> {
    let change = rng.random_range(2..=range.change);
    let (count, each) = (rng.random_range(2..=range.factor), rng.random_range(2..=range.factor));
    let divisors: Vec<i64> = (2..=range.factor)
        .filter(|divisor| story.value() % divisor == 0 && story.value() > *divisor)
        .collect();
    let divisor = divisors.choose(rng).copied().unwrap_or(count);
    if story.unit == Unit::Dollars {
        return Some(match rng.random_range(0..4) {
            0 | 1 => Event::Spend(change),
            2 => Event::Earn(change),
            _ => Event::Weeks(divisor),
        });
    }
    Some(match rng.random_range(0..10) {
        0 => Event::Gain(change),
        1 => Event::Lose(change),
        2 => Event::GainGroups(count, each),
        3 => Event::LoseGroups(count, each),
        4 => Event::LosePercent(*PERCENTAGES.choose(rng)?),
        5 => Event::Times(rng.random_range(2..=range.factor.min(6))),
        6 => Event::Together(change),
        7 => Event::Pack(divisor),
        _ => Event::Sell(rng.random_range(2..=range.factor.min(12))),
    })
}
