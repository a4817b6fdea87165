//! Exercises: what an errand asks of a policy in its turns, many times in a row and on rooms that are
//! new each time.
//!
//! A policy that learns from episodes alone hardly learns to compare what it looks for with what it
//! sees: few tokens of an episode depend on it. Here each question asks for one such step.

use super::draw;
use super::episode::contents;
use super::expert::{expert, first_thought, here, not_here, rest, search};
use super::goal::{Goal, GoalKind};
use super::item::{HouseholdItem, Name, with_article};
use super::prompt::{SYSTEM, opening};
use super::rooms::{receptacles, things};
use super::words::Room;
use crate::kind::Scale;
use crate::part::Part;
use agents::trajectory::{Segment, Source};
use rand::RngExt as _;
use rand::seq::SliceRandom as _;
use rand_chacha::ChaCha8Rng;
use tasks::stream::Stream;

/// Questions of an exercise.
const QUESTIONS: usize = 14;
/// The largest number of a thing in a question: larger than in rooms, so that numbers are read and not
/// guessed.
const NUMBERS: u8 = 9;
/// Things that are seen besides the one that is looked for, at most.
const OTHERS: usize = 4;
/// Receptacles that an errand's room is cut down to, at least and at most.
const NAMED: (usize, usize) = (2, 5);

/// Searches of an exercise.
const SEARCHES: usize = 1;
/// Errands of an exercise that are carried out.
const ERRANDS: usize = 2;

/// One exercise. Of five, two are about what is seen and one about errands, one is a search for what
/// is not there, and in one errands are carried out, without the long prompt of an episode.
pub(super) fn exercise(scale: Scale, stream: Stream) -> Vec<Segment> {
    let mut rng = stream.child("questions").rng();
    let rooms = stream.child("rooms");
    let rooms = (0..).filter_map(|next| draw::draw(Part::Train, scale, rooms.index(next)));
    let mut segments = vec![Segment::text(Source::Prompt, SYSTEM.to_owned())];
    match rng.random_range(0..5) {
        0 | 1 => segments.extend((0..QUESTIONS).flat_map(|_| look(&mut rng))),
        2 => {
            for mut room in rooms.take(QUESTIONS) {
                room.places.truncate(rng.random_range(NAMED.0..=NAMED.1));
                segments.extend(asked(opening(&room), first_thought(&room)));
            }
        }
        3 => {
            for mut room in rooms.take(SEARCHES) {
                room.things.retain(|thing| thing.thing.0 != room.goal.thing);
                segments.extend(played(&room, search(&room)));
            }
        }
        _ => segments.extend(rooms.take(ERRANDS).flat_map(|room| played(&room, expert(&room)))),
    }
    segments
}

/// A room, and turns in it with their replies, except the last one's.
fn played(room: &HouseholdItem, turns: Vec<(String, String)>) -> Vec<Segment> {
    let mut segments = vec![Segment::text(Source::Prompt, opening(room))];
    for (turn, reply) in turns {
        segments.push(Segment::text(Source::Model, turn));
        segments.push(Segment::text(Source::Environment, reply));
    }
    segments.pop();
    segments
}

fn asked(question: String, answer: String) -> [Segment; 2] {
    [Segment::text(Source::Prompt, question), Segment::text(Source::Model, answer)]
}

/// What is to be found and then done, and what is seen of a receptacle, half of the times with that.
fn look(rng: &mut ChaCha8Rng) -> [Segment; 2] {
    let room = *any(Room::ALL, rng);
    let place = Name(any(receptacles(room), rng).kind, rng.random_range(1..=2));
    let (sought, _) = *any(things(room), rng);
    let kind = *any(&GoalKind::ALL, rng);
    let destination = (kind != GoalKind::Light).then(|| any(receptacles(room), rng).kind);
    let rest = rest(Goal { kind, thing: sought, place: destination }, rng.random_range(0..=1));
    let mut seen = Vec::new();
    for _ in 0..rng.random_range(0..=OTHERS) {
        let (kind, _) = *any(things(room), rng);
        if kind != sought {
            seen.push(Name(kind, rng.random_range(1..=NUMBERS)));
        }
    }
    let found = Name(sought, rng.random_range(1..=NUMBERS));
    let is_here = rng.random_bool(0.5);
    if is_here {
        seen.push(found);
    }
    seen.shuffle(rng);
    let question = format!(
        "Find {}, {rest}. You are at the {place}. {}",
        with_article(sought.word()),
        contents(place.0, &seen)
    );
    let answer = if is_here { here(found, &rest) } else { not_here(sought) };
    asked(question, answer)
}

/// One of several, of which there is at least one.
fn any<'a, T>(several: &'a [T], rng: &mut ChaCha8Rng) -> &'a T {
    &several[rng.random_range(0..several.len())]
}
