//! Reading aloud what is written, in a given style.

use super::numerals::{Numerals, roman};
use crate::spec::challenge::{Convention, Style};

/// What something written can stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Kind {
    Plain,
    Year,
    Count,
    Decimal,
    Ordinal,
    Date,
    Fraction,
    Time,
    Ratio,
    Money,
    Percent,
    Measure,
    Phone,
    /// The first of an abbreviation's two meanings.
    First,
    /// The second of them.
    Second,
    RomanOrdinal,
    RomanNumber,
    Letters,
}

/// Abbreviations with two meanings each.
pub(super) const ABBREVIATIONS: [(&str, [&str; 2]); 4] = [
    ("St.", ["saint", "street"]),
    ("Dr.", ["doctor", "drive"]),
    ("Col.", ["colonel", "column"]),
    ("Cap.", ["captain", "capacity"]),
];

/// Units as they are written and as they are read.
pub(super) const UNITS: [(&str, &str); 7] = [
    ("kg", "kilogram"),
    ("km", "kilometre"),
    ("cm", "centimetre"),
    ("ml", "millilitre"),
    ("MB", "megabyte"),
    ("kWh", "kilowatt hour"),
    ("mg", "milligram"),
];

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
/// Currencies with their coins, singular and plural.
const CURRENCIES: [(char, [&str; 4]); 3] = [
    ('$', ["dollar", "dollars", "cent", "cents"]),
    ('£', ["pound", "pounds", "penny", "pence"]),
    ('€', ["euro", "euros", "cent", "cents"]),
];
const PARTS: [&str; 11] =
    ["", "", "half", "third", "quarter", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"];

/// What a token can stand for by its shape, the more usual first.
pub(super) fn kinds(token: &str) -> &'static [Kind] {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let pair = |mark: char| token.split_once(mark).filter(|(a, b)| digits(a) && digits(b));
    if digits(token) {
        let year = token.len() == 4 && token.starts_with('1');
        return if year { &[Kind::Year, Kind::Count] } else { &[Kind::Count] };
    }
    if pair('/').is_some() {
        return &[Kind::Date, Kind::Fraction];
    }
    if pair(':').is_some() {
        return &[Kind::Time, Kind::Ratio];
    }
    if pair('.').is_some() {
        return &[Kind::Decimal];
    }
    if pair('-').is_some() {
        return &[Kind::Phone];
    }
    if token.starts_with(['$', '£', '€']) {
        return &[Kind::Money];
    }
    if token.strip_suffix('%').is_some_and(digits) {
        return &[Kind::Percent];
    }
    if token.starts_with(|c: char| c.is_ascii_digit()) {
        return if token.contains(' ') { &[Kind::Measure] } else { &[Kind::Ordinal] };
    }
    if ABBREVIATIONS.iter().any(|(short, _)| *short == token) {
        return &[Kind::First, Kind::Second];
    }
    if roman(token).is_some() {
        return &[Kind::RomanOrdinal, Kind::RomanNumber];
    }
    if token.len() > 1 && token.chars().all(|c| c.is_ascii_uppercase()) {
        return &[Kind::Letters];
    }
    &[Kind::Plain]
}

