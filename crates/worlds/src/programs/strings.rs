//! Families over texts. All letters are ASCII and in lower case.

use super::family::Parameter::{Choice, Number, Word};
use super::family::{Family, Shape, value};
use super::value::whole;
use crate::part::Part;

const LETTERS: [&str; 12] = ["a", "b", "d", "e", "i", "l", "n", "o", "r", "s", "t", "w"];
const VOWELS: [&str; 5] = ["a", "e", "i", "o", "u"];
const CONSONANTS: [&str; 6] = ["d", "l", "n", "r", "s", "t"];
const MARKS: [&str; 6] = ["-", "+", "/", "_", "=", "*"];
const ENDS: [&str; 6] = ["!", "?", ".", "ing", "er", "s"];

pub(super) static FAMILIES: [Family; 21] = [
    Family {
        name: "count_letter",
        only: None,
        arguments: &[("text", Shape::Text)],
        parameters: &[Word(&LETTERS), Number(0, 2)],
        told: "Return how often the letter '$a' occurs in the text, plus $b.",
        body: &["return text.count('$a') + $b"],
        solve: |c| value(whole(c.text(0).matches(c.word(0)).count()) + c.b()),
    },
    Family {
        name: "replace_letter",
        only: None,
        arguments: &[("text", Shape::Text)],
        parameters: &[Word(&VOWELS), Word(&CONSONANTS)],
        told: "Return the text with '$b' in the place of every '$a'.",
        body: &["return text.replace('$a', '$b')"],
        solve: |c| value(c.text(0).replace(c.word(0), c.word(1))),
    },
    Family {
        name: "repeat_word",
        only: None,
        arguments: &[("word", Shape::Word)],
        parameters: &[Number(2, 5), Word(&MARKS)],
        told: "Return the word $a times, with '$b' in between.",
        body: &["return '$b'.join([word] * $a)"],
        solve: |c| value(vec![c.text(0); usize::try_from(c.a()).ok()?].join(c.word(1))),
    },
    Family {
        name: "first_part",
        only: None,
        arguments: &[("text", Shape::Text)],
        parameters: &[Number(1, 6), Word(&ENDS)],
        told: "Return the first $a characters of the text, followed by '$b'.",
        body: &["return text[:$a] + '$b'"],
        solve: |c| {
            let first = usize::try_from(c.a()).ok()?.min(c.text(0).len());
            value(format!("{}{}", &c.text(0)[..first], c.word(1)))
        },
    },
    Family {
        name: "last_part",
        only: None,
        arguments: &[("text", Shape::Text)],
        parameters: &[Number(1, 6), Word(&MARKS)],
        told: "Return '$b' and then the last $a characters of the text.",
        body: &["return '$b' + text[-$a:]"],
        solve: |c| {
            let from = c.text(0).len().saturating_sub(usize::try_from(c.a()).ok()?);
            value(format!("{}{}", c.word(1), &c.text(0)[from..]))
        },
    },
    Family {
        name: "count_words_by_length",
        only: None,
        arguments: &[("text", Shape::Text)],
        parameters: &[Choice(&[("more", ">"), ("fewer", "<")]), Number(2, 6)],
        told: "Return how many words of the text have $a than $b letters.",
        body: &["return sum(1 for word in text.split() if len(word) $a $b)"],
        solve: |c| {
            let is_counted = |word: &&str| compare(length(word), c.word(0), c.b());
            value(c.text(0).split_whitespace().filter(is_counted).count())
        },
    },
    Family {
        name: "wrap",
        only: None,
        arguments: &[("text", Shape::Text)],
        parameters: &[Word(&["(", "[", "<", "*", "the "]), Word(&[")", "]", ">", "*", " end"])],
        told: "Return the text with '$a' before it and '$b' behind it.",
        body: &["return '$a' + text + '$b'"],
        solve: |c| value(format!("{}{}{}", c.word(0), c.text(0), c.word(1))),
    },
    Family {
        name: "every_letter",
        only: None,
        arguments: &[("text", Shape::Text)],
        parameters: &[Number(2, 5), Number(0, 4)],
        told: "Return the characters of the text at index $b and every $a places after it.",
        body: &["return text[$b::$a]"],
        solve: |c| {
            let (step, from) = (usize::try_from(c.a()).ok()?, usize::try_from(c.b()).ok()?);
            value(c.text(0).chars().skip(from).step_by(step).collect::<String>())
        },
    },
    Family {
        name: "has_letter_at_end",
        only: None,
        arguments: &[("text", Shape::Text)],
        parameters: &[
            Word(&["a", "b", "e", "i", "l", "n", "o", "r", "s", "t", "w"]),
            Choice(&[("begins", "startswith"), ("ends", "endswith")]),
        ],
        told: "Return whether the text $b with '$a'.",
        body: &["return text.$b('$a')"],
        solve: |c| {
            let is_start = c.b() == 0;
            let (text, letter) = (c.text(0), c.word(0));
            value(if is_start { text.starts_with(letter) } else { text.ends_with(letter) })
        },
    },
    Family {
        name: "word_at",
        only: Some(Part::Test),
        arguments: &[("text", Shape::Text)],
        parameters: &[Number(0, 3), Word(&["none", "nothing", "empty", "missing"])],
        told: "Return the word of the text at index $a, or '$b' if there are not as many.",
        body: &[
            "words = text.split()",
            "if len(words) > $a:",
            "    return words[$a]",
            "return '$b'",
        ],
        solve: |c| {
            let found = c.text(0).split_whitespace().nth(usize::try_from(c.a()).ok()?);
            value(found.unwrap_or(c.word(1)))
        },
    },
    Family {
        name: "join_words",
        only: None,
        arguments: &[("text", Shape::Text)],
        parameters: &[Word(&MARKS), Choice(&[("", ""), (" in capitals", ".upper()")])],
        told: "Return the words of the text$b, with '$a' in between.",
        body: &["return '$a'.join(text.split())$b"],
        solve: |c| {
            let joined = c.text(0).split_whitespace().collect::<Vec<_>>().join(c.word(0));
            value(if c.b() == 0 { joined } else { joined.to_uppercase() })
        },
    },
    Family {
        name: "count_words_with",
        only: None,
        arguments: &[("text", Shape::Text)],
        parameters: &[Word(&LETTERS), Choice(&[("", ""), (" no", " not")])],
        told: "Return how many words of the text have$b '$a' in them.",
        body: &["return sum(1 for word in text.split() if '$a'$b in word)"],
        solve: |c| {
            let is_counted = |word: &&str| word.contains(c.word(0)) == (c.b() == 0);
            value(c.text(0).split_whitespace().filter(is_counted).count())
        },
    },
    Family {
        name: "drop_words",
        only: None,
        arguments: &[("text", Shape::Text)],
        parameters: &[
            Choice(&[("exactly", "!="), ("more than", "<="), ("fewer than", ">=")]),
            Number(3, 6),
        ],
        told: "Return the text without the words of $a $b letters.",
        body: &["return ' '.join(word for word in text.split() if len(word) $a $b)"],
        solve: |c| {
            let is_kept = |word: &&str| compare(length(word), c.word(0), c.b());
            value(c.text(0).split_whitespace().filter(is_kept).collect::<Vec<_>>().join(" "))
        },
    },
    Family {
        name: "shift_letters",
        only: Some(Part::Test),
        arguments: &[("word", Shape::Word)],
        parameters: &[Number(1, 25)],
        told: "Return the word with each letter moved $a places on in the alphabet, with 'a' after 'z'.",
        body: &["return ''.join(chr((ord(c) - 97 + $a) % 26 + 97) for c in word)"],
        solve: |c| {
            let by = u8::try_from(c.a()).ok()?;
            let moved = |letter: u8| char::from((letter - b'a' + by) % 26 + b'a');
            value(c.text(0).bytes().map(moved).collect::<String>())
        },
    },
    Family {
        name: "pad",
        only: None,
        arguments: &[("word", Shape::Word)],
        parameters: &[
            Number(4, 9),
            Word(&["-", ".", "0", "*"]),
            Choice(&[("behind", "ljust"), ("before", "rjust")]),
        ],
        told: "Return the word with as many '$b' $c it as it needs to have $a characters.",
        body: &["return word.$c($a, '$b')"],
        solve: |c| {
            let missing = usize::try_from(c.a()).ok()?.saturating_sub(c.text(0).len());
            let (word, padding) = (c.text(0), c.word(1).repeat(missing));
            let is_behind = c.word(2) == "ljust";
            value(if is_behind { format!("{word}{padding}") } else { format!("{padding}{word}") })
        },
    },
    Family {
        name: "position_of",
        only: None,
        arguments: &[("text", Shape::Text)],
        parameters: &[
            Word(&LETTERS),
            Choice(&[("first", "find"), ("last", "rfind")]),
            Number(1, 2),
        ],
        told: "Return the position of the $b '$a' in the text, counted from $c; 0 if there is none.",
        body: &["index = text.$b('$a')", "return 0 if index < 0 else index + $c"],
        solve: |c| {
            let text = c.text(0);
            let found = if c.b() == 0 { text.find(c.word(0)) } else { text.rfind(c.word(0)) };
            value(found.map_or(0, |index| whole(index) + c.parameters[2]))
        },
    },
    Family {
        name: "reverse_with",
        only: None,
        arguments: &[("text", Shape::Text)],
        parameters: &[Number(1, 3), Word(&MARKS)],
        told: "Return the text backwards, $a times, followed by '$b'.",
        body: &["return text[::-1] * $a + '$b'"],
        solve: |c| {
            let back: String = c.text(0).chars().rev().collect();
            value(back.repeat(usize::try_from(c.a()).ok()?) + c.word(1))
        },
    },
    Family {
        name: "vowels_compared",
        only: None,
        arguments: &[("text", Shape::Text)],
        parameters: &[Choice(&[("more", ">"), ("fewer", "<")]), Number(2, 7)],
        told: "Return whether the text has $a than $b vowels.",
        body: &["return sum(c in 'aeiou' for c in text) $a $b"],
        solve: |c| {
            let vowels = c.text(0).chars().filter(|&letter| "aeiou".contains(letter)).count();
            value(compare(whole(vowels), c.word(0), c.b()))
        },
    },
    Family {
        name: "keep_letters",
        only: None,
        arguments: &[("text", Shape::Text)],
        parameters: &[
            Word(&["aeiou", "abcde", "rst", "lmn", "nest", "wind"]),
            Choice(&[("of", "in"), ("but", "not in")]),
        ],
        told: "Return what is left of the text if all characters $b '$a' are kept.",
        body: &["return ''.join(c for c in text if c $b '$a')"],
        solve: |c| {
            let is_kept = |letter: &char| c.word(0).contains(*letter) == (c.b() == 0);
            value(c.text(0).chars().filter(is_kept).collect::<String>())
        },
    },
    Family {
        name: "weighted_length",
        only: Some(Part::Dev),
        arguments: &[("text", Shape::Text)],
        parameters: &[Number(2, 12)],
        told: "Return the length of the text, in which each blank counts $a.",
        body: &["blanks = text.count(' ')", "return len(text) - blanks + $a * blanks"],
        solve: |c| {
            let blanks = whole(c.text(0).matches(' ').count());
            value(length(c.text(0)) - blanks + c.a() * blanks)
        },
    },
    Family {
        name: "initials",
        only: None,
        arguments: &[("text", Shape::Text)],
        parameters: &[Word(&MARKS), Choice(&[("first", "0"), ("last", "-1")])],
        told: "Return the $b letters of all words of the text, with '$a' in between.",
        body: &["return '$a'.join(word[$b] for word in text.split())"],
        solve: |c| {
            let words = c.text(0).split_whitespace();
            let letter = |word: &str| {
                let mut letters = word.chars();
                if c.b() == 0 { letters.next() } else { letters.next_back() }
            };
            let letters: Vec<String> = words.filter_map(letter).map(String::from).collect();
            value(letters.join(c.word(0)))
        },
    },
];

fn length(text: &str) -> i64 {
    whole(text.len())
}

/// Compares as the operator of Python does.
pub(super) fn compare(left: i64, operator: &str, right: i64) -> bool {
    match operator {
        ">" => left > right,
        "<" => left < right,
        ">=" => left >= right,
        "<=" => left <= right,
        "!=" => left != right,
        other => unreachable!("no family compares by {other}"),
    }
}
