//! A family of functions: one text in Python and one function here that must agree, with
//! parameters and shapes of arguments.

use super::value::Value;
use crate::kind::Scale;
use crate::part::Part;
use rand::RngExt as _;
use rand::seq::IndexedRandom as _;
use rand_chacha::ChaCha8Rng;

/// What a family is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Topic {
    Integers,
    Strings,
    Lists,
    Dictionaries,
}

impl Topic {
    /// The name as in tags.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Integers => "integers",
            Self::Strings => "strings",
            Self::Lists => "lists",
            Self::Dictionaries => "dictionaries",
        }
    }
}

/// A constant in the text of a function. `$a`, `$b` and `$c` stand for the first, second and third
/// in texts.
#[derive(Debug, Clone, Copy)]
pub(super) enum Parameter {
    /// A whole number between these, both included.
    Number(i64, i64),
    /// One of these: as the docstring says it, and as the code says it.
    Choice(&'static [(&'static str, &'static str)]),
    /// One of these, the same in both.
    Word(&'static [&'static str]),
}

impl Parameter {
    /// The accepted values; of choices the positions.
    pub(super) fn range(self) -> std::ops::RangeInclusive<i64> {
        let last = |length: usize| i64::try_from(length).map_or(i64::MAX, |length| length - 1);
        match self {
            Self::Number(low, high) => low..=high,
            Self::Choice(choices) => 0..=last(choices.len()),
            Self::Word(words) => 0..=last(words.len()),
        }
    }

    /// How a value stands in the docstring and in the code.
    fn texts(self, value: i64) -> (String, String) {
        let position = usize::try_from(value).unwrap_or_default();
        match self {
            Self::Number(..) => (value.to_string(), value.to_string()),
            Self::Choice(choices) => {
                let (told, code) = choices[position];
                (told.to_owned(), code.to_owned())
            }
            Self::Word(words) => (words[position].to_owned(), words[position].to_owned()),
        }
    }
}

/// What may stand for an argument.
#[derive(Debug, Clone, Copy)]
pub(super) enum Shape {
    /// A whole number between these, both included.
    Number(i64, i64),
    /// A list of whole numbers, some of them negative.
    Numbers,
    /// A list of whole numbers from 0.
    Counts,
    /// A word.
    Word,
    /// Words with blanks between them.
    Text,
    /// A list of words.
    Words,
    /// A list of words in which some occur more than once, from the names of tables.
    Names,
    /// One of the names of tables.
    Name,
    /// A dictionary of counts.
    Table,
}

/// The names that tables have.
pub(super) const NAMES: [&str; 8] =
    ["apple", "bread", "cheese", "egg", "fig", "lemon", "rice", "salt"];
/// Other words.
const WORDS: [&str; 26] = [
    "anna", "bird", "blue", "cart", "door", "eel", "field", "green", "hat", "ice", "island",
    "lamp", "level", "moon", "new", "orange", "ox", "river", "sand", "star", "stone", "tent",
    "tree", "two", "up", "winter",
];

impl Shape {
    /// One argument at random.
    pub(super) fn draw(self, scale: Scale, rng: &mut ChaCha8Rng) -> Value {
        let (length, largest) = match scale {
            Scale::Tiny => (rng.random_range(1..=5), 20),
            Scale::Full => (rng.random_range(1..=9), 50),
        };
        let mut words = |from: &[&'static str]| -> Vec<&'static str> {
            (0..length).filter_map(|_| from.choose(rng).copied()).collect()
        };
        match self {
            Self::Number(low, high) => rng.random_range(low..=high).into(),
            Self::Numbers => Value::from(
                (0..length).map(|_| rng.random_range(-9..=largest)).collect::<Vec<i64>>(),
            ),
            Self::Counts => Value::from(
                (0..length).map(|_| rng.random_range(0..=largest)).collect::<Vec<i64>>(),
            ),
            Self::Word => WORDS.choose(rng).copied().unwrap_or_default().into(),
            Self::Text => words(&WORDS).join(" ").into(),
            Self::Words => words(&WORDS).into(),
            Self::Names => words(&NAMES[..5]).into(),
            Self::Name => NAMES.choose(rng).copied().unwrap_or_default().into(),
            Self::Table => {
                let names: Vec<&str> = NAMES.sample(rng, length.min(6)).copied().collect();
                let entry = |name: &str| (name.to_owned(), rng.random_range(0..=largest));
                names.into_iter().map(entry).collect()
            }
        }
    }

    /// The arguments at which functions go wrong.
    pub(super) fn edges(self) -> Vec<Value> {
        match self {
            Self::Number(low, high) => [low, low + 1, high].map(Value::from).to_vec(),
            Self::Numbers => {
                vec![Vec::<i64>::new().into(), vec![0_i64].into(), vec![-4_i64, -4].into()]
            }
            Self::Counts => {
                vec![Vec::<i64>::new().into(), vec![0_i64].into(), vec![7_i64, 7].into()]
            }
            Self::Word => vec!["".into(), "a".into()],
            Self::Text => vec!["".into(), "a".into(), "tree tree".into()],
            Self::Words => vec![Vec::<&str>::new().into(), vec!["a"].into()],
            Self::Names => vec![Vec::<&str>::new().into(), vec!["fig", "fig"].into()],
            Self::Name => Vec::new(),
            Self::Table => {
                vec![Value::Table([].into()), [("fig".to_owned(), 0_i64)].into_iter().collect()]
            }
        }
    }
}

/// The arguments and parameters of one call.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call<'a> {
    family: &'a Family,
    pub(super) arguments: &'a [Value],
    pub(super) parameters: &'a [i64],
}

