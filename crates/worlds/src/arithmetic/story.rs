//! A story: events that change a number of things or dollars, told in sentences and worked out in
//! steps.

use super::expression::{Expression, Node, Operator};
use super::scene::{Person, Scene};

/// What the number at hand counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    /// Things that the person has.
    Things,
    /// Dollars that the person has.
    Dollars,
    /// Things in each pack. The story is over.
    PerPack,
    /// Dollars in each week. The story is over.
    PerWeek,
    /// Things that two people have. The story is over.
    Together,
}

/// What happens in a sentence or two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    /// The person has this many; the start.
    Have(i64),
    /// Packs of things; the start.
    HavePacks(i64, i64),
    /// Hours of work with things an hour; the start.
    Work(i64, i64),
    Gain(i64),
    GainGroups(i64, i64),
    Lose(i64),
    LoseGroups(i64, i64),
    /// This percentage is lost.
    LosePercent(i64),
    /// Another person has this many times as many, and is spoken of from then on.
    Times(i64),
    /// Another person has this many more; asked is what both have.
    Together(i64),
    /// All is sold at this price.
    Sell(i64),
    Spend(i64),
    Earn(i64),
    /// Things are packed in equal packs.
    Pack(i64),
    /// Dollars are to last for weeks.
    Weeks(i64),
}

/// Sentences and steps as far as the story has come.
#[derive(Debug, Clone)]
pub(super) struct Story<'a> {
    scene: &'a Scene,
    person: &'a Person,
    other: &'a Person,
    pub(super) unit: Unit,
    pub(super) sentences: Vec<String>,
    pub(super) expression: Expression,
    /// The number at hand.
    now: Node,
    /// The events, without names.
    pub(super) events: Vec<String>,
    /// Whether the person was named in the sentence before, so that a pronoun is clear.
    is_named: bool,
}

/// Which wording of several is told.
pub(super) type Wording = usize;

