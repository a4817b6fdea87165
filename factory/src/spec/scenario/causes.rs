//! What causes what in a story: which columns move a target and which way, and how columns go
//! together.
//!
//! A column's part in a task follows from these lines. A *cause* is named for the target; a
//! *driver* is not, but a cause follows it; a *proxy* follows a cause; *noise* does neither. Rules
//! use causes alone, in their direction, so that what a reader knows of the trade is worth
//! something.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Least and largest size of a correlation between a column and what it follows.
const CORRELATIONS: std::ops::RangeInclusive<f64> = 0.1..=0.95;

/// How a column moves a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Higher values raise it.
    Raises,
    /// Higher values lower it.
    Lowers,
    /// It is highest for middling values.
    Peaks,
    /// It is lowest for middling values.
    Dips,
    /// A column of words, from those that lower it to those that raise it.
    Words(Vec<String>),
}

impl Effect {
    /// 1 where higher values raise the target, −1 where they lower it, nothing otherwise.
    pub fn sign(&self) -> Option<f64> {
        match self {
            Self::Raises => Some(1.0),
            Self::Lowers => Some(-1.0),
            Self::Peaks | Self::Dips | Self::Words(_) => None,
        }
    }
}

/// A column that moves a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// Name of the column.
    pub column: String,
    /// How it moves the target.
    pub effect: Effect,
}

/// The causes of some targets, written `target, target: column sign, column sign, ...`, the most
/// important first. A sign is `+` (higher values raise the target), `-` (they lower it), `^` (the
/// target is highest for middling values) or `v` (lowest for middling values). A word column has
/// all its words in place of a sign, from those that lower the target to those that raise it:
/// `damaged, loss_kg: low_temp -, bloom_pct +, cover mulch grass bare`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct Causes {
    /// Names of the targets.
    pub targets: Vec<String>,
    /// What moves them.
    pub columns: Vec<Cause>,
}

impl TryFrom<String> for Causes {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let wrong = |what: &str| {
            format!("`{text}`: {what}; a line is `target, target: column +, column word word`")
        };
        let (targets, columns) = text.split_once(": ").ok_or_else(|| wrong("there is no `: `"))?;
        let cause = |part: &str| -> Result<Cause, String> {
            let mut words = part.split_whitespace().map(str::to_owned);
            let column = words.next().ok_or_else(|| wrong("a column is missing"))?;
            let rest: Vec<String> = words.collect();
            let effect = match &rest[..] {
                [] => return Err(wrong(&format!("`{column}` has no sign"))),
                [sign] => match sign.as_str() {
                    "+" => Effect::Raises,
                    "-" => Effect::Lowers,
                    "^" => Effect::Peaks,
                    "v" => Effect::Dips,
                    other => return Err(wrong(&format!("`{other}` is none of + - ^ v"))),
                },
                _ => Effect::Words(rest),
            };
            Ok(Cause { column, effect })
        };
        Ok(Self {
            targets: targets.split(", ").map(str::to_owned).collect(),
            columns: columns.split(", ").map(cause).collect::<Result<_, _>>()?,
        })
    }
}

impl From<Causes> for String {
    fn from(causes: Causes) -> Self {
        let effect = |effect: &Effect| match effect {
            Effect::Raises => "+".to_owned(),
            Effect::Lowers => "-".to_owned(),
            Effect::Peaks => "^".to_owned(),
            Effect::Dips => "v".to_owned(),
            Effect::Words(words) => words.join(" "),
        };
        let columns: Vec<String> = causes
            .columns
            .iter()
            .map(|cause| format!("{} {}", cause.column, effect(&cause.effect)))
            .collect();
        format!("{}: {}", causes.targets.join(", "), columns.join(", "))
    }
}

/// A column that goes with another one, written `child parent correlation`, such as
/// `weight_kg height_cm 0.6`. A parent that is no column is a hidden factor, which may follow
/// another one in its turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct Follows {
    /// The column or hidden factor that follows.
    pub child: String,
    /// The column or hidden factor that it follows.
    pub parent: String,
    /// The correlation of the two, were both bells: 0.1 to 0.95 in size.
    pub correlation: f64,
}

impl TryFrom<String> for Follows {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not `child parent correlation`");
        let parts: Vec<&str> = text.split_whitespace().collect();
        let [child, parent, correlation] = parts[..] else { return Err(wrong()) };
        let correlation: f64 = correlation.parse().map_err(|_| wrong())?;
        if !CORRELATIONS.contains(&correlation.abs()) {
            let (least, most) = CORRELATIONS.into_inner();
            return Err(format!("`{text}`: a correlation is {least} to {most} in size"));
        }
        Ok(Self { child: child.to_owned(), parent: parent.to_owned(), correlation })
    }
}

impl From<Follows> for String {
    fn from(follows: Follows) -> Self {
        format!("{} {} {}", follows.child, follows.parent, follows.correlation)
    }
}

/// The part that a column has in the causes of a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ColumnRole {
    /// It moves the target; rules are made of causes.
    Cause(Effect),
    /// A cause follows it.
    Driver,
    /// It follows a cause, or what a cause follows.
    Proxy,
    /// It has nothing to do with the target.
    Noise,
}

