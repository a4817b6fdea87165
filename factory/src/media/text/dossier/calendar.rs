//! Days of a year without a leap day, and how a task writes them.

use crate::numeric::draws::Draws;

/// Days before each month.
const BEFORE: [usize; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const WEEKDAYS: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
/// Days of a year.
pub(super) const YEAR: usize = 365;

/// The day of the year, from 1, of a day of a month counted from 0; later months for days beyond it.
pub(super) fn day_of_year(month: usize, day: usize) -> usize {
    BEFORE[month] + day
}

/// How dates are written.
#[derive(Debug, Clone, Copy)]
pub(super) struct DateStyle {
    /// `4 March`, `March 4` or `4 Mar`.
    form: usize,
    /// The weekday of the day before the first of January.
    shift: usize,
}

impl DateStyle {
    pub(super) fn drawn(draws: &mut Draws) -> Self {
        Self { form: draws.whole(0, 2), shift: draws.whole(0, 6) }
    }

    /// A day of the year, from 1.
    pub(super) fn date(self, day: usize) -> String {
        let month = BEFORE.iter().rposition(|before| *before < day).unwrap_or(0);
        let (name, day) = (MONTHS[month], day - BEFORE[month]);
        match self.form {
            0 => format!("{day} {name}"),
            1 => format!("{name} {day}"),
            _ => format!("{day} {}", &name[..3]),
        }
    }

    /// The weekday of a day of the year, in three letters.
    pub(super) fn weekday(self, day: usize) -> &'static str {
        &WEEKDAYS[(self.shift + day) % WEEKDAYS.len()][..3]
    }
}

/// Any weekday.
pub(super) fn any_weekday(draws: &mut Draws) -> &'static str {
    WEEKDAYS[draws.whole(0, WEEKDAYS.len() - 1)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_their_dates() {
        let style = |form| DateStyle { form, shift: 6 };
        assert_eq!(style(0).date(1), "1 January");
        assert_eq!(style(1).date(60), "March 1");
        assert_eq!(style(2).date(YEAR), "31 Dec");
        assert_eq!((day_of_year(2, 1), day_of_year(11, 31)), (60, YEAR));
        // The first of January is a Monday here.
        assert_eq!((style(0).weekday(1), style(0).weekday(9)), ("Mon", "Tue"));
    }
}