/// How a token of a kind is read; `None` if it is not of that kind.
pub(super) fn speak(token: &str, kind: Kind, style: &Style) -> Option<String> {
    let numerals = Numerals::new(style);
    let option = |convention| style.option(convention);
    let number = |text: &str| text.parse::<usize>().ok().map(|value| numerals.cardinal(value));
    let pair = |mark| {
        let (a, b) = token.split_once(mark)?;
        Some((a.parse::<usize>().ok()?, b.parse::<usize>().ok()?))
    };
    let zero = ["zero", "oh", "nought"][option(Convention::Zero)];
    Some(match kind {
        Kind::Plain => token.to_owned(),
        Kind::Count => number(token)?,
        Kind::Year => year(token.parse().ok()?, option(Convention::Year), numerals),
        Kind::Decimal => decimal(token, option(Convention::Decimal), zero, numerals)?,
        Kind::Ordinal => {
            let value = token.trim_end_matches(|c: char| c.is_ascii_lowercase()).parse().ok()?;
            match option(Convention::Ordinal) {
                0 => numerals.ordinal(value),
                _ => format!("number {}", numerals.cardinal(value)),
            }
        }
        Kind::Date => {
            let (one, other) = pair('/')?;
            let option = option(Convention::Date);
            // The number that cannot be a month is the day, whatever the style.
            let (month, day) = match (one, other) {
                (13.., _) => (other, one),
                (_, 13..) => (one, other),
                _ if option < 2 => (one, other),
                _ => (other, one),
            };
            let (month, day) = (MONTHS.get(month.checked_sub(1)?)?, numerals.ordinal(day));
            match option {
                0 | 3 => format!("{month} {day}"),
                1 => format!("{month} the {day}"),
                _ => format!("the {day} of {month}"),
            }
        }
        Kind::Fraction => {
            let (top, bottom) = pair('/')?;
            if !(2..=10).contains(&bottom) || top >= bottom {
                return None;
            }
            let (count, of) = (numerals.cardinal(top), numerals.cardinal(bottom));
            match option(Convention::Fraction) {
                0 => match (top, PARTS[bottom]) {
                    (1, part) => format!("one {part}"),
                    (_, part) => format!("{count} {part}s"),
                },
                1 => format!("{count} parts in {of}"),
                2 => format!("{count} over {of}"),
                _ => format!("{count} out of {of}"),
            }
        }
        Kind::Time => {
            let (hour, minute) = pair(':')?;
            if !(1..=12).contains(&hour) || minute > 59 {
                return None;
            }
            time(hour, minute, option(Convention::Time), zero, numerals)
        }
        Kind::Ratio => {
            let (one, other) = pair(':')?;
            let joint = ["to", "against", "by"][option(Convention::Ratio)];
            format!("{} {joint} {}", numerals.cardinal(one), numerals.cardinal(other))
        }
        Kind::Money => money(token, option(Convention::Money), zero, numerals)?,
        Kind::Percent => {
            let share = number(token.strip_suffix('%')?)?;
            format!(
                "{share} {}",
                ["percent", "per cent", "in a hundred"][option(Convention::Percent)]
            )
        }
        Kind::Measure => {
            let (value, unit) = token.split_once(' ')?;
            let (_, name) = UNITS.iter().find(|(short, _)| *short == unit)?;
            let amount = if value.contains('.') {
                decimal(value, option(Convention::Decimal), zero, numerals)?
            } else {
                number(value)?
            };
            match option(Convention::Measure) {
                0 if value != "1" => format!("{amount} {name}s"),
                0 | 1 => format!("{amount} {name}"),
                _ => format!("{amount} {}", spaced(&unit.to_lowercase())),
            }
        }
        Kind::Phone => phone(token, option(Convention::Phone), zero, numerals)?,
        Kind::First | Kind::Second => {
            let (_, meanings) = ABBREVIATIONS.iter().find(|(short, _)| *short == token)?;
            meanings[usize::from(kind == Kind::Second)].to_owned()
        }
        Kind::RomanOrdinal => format!("the {}", numerals.ordinal(roman(token)?)),
        Kind::RomanNumber => numerals.cardinal(roman(token)?),
        Kind::Letters => match option(Convention::Letters) {
            0 => spaced(&token.to_lowercase()),
            1 => spaced(token),
            _ => token.to_lowercase().chars().flat_map(|letter| [letter, '.']).collect(),
        },
    })
}

/// Characters with blanks between them.
fn spaced(text: &str) -> String {
    text.chars().map(String::from).collect::<Vec<_>>().join(" ")
}

