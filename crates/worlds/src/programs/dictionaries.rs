//! Families over dictionaries. Keys are texts, and those of arguments are in their order.

use super::family::Parameter::{Choice, Number, Word};
use super::family::{Family, NAMES, Shape, value};
use super::strings::compare;
use super::value::{Value, whole};
use crate::part::Part;
use std::collections::BTreeMap;

const SIDES: &[(&str, &str)] = &[("above", ">"), ("below", "<")];
const SETS: [&str; 8] = ["ae", "ro", "st", "in", "el", "aei", "rst", "no"];

pub(super) static FAMILIES: [Family; 22] = [
    Family {
        name: "value_or_default",
        only: None,
        arguments: &[("table", Shape::Table), ("name", Shape::Name)],
        parameters: &[Number(-4, 9)],
        told: "Return the value of the name in the table, or $a if it is not there.",
        body: &["return table.get(name, $a)"],
        solve: |c| value(get(&c.table(0), c.text(1)).unwrap_or(c.a())),
    },
    Family {
        name: "total_of_some",
        only: None,
        arguments: &[("table", Shape::Table)],
        parameters: &[Choice(SIDES), Number(2, 14)],
        told: "Return the sum of the values that are $a $b.",
        body: &["return sum(v for v in table.values() if v $a $b)"],
        solve: |c| {
            let values = c.table(0).into_iter().map(|(_, v)| v);
            value(values.filter(|&v| compare(v, c.word(0), c.b())).sum::<i64>())
        },
    },
    Family {
        name: "names_of_some",
        only: None,
        arguments: &[("table", Shape::Table)],
        parameters: &[Choice(SIDES), Number(2, 14)],
        told: "Return the names whose values are $a $b, in alphabetical order.",
        body: &["return sorted(k for k, v in table.items() if v $a $b)"],
        solve: |c| {
            let kept = c.table(0).into_iter().filter(|(_, v)| compare(*v, c.word(0), c.b()));
            value(kept.map(|(k, _)| k).collect::<Vec<_>>())
        },
    },
    Family {
        name: "change_values",
        only: None,
        arguments: &[("table", Shape::Table)],
        parameters: &[Choice(&[("plus", "+"), ("minus", "-"), ("times", "*")]), Number(2, 9)],
        told: "Return a table with all values $a $b.",
        body: &["return {k: v $a $b for k, v in table.items()}"],
        solve: |c| {
            let change = |v: i64| match c.word(0) {
                "+" => v + c.b(),
                "-" => v - c.b(),
                _ => v * c.b(),
            };
            Some(c.table(0).into_iter().map(|(k, v)| (k, change(v))).collect())
        },
    },
    Family {
        name: "count_value",
        only: None,
        arguments: &[("table", Shape::Table)],
        parameters: &[Number(0, 9), Number(0, 2)],
        told: "Return how many values are $a, plus $b.",
        body: &["return list(table.values()).count($a) + $b"],
        solve: |c| value(whole(c.table(0).iter().filter(|(_, v)| *v == c.a()).count()) + c.b()),
    },
    Family {
        name: "rename_all",
        only: None,
        arguments: &[("table", Shape::Table)],
        parameters: &[
            Word(&["_x", "_new", "s", "_old", "_a", "_2"]),
            Choice(&[("", ""), (" in capitals and", ".upper()")]),
        ],
        told: "Return the table with all names$b followed by '$a'.",
        body: &["return {k$b + '$a': v for k, v in table.items()}"],
        solve: |c| {
            let name = |k: String| if c.b() == 0 { k } else { k.to_uppercase() };
            let entries = c.table(0).into_iter();
            Some(entries.map(|(k, v)| (format!("{}{}", name(k), c.word(0)), v)).collect())
        },
    },
    Family {
        name: "drop_names",
        only: None,
        arguments: &[("table", Shape::Table)],
        parameters: &[
            Word(&["a", "b", "c", "e", "f", "l", "r", "s"]),
            Choice(&[("begin", "startswith"), ("end", "endswith")]),
        ],
        told: "Return the table without the names that $b with '$a'.",
        body: &["return {k: v for k, v in table.items() if not k.$b('$a')}"],
        solve: |c| {
            let letter = c.word(0);
            let is_dropped = |k: &str| match c.b() {
                0 => k.starts_with(letter),
                _ => k.ends_with(letter),
            };
            Some(c.table(0).into_iter().filter(|(k, _)| !is_dropped(k)).collect())
        },
    },
    Family {
        name: "weighted_counts",
        only: None,
        arguments: &[("words", Shape::Names)],
        parameters: &[Number(2, 14)],
        told: "Return a table of the words with $a for each time that they occur.",
        body: &["return {word: $a * words.count(word) for word in words}"],
        solve: |c| Some(counts(&c.words(0)).into_iter().map(|(k, n)| (k, n * c.a())).collect()),
    },
    Family {
        name: "lengths_of_words",
        only: None,
        arguments: &[("words", Shape::Words)],
        parameters: &[Number(1, 14)],
        told: "Return a table of the words with their lengths plus $a.",
        body: &["return {word: len(word) + $a for word in words}"],
        solve: |c| {
            let entry = |word: &str| (word.to_owned(), whole(word.len()) + c.a());
            Some(c.words(0).into_iter().map(entry).collect())
        },
    },
    Family {
        name: "add_tables",
        only: Some(Part::Test),
        arguments: &[("first", Shape::Table), ("second", Shape::Table)],
        parameters: &[Number(0, 4), Number(0, 4)],
        told: "Return the sums by name, with $a for what the first lacks and $b for what the second lacks.",
        body: &[
            "names = {**first, **second}",
            "return {k: first.get(k, $a) + second.get(k, $b) for k in names}",
        ],
        solve: |c| {
            let (first, second) = (c.table(0), c.table(1));
            let sum = |name: &String| {
                get(&first, name).unwrap_or(c.a()) + get(&second, name).unwrap_or(c.b())
            };
            let names = first.iter().chain(&second).map(|(name, _)| name);
            Some(names.map(|name| (name.clone(), sum(name))).collect())
        },
    },
    Family {
        name: "name_of_extreme",
        only: None,
        arguments: &[("table", Shape::Table)],
        parameters: &[
            Choice(&[("largest", "max"), ("smallest", "min")]),
            Word(&["!", "?", "s", "_1", "..."]),
        ],
        told: "Return the name with the $a value, followed by '$b'.",
        body: &["return $a(table, key=table.get) + '$b'"],
        solve: |c| {
            let table = c.table(0);
            let values = table.iter().map(|(_, v)| *v);
            let extreme = if c.a() == 0 { values.max() } else { values.min() }?;
            let mut with = table.iter().filter(|(_, v)| *v == extreme);
            let name = &with.next()?.0;
            // The docstring does not say which of several.
            with.next().is_none().then(|| Value::from(format!("{name}{}", c.word(1))))
        },
    },
    Family {
        name: "group_words",
        only: Some(Part::Test),
        arguments: &[("words", Shape::Words)],
        parameters: &[Number(2, 5), Choice(&[("first", "0"), ("last", "-1")])],
        told: "Return lists of the words of more than $a letters, by their $b letter.",
        body: &[
            "groups = {}",
            "for word in words:",
            "    if len(word) > $a:",
            "        groups.setdefault(word[$b], []).append(word)",
            "return groups",
        ],
        solve: |c| {
            let mut groups: BTreeMap<String, Vec<&str>> = BTreeMap::new();
            for word in c.words(0).into_iter().filter(|word| whole(word.len()) > c.a()) {
                let letter = if c.b() == 0 { word.get(..1) } else { word.get(word.len() - 1..) };
                groups.entry(letter?.to_owned()).or_default().push(word);
            }
            Some(groups.into_iter().collect())
        },
    },
    Family {
        name: "has_names",
        only: None,
        arguments: &[("table", Shape::Table)],
        parameters: &[
            Word(&["apple", "bread", "cheese", "egg"]),
            Word(&["fig", "lemon", "rice", "salt"]),
            Choice(&[("both", "and"), ("one of", "or")]),
        ],
        told: "Return whether $c '$a' and '$b' are in the table.",
        body: &["return '$a' in table $c '$b' in table"],
        solve: |c| {
            let has = |name| get(&c.table(0), name).is_some();
            let (first, second) = (has(c.word(0)), has(c.word(1)));
            value(if c.word(2) == "and" { first && second } else { first || second })
        },
    },
    Family {
        name: "set_value",
        only: None,
        arguments: &[("table", Shape::Table)],
        parameters: &[Word(&NAMES), Number(1, 9)],
        told: "Return the table with $b as the value of '$a'.",
        body: &["return {**table, '$a': $b}"],
        solve: |c| {
            let set = std::iter::once((c.word(0).to_owned(), c.b()));
            Some(c.table(0).into_iter().chain(set).collect())
        },
    },
    Family {
        name: "without_name",
        only: None,
        arguments: &[("table", Shape::Table)],
        parameters: &[Word(&NAMES), Number(3, 12)],
        told: "Return the table without '$a' and without values below $b.",
        body: &["return {k: v for k, v in table.items() if k != '$a' and v >= $b}"],
        solve: |c| {
            let is_kept = |(k, v): &(String, i64)| k != c.word(0) && *v >= c.b();
            Some(c.table(0).into_iter().filter(is_kept).collect())
        },
    },
    Family {
        name: "sum_of_named",
        only: None,
        arguments: &[("table", Shape::Table), ("words", Shape::Names)],
        parameters: &[Number(1, 12)],
        told: "Return the sum of the values of the words, where a word that is not in the table counts $a.",
        body: &["return sum(table.get(word, $a) for word in words)"],
        solve: |c| {
            let table = c.table(0);
            value(c.words(1).iter().map(|word| get(&table, word).unwrap_or(c.a())).sum::<i64>())
        },
    },
    Family {
        name: "count_letters",
        only: None,
        arguments: &[("text", Shape::Text)],
        parameters: &[Word(&SETS), Number(1, 3)],
        told: "Return a table of the letters of '$a' with $b for each time that they occur in the text.",
        body: &["return {c: $b * text.count(c) for c in '$a'}"],
        solve: |c| {
            let count = |letter: char| c.b() * whole(c.text(0).matches(letter).count());
            Some(c.word(0).chars().map(|letter| (letter.to_string(), count(letter))).collect())
        },
    },
    Family {
        name: "sorted_values",
        only: None,
        arguments: &[("table", Shape::Table)],
        parameters: &[Choice(&[("largest", "True"), ("smallest", "False")]), Number(0, 9)],
        told: "Return the values plus $b, $a first.",
        body: &["return sorted((v + $b for v in table.values()), reverse=$a)"],
        solve: |c| {
            let mut values: Vec<i64> = c.table(0).into_iter().map(|(_, v)| v + c.b()).collect();
            values.sort_unstable();
            if c.a() == 0 {
                values.reverse();
            }
            value(values)
        },
    },
    Family {
        name: "shared_total",
        only: None,
        arguments: &[("table", Shape::Table)],
        parameters: &[Number(2, 9), Number(0, 3)],
        told: "Return how much each of $a people gets if they share the sum of the values and $b is lost first; only whole parts count.",
        body: &["return max(sum(table.values()) - $b, 0) // $a"],
        solve: |c| {
            let sum: i64 = c.table(0).iter().map(|(_, v)| v).sum();
            value((sum - c.b()).max(0) / c.a())
        },
    },
    Family {
        name: "stock_after",
        only: Some(Part::Dev),
        arguments: &[("table", Shape::Table)],
        parameters: &[Number(1, 14)],
        told: "Return the table after $a of each were taken; what would not be above 0 is left out.",
        body: &["return {k: v - $a for k, v in table.items() if v > $a}"],
        solve: |c| {
            let left = c.table(0).into_iter().filter(|(_, v)| *v > c.a());
            Some(left.map(|(k, v)| (k, v - c.a())).collect())
        },
    },
    Family {
        name: "add_words",
        only: None,
        arguments: &[("table", Shape::Table), ("words", Shape::Names)],
        parameters: &[Number(1, 5), Number(0, 5)],
        told: "Return the table with $a added for each of the words; new ones begin at $b.",
        body: &["for word in words:", "    table[word] = table.get(word, $b) + $a", "return table"],
        solve: |c| {
            let mut table: BTreeMap<String, i64> = c.table(0).into_iter().collect();
            for word in c.words(1) {
                *table.entry(word.to_owned()).or_insert(c.b()) += c.a();
            }
            Some(table.into_iter().collect())
        },
    },
    Family {
        name: "total_compared",
        only: None,
        arguments: &[("table", Shape::Table)],
        parameters: &[Choice(SIDES), Number(18, 40)],
        told: "Return whether the sum of the values is $a $b.",
        body: &["return sum(table.values()) $a $b"],
        solve: |c| {
            let sum = c.table(0).iter().map(|(_, v)| v).sum();
            value(compare(sum, c.word(0), c.b()))
        },
    },
];

fn get(table: &[(String, i64)], name: &str) -> Option<i64> {
    table.iter().find(|(key, _)| key == name).map(|(_, value)| *value)
}

fn counts(words: &[&str]) -> BTreeMap<String, i64> {
    let mut counts = BTreeMap::new();
    for word in words {
        *counts.entry((*word).to_owned()).or_insert(0) += 1;
    }
    counts
}
