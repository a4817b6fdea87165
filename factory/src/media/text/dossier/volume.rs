//! What all dossiers of a task share: genre, length, dates, headings.

use super::bank::{BANKS, Bank};
use super::calendar::DateStyle;
use super::genre::{Genre, Register, Trade};
use super::keys::KEYS;
use crate::media::Look;
use crate::numeric::draws::Draws;

/// Words of the dossiers of a task in the mean, at least and at most.
const LENGTHS: (f64, f64) = (420.0, 2600.0);
/// How much shorter or longer a dossier may be.
const VARIES: (f64, f64) = (0.86, 1.14);

/// What all dossiers of a task share.
#[derive(Debug)]
pub(super) struct Volume {
    pub(super) genre: Genre,
    pub(super) dates: DateStyle,
    /// Words of an entry.
    pub(super) entry: f64,
    /// Words of a dossier.
    length: f64,
    /// What the dossiers are about, such as `the guest house on the lake`.
    pub(super) house: &'static str,
    /// Which of its ways to open and to close a paper this task takes.
    pub(super) habit: usize,
    /// Which party counts as the first.
    pub(super) parties: [&'static str; 2],
}

impl Volume {
    /// The volume of a task; the genre is drawn where the story does not say.
    pub(super) fn new(look: &Look<'_>) -> Self {
        let mut draws = Draws::new(look.stream.child("dossier"));
        let drawn =
            Genre { trade: *draws.pick(&Trade::ALL), register: *draws.pick(&Register::ALL) };
        let genre = look.genre.unwrap_or(drawn);
        let (low, high) = LENGTHS;
        let length = libm::exp(draws.between(libm::log(low), libm::log(high)));
        let (shortest, longest) = match genre.register {
            Register::Log => (38.0, 60.0),
            Register::Interview => (45.0, 75.0),
            Register::Forum => (50.0, 90.0),
            Register::Minutes | Register::Inspection => (60.0, 95.0),
            Register::Letter => (65.0, 110.0),
        };
        let parties = KEYS.parties(genre.trade);
        Self {
            genre,
            dates: DateStyle::drawn(&mut draws),
            entry: draws.between(shortest, longest),
            length,
            house: &draws.pick(BANKS.trade(genre.trade).of("house")).text,
            habit: draws.whole(0, 5),
            parties: [parties[0], parties[1]],
        }
    }

    /// How many words a dossier is to have.
    pub(super) fn words(&self, draws: &mut Draws) -> f64 {
        self.length * draws.between(VARIES.0, VARIES.1)
    }

    /// The words of its trade.
    pub(super) fn trade(&self) -> &'static Bank {
        BANKS.trade(self.genre.trade)
    }

    /// The words of its kind of papers.
    pub(super) fn register(&self) -> &'static Bank {
        BANKS.register(self.genre.register)
    }

    /// Persons by the names that they are called by here.
    pub(super) fn staff(&self) -> Vec<String> {
        let name = |name: &str| name[..1].to_ascii_uppercase() + &name[1..];
        if self.genre.register.is_familiar() {
            return KEYS.list("first").iter().map(|first| name(first)).collect();
        }
        let title = |place: usize| if place.is_multiple_of(2) { "Ms" } else { "Mr" };
        let surnames = KEYS.list("surname").iter().enumerate();
        surnames.map(|(place, surname)| format!("{} {}", title(place), name(surname))).collect()
    }
}