fn year(value: usize, option: usize, numerals: Numerals) -> String {
    let (century, rest) = (numerals.cardinal(value / 100), value % 100);
    match (option, rest) {
        (0, 0) => format!("{century} hundred"),
        (0, 1..10) => format!("{century} oh {}", numerals.cardinal(rest)),
        (0, _) => format!("{century} {}", numerals.cardinal(rest)),
        (1, _) => numerals.of_hundred(value),
        _ => numerals.cardinal(value),
    }
}

/// The digits of a text, one after the other.
fn digits(text: &str, zero: &str, numerals: Numerals) -> String {
    let word = |digit: char| match digit.to_digit(10) {
        Some(value @ 1..) => numerals.cardinal(value as usize),
        _ => zero.to_owned(),
    };
    text.chars().map(word).collect::<Vec<_>>().join(" ")
}

/// A number that may begin with zeros.
fn padded(text: &str, zero: &str, numerals: Numerals) -> Option<String> {
    let rest = text.trim_start_matches('0');
    let mut words = vec![zero.to_owned(); text.len() - rest.len()];
    if !rest.is_empty() {
        words.push(numerals.cardinal(rest.parse().ok()?));
    }
    Some(words.join(" "))
}

fn decimal(token: &str, option: usize, zero: &str, numerals: Numerals) -> Option<String> {
    let (whole, rest) = token.split_once('.')?;
    let whole = numerals.cardinal(whole.parse().ok()?);
    Some(match option {
        0 => format!("{whole} point {}", digits(rest, zero, numerals)),
        1 => format!("{whole} point {}", padded(rest, zero, numerals)?),
        2 => format!("{whole} comma {}", digits(rest, zero, numerals)),
        _ => {
            let part = ["tenths", "hundredths", "thousandths"].get(rest.len().checked_sub(1)?)?;
            format!("{whole} and {} {part}", numerals.cardinal(rest.parse().ok()?))
        }
    })
}

fn time(hour: usize, minute: usize, option: usize, zero: &str, numerals: Numerals) -> String {
    let (now, minutes) = (numerals.cardinal(hour), numerals.cardinal(minute));
    let next = numerals.cardinal(hour % 12 + 1);
    match (option, minute) {
        (0..=2, 0) => format!("{now} o'clock"),
        (0, 1..10) => format!("{now} {zero} {minutes}"),
        (0, _) => format!("{now} {minutes}"),
        (1, 15) => format!("quarter past {now}"),
        (1, 30) => format!("half past {now}"),
        (1, 45) => format!("quarter to {next}"),
        (1, 31..) => format!("{} to {next}", numerals.cardinal(60 - minute)),
        (1 | 2, _) => format!("{minutes} past {now}"),
        (_, 0) => format!("{now} hours"),
        _ => format!("{now} hours {minutes}"),
    }
}

fn money(token: &str, option: usize, zero: &str, numerals: Numerals) -> Option<String> {
    let sign = token.chars().next()?;
    let (_, [one, many, coin, coins]) = CURRENCIES.iter().find(|(known, _)| *known == sign)?;
    let amount = &token[sign.len_utf8()..];
    let (whole, rest) = amount.split_once('.').unwrap_or((amount, ""));
    let value: usize = whole.parse().ok()?;
    let (whole, name) = (numerals.cardinal(value), if value == 1 { one } else { many });
    if rest.is_empty() {
        return Some(format!("{whole} {name}"));
    }
    let cents: usize = rest.parse().ok()?;
    let (words, coin) = (numerals.cardinal(cents), if cents == 1 { coin } else { coins });
    Some(match option {
        0 => format!("{whole} {name} and {words} {coin}"),
        1 => format!("{whole} {name} {words}"),
        2 => format!("{whole} {}", padded(rest, zero, numerals)?),
        _ => format!("{whole} point {} {many}", digits(rest, zero, numerals)),
    })
}