impl<'a> Call<'a> {
    /// The first parameter; of choices the position.
    pub(super) fn a(&self) -> i64 {
        self.parameters[0]
    }

    /// The second parameter.
    pub(super) fn b(&self) -> i64 {
        self.parameters[1]
    }

    /// A parameter that is a word or a choice, as the code has it.
    pub(super) fn word(&self, position: usize) -> &'static str {
        let value = usize::try_from(self.parameters[position]).unwrap_or_default();
        match self.family.parameters[position] {
            Parameter::Choice(choices) => choices[value].1,
            Parameter::Word(words) => words[value],
            Parameter::Number(..) => unreachable!("a number is no word"),
        }
    }

    /// An argument that is a number.
    pub(super) fn number(&self, position: usize) -> i64 {
        number(&self.arguments[position])
    }

    /// An argument that is a list of numbers.
    pub(super) fn numbers(&self, position: usize) -> Vec<i64> {
        list(&self.arguments[position]).iter().map(number).collect()
    }

    /// An argument that is a text.
    pub(super) fn text(&self, position: usize) -> &'a str {
        text(&self.arguments[position])
    }

    /// An argument that is a list of texts.
    pub(super) fn words(&self, position: usize) -> Vec<&'a str> {
        list(&self.arguments[position]).iter().map(text).collect()
    }

    /// An argument that is a table of numbers, in the order of its names.
    pub(super) fn table(&self, position: usize) -> Vec<(String, i64)> {
        match &self.arguments[position] {
            Value::Table(table) => {
                table.iter().map(|(name, value)| (name.clone(), number(value))).collect()
            }
            other => unreachable!("{other} has another shape than its family says"),
        }
    }
}

fn number(value: &Value) -> i64 {
    match value {
        Value::Number(number) => *number,
        other => unreachable!("{other} has another shape than its family says"),
    }
}

fn text(value: &Value) -> &str {
    match value {
        Value::Text(text) => text,
        other => unreachable!("{other} has another shape than its family says"),
    }
}

fn list(value: &Value) -> &[Value] {
    match value {
        Value::List(values) => values,
        other => unreachable!("{other} has another shape than its family says"),
    }
}

/// The result of a call.
#[expect(clippy::unnecessary_wraps, reason = "some families are undefined for some arguments")]
pub(super) fn value(value: impl Into<Value>) -> Option<Value> {
    Some(value.into())
}

/// Functions that differ in their parameters.
#[derive(Debug)]
pub(super) struct Family {
    /// Name of the function.
    pub(super) name: &'static str,
    /// The only part whose items are of this family; `None` for families of all parts.
    pub(super) only: Option<Part>,
    pub(super) arguments: &'static [(&'static str, Shape)],
    pub(super) parameters: &'static [Parameter],
    /// The first sentence of the docstring.
    pub(super) told: &'static str,
    /// The lines of the body, without the indentation of the function.
    pub(super) body: &'static [&'static str],
    /// The result that the body returns; `None` where the docstring does not say what it is.
    pub(super) solve: fn(&Call<'_>) -> Option<Value>,
}

impl Family {
    /// The docstring's sentence with these parameters.
    pub(super) fn told(&self, parameters: &[i64]) -> String {
        self.fill(self.told, parameters, |(told, _)| told)
    }

    /// The body with these parameters, indented, with a line end after each line.
    pub(super) fn body(&self, parameters: &[i64]) -> String {
        let line = |line: &&str| format!("    {}\n", self.fill(line, parameters, |(_, code)| code));
        self.body.iter().map(line).collect()
    }

    /// `def name(arguments):`
    pub(super) fn signature(&self) -> String {
        let names: Vec<&str> = self.arguments.iter().map(|(name, _)| *name).collect();
        format!("def {}({}):", self.name, names.join(", "))
    }

    /// The result for these arguments.
    pub(super) fn solve(&self, arguments: &[Value], parameters: &[i64]) -> Option<Value> {
        (self.solve)(&Call { family: self, arguments, parameters })
    }

    fn fill(
        &self,
        text: &str,
        parameters: &[i64],
        side: impl Fn((String, String)) -> String,
    ) -> String {
        let mut filled = text.to_owned();
        for ((slot, parameter), value) in
            ["$a", "$b", "$c"].iter().zip(self.parameters).zip(parameters)
        {
            filled = filled.replace(slot, &side(parameter.texts(*value)));
        }
        filled
    }
}