impl<'a> Story<'a> {
    /// The story that begins with this event; `None` if a number is out of range, or the event is
    /// no start.
    pub(super) fn begin(
        scene: &'a Scene,
        [person, other]: [&'a Person; 2],
        start: Event,
        limit: i64,
    ) -> Option<Self> {
        let mut expression = Expression::new(limit);
        let Scene { things, packs, .. } = scene;
        let name = person.name;
        let (now, sentence) = match start {
            Event::Have(count) => {
                (expression.known(count), format!("{name} has {count} {things}."))
            }
            Event::HavePacks(count, each) => {
                let (a, b) = (expression.known(count), expression.known(each));
                let told = (format!("{name} has"), (*things).to_owned());
                let now = expression.step(Operator::Times, (a, b), told.0, told.1)?;
                (now, format!("{name} has {count} {packs} of {each} {things} each."))
            }
            Event::Work(hours, each) => {
                let (a, b) = (expression.known(each), expression.known(hours));
                let told = (format!("{name} gets"), (*things).to_owned());
                let now = expression.step(Operator::Times, (a, b), told.0, told.1)?;
                (now, format!("{name} {}", fill(scene.rate, person, hours, each)))
            }
            _ => return None,
        };
        Some(Self {
            scene,
            person,
            other,
            unit: Unit::Things,
            sentences: vec![sentence],
            expression,
            now,
            events: vec![scene.name.to_owned(), format!("{start:?}")],
            is_named: true,
        })
    }

    /// The number at hand.
    pub(super) fn value(&self) -> i64 {
        self.expression.value(self.now)
    }

    /// Goes on with an event; `None` if it does not fit, or a number is out of range.
    pub(super) fn tell(mut self, event: Event, wording: Wording) -> Option<Self> {
        let Scene { things, pack, packs, .. } = self.scene;
        let (name, other) = (self.person.name, self.other.name);
        let (things, dollars) = ((*things).to_owned(), "dollars".to_owned());
        let left = || format!("{name} then has");
        let choose = |texts: &[&'static str]| texts[wording % texts.len()];
        match (self.unit, event) {
            (Unit::Things, Event::Gain(count)) => {
                self.step_known(Operator::Add, count, left(), things)?;
                self.say(choose(self.scene.gains), count, 0);
            }
            (Unit::Things, Event::Lose(count)) => {
                self.step_known(Operator::Take, count, left(), things)?;
                self.say(choose(self.scene.losses), count, 0);
            }
            (Unit::Things, Event::GainGroups(count, each)) => {
                let more = self.groups(count, each, "That is", format!("more {things}"))?;
                self.step(Operator::Add, more, left(), things)?;
                self.say(self.scene.group_gain, count, each);
            }
            (Unit::Things, Event::LoseGroups(count, each)) => {
                let gone = self.groups(count, each, "Gone are", things.clone())?;
                self.step(Operator::Take, gone, left(), things)?;
                self.say(self.scene.group_loss, count, each);
            }
            (Unit::Things, Event::LosePercent(percent)) => {
                let share = self.expression.known(percent);
                let gone = (self.now, share);
                let told = ("Gone are".to_owned(), things.clone());
                let gone = self.expression.step(Operator::Percent, gone, told.0, told.1)?;
                self.step(Operator::Take, gone, left(), things.clone())?;
                let text = match wording % 2 {
                    0 => format!("{{s}} gives away {{n}} percent of the {things}."),
                    _ => format!("Then {{n}} percent of the {things} are lost."),
                };
                self.say(&text, percent, 0);
            }
            (Unit::Things, Event::Times(factor)) => {
                self.step_known(Operator::Times, factor, format!("{other} has"), things.clone())?;
                let times =
                    if factor == 2 { "twice".to_owned() } else { format!("{factor} times") };
                self.sentences.push(format!("{other} has {times} as many {things} as {name}."));
                std::mem::swap(&mut self.person, &mut self.other);
                self.is_named = true;
            }
            (Unit::Things, Event::Together(more)) => {
                let mine = self.now;
                self.step_known(Operator::Add, more, format!("{other} has"), things.clone())?;
                let theirs = self.now;
                self.now = mine;
                self.step(Operator::Add, theirs, "Together they have".to_owned(), things.clone())?;
                self.sentences.push(format!("{other} has {more} more {things} than {name}."));
                self.unit = Unit::Together;
            }
            (Unit::Things, Event::Sell(price)) => {
                self.step_known(Operator::Times, price, format!("{name} gets"), dollars)?;
                self.say(self.scene.sale, price, 0);
                self.unit = Unit::Dollars;
            }
            (Unit::Dollars, Event::Spend(amount)) => {
                self.step_known(Operator::Take, amount, left(), dollars)?;
                self.say(choose(&super::scene::SPENDING), amount, 0);
            }
            (Unit::Dollars, Event::Earn(amount)) => {
                self.step_known(Operator::Add, amount, left(), dollars)?;
                self.say(choose(&super::scene::EARNING), amount, 0);
            }
            (Unit::Things, Event::Pack(count)) => {
                let told = format!("Each {pack} gets");
                let joint = self.scene.joint();
                self.step_known(Operator::Share, count, told, things.clone())?;
                let text = match wording % 2 {
                    0 => format!("{{s}} puts all the {things} {joint} {{n}} equal {packs}."),
                    _ => format!("The {things} are divided equally among {{n}} {packs}."),
                };
                self.say(&text, count, 0);
                self.unit = Unit::PerPack;
            }
            (Unit::Dollars, Event::Weeks(count)) => {
                self.step_known(Operator::Share, count, "Each week has".to_owned(), dollars)?;
                self.say("{s} spends the money in equal parts over {n} weeks.", count, 0);
                self.unit = Unit::PerWeek;
            }
            _ => return None,
        }
        self.events.push(format!("{event:?}"));
        Some(self)
    }

    /// Tells a sentence with a number that the answer does not need.
    pub(super) fn distract(&mut self, text: &str, number: i64) {
        self.say(text, number, 0);
    }

    /// What is asked.
    pub(super) fn question(&self) -> String {
        let Scene { things, pack, .. } = self.scene;
        let (name, other) = (self.person.name, self.other.name);
        match self.unit {
            Unit::Things => format!("How many {things} does {name} have?"),
            Unit::Dollars => format!("How many dollars does {name} have?"),
            Unit::PerPack => {
                format!("How many {things} are {} each {pack}?", self.scene.joint())
            }
            Unit::PerWeek => format!("How many dollars does {name} spend in a week?"),
            Unit::Together => format!("How many {things} do {name} and {other} have together?"),
        }
    }

    /// Whether nothing more can happen.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.unit, Unit::PerPack | Unit::PerWeek | Unit::Together)
    }

    fn step(
        &mut self,
        operator: Operator,
        right: Node,
        before: String,
        after: String,
    ) -> Option<()> {
        self.now = self.expression.step(operator, (self.now, right), before, after)?;
        Some(())
    }

    fn step_known(
        &mut self,
        operator: Operator,
        right: i64,
        before: String,
        after: String,
    ) -> Option<()> {
        let right = self.expression.known(right);
        self.step(operator, right, before, after)
    }

    fn groups(&mut self, count: i64, each: i64, before: &str, after: String) -> Option<Node> {
        let operands = (self.expression.known(count), self.expression.known(each));
        self.expression.step(Operator::Times, operands, before.to_owned(), after)
    }

    /// Adds a sentence; the person is named where the sentence before did not.
    fn say(&mut self, text: &str, n: i64, m: i64) {
        let speaks_of_person = ["{s}", "{p}", "{o}"].iter().any(|slot| text.contains(slot));
        let named = if self.is_named {
            text.to_owned()
        } else {
            // The possessive of a name has an end of its own.
            text.replacen("{s}", self.person.name, 1).replacen(
                "{p}",
                &format!("{}'s", self.person.name),
                1,
            )
        };
        self.sentences.push(capitalised(&fill(&named, self.person, n, m)));
        self.is_named = speaks_of_person;
    }
}

/// A sentence with its slots filled.
fn fill(text: &str, person: &Person, n: i64, m: i64) -> String {
    text.replace("{s}", person.subject)
        .replace("{p}", person.possessive)
        .replace("{o}", person.object)
        .replace("{n}", &n.to_string())
        .replace("{m}", &m.to_string())
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