impl ColumnRole {
    /// The role of a column.
    pub fn of(column: &str, causes: &[Cause], follows: &[Follows]) -> Self {
        if let Some(cause) = causes.iter().find(|cause| cause.column == column) {
            return Self::Cause(cause.effect.clone());
        }
        let above = |name: &str| bearing_on(follows, &[name]);
        let leads = |cause: &Cause| above(&cause.column).iter().any(|line| line.parent == column);
        if causes.iter().any(leads) {
            return Self::Driver;
        }
        let tied = |cause: &Cause| correlation(follows, column, &cause.column) != 0.0;
        if causes.iter().any(tied) { Self::Proxy } else { Self::Noise }
    }
}

impl fmt::Display for ColumnRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cause(Effect::Raises) => write!(f, "cause, raises it"),
            Self::Cause(Effect::Lowers) => write!(f, "cause, lowers it"),
            Self::Cause(Effect::Peaks) => write!(f, "cause, highest in the middle"),
            Self::Cause(Effect::Dips) => write!(f, "cause, lowest in the middle"),
            Self::Cause(Effect::Words(words)) => write!(f, "cause, {}", words.join(" < ")),
            Self::Driver => write!(f, "driver of a cause"),
            Self::Proxy => write!(f, "proxy of a cause"),
            Self::Noise => write!(f, "noise"),
        }
    }
}

/// The lines that bear on some columns: theirs, those of what they follow, and so on.
pub fn bearing_on(follows: &[Follows], columns: &[&str]) -> Vec<Follows> {
    let mut kept: Vec<&Follows> = Vec::new();
    let mut open: Vec<&str> = columns.to_vec();
    while let Some(name) = open.pop() {
        let line = follows.iter().find(|line| line.child == name);
        if let Some(line) = line.filter(|line| !kept.iter().any(|known| known.child == line.child))
        {
            kept.push(line);
            open.push(&line.parent);
        }
    }
    follows.iter().filter(|line| kept.contains(line)).cloned().collect()
}

/// The correlation of two columns, were both bells: the product along the path that joins them.
pub fn correlation(follows: &[Follows], one: &str, other: &str) -> f64 {
    let path = |name: &str| {
        let mut path = vec![(name.to_owned(), 1.0)];
        while let Some(line) = follows.iter().find(|line| path[path.len() - 1].0 == line.child) {
            path.push((line.parent.clone(), path[path.len() - 1].1 * line.correlation));
        }
        path
    };
    let (left, right) = (path(one), path(other));
    let meeting = left.iter().find_map(|(name, along)| {
        let found = right.iter().find(|(known, _)| known == name);
        found.map(|(_, back)| along * back)
    });
    meeting.unwrap_or(0.0)
}

/// The first line whose child follows itself in the end, if there is one.
pub(super) fn circle(follows: &[Follows]) -> Option<&Follows> {
    follows.iter().find(|line| {
        let mut name = &line.parent;
        for _ in 0..follows.len() {
            if *name == line.child {
                return true;
            }
            match follows.iter().find(|next| next.child == *name) {
                Some(next) => name = &next.parent,
                None => return false,
            }
        }
        false
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn follows(lines: &[&str]) -> Vec<Follows> {
        lines.iter().map(|line| (*line).to_owned().try_into().unwrap()).collect()
    }

    #[test]
    fn lines_are_read_and_written_back() {
        for text in ["ill, cost_eur: age +, dose ^, rest_h v, smoker no yes", "ill: age -"] {
            let causes = Causes::try_from(text.to_owned()).unwrap();
            assert_eq!(String::from(causes), text);
        }
        for text in ["low_temp height_m -0.6", "dose weight 0.45"] {
            let line = Follows::try_from(text.to_owned()).unwrap();
            assert_eq!(String::from(line), text);
        }
    }

    #[test]
    fn lines_that_make_no_sense_say_what_is_wrong() {
        for (text, said) in [
            ("ill age +", "no `: `"),
            ("ill: age", "has no sign"),
            ("ill: age *", "none of + - ^ v"),
            ("ill: ", "a column is missing"),
        ] {
            let error = Causes::try_from(text.to_owned()).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
        for (text, said) in
            [("a b", "child parent"), ("a b high", "child parent"), ("a b 1.5", "0.1 to 0.95")]
        {
            let error = Follows::try_from(text.to_owned()).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn role_of_a_column_follows_from_the_lines() {
        let causes = Causes::try_from("ill: dose +, rest_h -, site b a".to_owned()).unwrap();
        let lines = follows(&["dose weight 0.5", "pulse dose 0.6", "walk rest_h 0.4"]);
        for (column, role) in [
            ("dose", "cause, raises it"),
            ("site", "cause, b < a"),
            ("weight", "driver of a cause"),
            ("pulse", "proxy of a cause"),
            ("walk", "proxy of a cause"),
            ("shoe_size", "noise"),
        ] {
            assert_eq!(ColumnRole::of(column, &causes.columns, &lines).to_string(), role);
        }
    }

    #[test]
    fn correlation_is_the_product_along_the_path() {
        let lines = follows(&["a cold 0.5", "b cold -0.8", "c b 0.5", "cold season 0.9"]);
        assert!((correlation(&lines, "a", "c") + 0.2).abs() < 1e-12);
        assert!((correlation(&lines, "c", "b") - 0.5).abs() < 1e-12);
        assert!(correlation(&lines, "a", "z").abs() < 1e-12);
        assert_eq!(bearing_on(&lines, &["a"]), follows(&["a cold 0.5", "cold season 0.9"]));
        assert_eq!(circle(&lines), None);
        assert!(circle(&follows(&["a b 0.5", "b c 0.5", "c a 0.5"])).is_some());
    }
}