fn phone(token: &str, option: usize, zero: &str, numerals: Numerals) -> Option<String> {
    let (one, other) = token.split_once('-')?;
    let say = |text: &str| digits(text, zero, numerals);
    Some(match option {
        0 => say(&format!("{one}{other}")),
        1 => {
            let all: Vec<char> = format!("{one}{other}").chars().collect();
            let (mut words, mut place) = (Vec::new(), 0);
            while place < all.len() {
                let word = say(&all[place].to_string());
                let twice = all.get(place + 1) == Some(&all[place]);
                words.push(if twice { format!("double {word}") } else { word });
                place += 1 + usize::from(twice);
            }
            words.join(" ")
        }
        2 => format!("{} dash {}", say(one), say(other)),
        _ => {
            let (first, last) = other.split_at_checked(2)?;
            let (first, last) = (padded(first, zero, numerals)?, padded(last, zero, numerals)?);
            format!("{} {first} {last}", say(one))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both the usual reading and one in another style.
    #[test]
    fn tokens_are_read_in_their_style() {
        let usual = Style::default();
        let read = |token: &str, kind, convention, option| {
            let other = usual.with(convention, option);
            format!(
                "{token}: {} | {}",
                speak(token, kind, &usual).unwrap(),
                speak(token, kind, &other).unwrap()
            )
        };
        let lines = [
            read("1905", Kind::Year, Convention::Year, 1),
            read("1812", Kind::Year, Convention::Year, 2),
            read("1905", Kind::Count, Convention::Thousands, 1),
            read("3.07", Kind::Decimal, Convention::Decimal, 3),
            read("21st", Kind::Ordinal, Convention::Ordinal, 1),
            read("3/4", Kind::Date, Convention::Date, 2),
            read("25/4", Kind::Date, Convention::Date, 1),
            read("3/4", Kind::Fraction, Convention::Fraction, 2),
            read("3:45", Kind::Time, Convention::Time, 1),
            read("3:05", Kind::Time, Convention::Zero, 1),
            read("3:05", Kind::Ratio, Convention::Ratio, 1),
            read("£2.05", Kind::Money, Convention::Money, 2),
            read("1.5 kg", Kind::Measure, Convention::Measure, 2),
            read("550-0172", Kind::Phone, Convention::Phone, 1),
            read("550-0172", Kind::Phone, Convention::Phone, 3),
            read("12%", Kind::Percent, Convention::Percent, 2),
            read("USB", Kind::Letters, Convention::Letters, 2),
        ];
        let expected = [
            "1905: nineteen oh five | nineteen hundred five",
            "1812: eighteen twelve | one thousand eight hundred twelve",
            "1905: one thousand nine hundred five | nineteen hundred five",
            "3.07: three point zero seven | three and seven hundredths",
            "21st: twenty first | number twenty one",
            "3/4: march fourth | the third of april",
            "25/4: april twenty fifth | april the twenty fifth",
            "3/4: three quarters | three over four",
            "3:45: three forty five | quarter to four",
            "3:05: three zero five | three oh five",
            "3:05: three to five | three against five",
            "£2.05: two pounds and five pence | two zero five",
            "1.5 kg: one point five kilograms | one point five k g",
            "550-0172: five five zero zero one seven two | double five double zero one seven two",
            "550-0172: five five zero zero one seven two | five five zero zero one seventy two",
            "12%: twelve percent | twelve in a hundred",
            "USB: u s b | u.s.b.",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn shapes_say_what_a_token_can_stand_for() {
        assert_eq!(kinds("1905"), [Kind::Year, Kind::Count]);
        assert_eq!(kinds("St."), [Kind::First, Kind::Second]);
        assert_eq!(kinds("XIV"), [Kind::RomanOrdinal, Kind::RomanNumber]);
        assert_eq!((kinds("12 kg"), kinds("21st")), (&[Kind::Measure][..], &[Kind::Ordinal][..]));
        assert_eq!((kinds("GPS"), kinds("green")), (&[Kind::Letters][..], &[Kind::Plain][..]));
        assert_eq!(speak("3/4", Kind::Time, &Style::default()), None);
        assert_eq!(speak("12/31", Kind::Fraction, &Style::default()), None);
    }
}
