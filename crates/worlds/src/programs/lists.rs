//! Families over lists.

use super::family::Parameter::{Choice, Number, Word};
use super::family::{Call, Family, Shape, value};
use super::strings::compare;
use super::value::whole;
use crate::part::Part;

const SIDES: &[(&str, &str)] = &[("above", ">"), ("below", "<")];

pub(super) static FAMILIES: [Family; 22] = [
    Family {
        name: "count_multiples",
        only: None,
        arguments: &[("numbers", Shape::Counts)],
        parameters: &[Number(2, 12)],
        told: "Return how many of the numbers are multiples of $a.",
        body: &["return sum(1 for n in numbers if n % $a == 0)"],
        solve: |c| value(c.numbers(0).iter().filter(|&n| n % c.a() == 0).count()),
    },
    Family {
        name: "sum_of_some",
        only: None,
        arguments: &[("numbers", Shape::Numbers)],
        parameters: &[Choice(SIDES), Number(0, 12)],
        told: "Return the sum of the numbers that are $a $b.",
        body: &["return sum(n for n in numbers if n $a $b)"],
        solve: |c| value(some(c, 1).iter().sum::<i64>()),
    },
    Family {
        name: "change_each",
        only: None,
        arguments: &[("numbers", Shape::Numbers)],
        parameters: &[Choice(&[("plus", "+"), ("minus", "-"), ("times", "*")]), Number(2, 9)],
        told: "Return the numbers, each $a $b.",
        body: &["return [n $a $b for n in numbers]"],
        solve: |c| {
            let change = |n: i64| match c.word(0) {
                "+" => n + c.b(),
                "-" => n - c.b(),
                _ => n * c.b(),
            };
            value(c.numbers(0).into_iter().map(change).collect::<Vec<_>>())
        },
    },
    Family {
        name: "every_number",
        only: None,
        arguments: &[("numbers", Shape::Numbers)],
        parameters: &[Number(2, 4), Number(0, 2)],
        told: "Return the numbers at index $b and every $a places after it.",
        body: &["return numbers[$b::$a]"],
        solve: |c| {
            let (step, from) = (usize::try_from(c.a()).ok()?, usize::try_from(c.b()).ok()?);
            value(c.numbers(0).into_iter().skip(from).step_by(step).collect::<Vec<_>>())
        },
    },
    Family {
        name: "sum_of_extremes",
        only: None,
        arguments: &[("numbers", Shape::Numbers)],
        parameters: &[
            Number(1, 4),
            Choice(&[("largest", "True"), ("smallest", "False")]),
            Number(0, 3),
        ],
        told: "Return the sum of the $a $b numbers (of all if there are fewer), plus $c.",
        body: &["return sum(sorted(numbers, reverse=$b)[:$a]) + $c"],
        solve: |c| {
            let mut numbers = c.numbers(0);
            numbers.sort_unstable();
            if c.b() == 0 {
                numbers.reverse();
            }
            let count = usize::try_from(c.a()).ok()?;
            value(numbers.iter().take(count).sum::<i64>() + c.parameters[2])
        },
    },
    Family {
        name: "rotate",
        only: Some(Part::Test),
        arguments: &[("numbers", Shape::Counts)],
        parameters: &[Number(1, 4), Choice(&[("first", ""), ("last", "-")])],
        told: "Return the two parts of the list the other way round, cut at the $a $b numbers.",
        body: &["return numbers[$b$a:] + numbers[:$b$a]"],
        solve: |c| {
            let numbers = c.numbers(0);
            let count = usize::try_from(c.a()).ok()?;
            let cut = if c.b() == 0 {
                count.min(numbers.len())
            } else {
                numbers.len().saturating_sub(count)
            };
            value([&numbers[cut..], &numbers[..cut]].concat())
        },
    },
    Family {
        name: "remove_value",
        only: None,
        arguments: &[("numbers", Shape::Counts)],
        parameters: &[Number(0, 14)],
        told: "Return the numbers without those that are $a.",
        body: &["return [n for n in numbers if n != $a]"],
        solve: |c| value(c.numbers(0).into_iter().filter(|&n| n != c.a()).collect::<Vec<_>>()),
    },
    Family {
        name: "index_of_first",
        only: None,
        arguments: &[("numbers", Shape::Numbers)],
        parameters: &[Choice(SIDES), Number(0, 12)],
        told: "Return the index of the first number $a $b, or -1 if there is none.",
        body: &[
            "for i, n in enumerate(numbers):",
            "    if n $a $b:",
            "        return i",
            "return -1",
        ],
        solve: |c| {
            let found = c.numbers(0).iter().position(|&n| compare(n, c.word(0), c.b()));
            value(found.map_or(-1, whole))
        },
    },
    Family {
        name: "pairs_with_sum",
        only: Some(Part::Test),
        arguments: &[("numbers", Shape::Counts)],
        parameters: &[Number(8, 24)],
        told: "Return how many pairs of the numbers have the sum $a.",
        body: &[
            "count = 0",
            "for i, x in enumerate(numbers):",
            "    count += sum(1 for y in numbers[i + 1:] if x + y == $a)",
            "return count",
        ],
        solve: |c| {
            let numbers = c.numbers(0);
            let pairs = numbers
                .iter()
                .enumerate()
                .flat_map(|(i, x)| numbers[i + 1..].iter().map(move |y| x + y));
            value(pairs.filter(|&sum| sum == c.a()).count())
        },
    },
    Family {
        name: "running_totals",
        only: None,
        arguments: &[("numbers", Shape::Counts)],
        parameters: &[Number(0, 14)],
        told: "Return the totals after each of the numbers, beginning from $a.",
        body: &[
            "total = $a",
            "totals = []",
            "for n in numbers:",
            "    total += n",
            "    totals.append(total)",
            "return totals",
        ],
        solve: |c| {
            let mut total = c.a();
            let after = |n: i64| {
                total += n;
                total
            };
            value(c.numbers(0).into_iter().map(after).collect::<Vec<_>>())
        },
    },
    Family {
        name: "limit_each",
        only: None,
        arguments: &[("numbers", Shape::Numbers)],
        parameters: &[Choice(&[("most", "min"), ("least", "max")]), Number(0, 12)],
        told: "Return the numbers, each at $a $b.",
        body: &["return [$a(n, $b) for n in numbers]"],
        solve: |c| {
            let limit = |n: i64| if c.a() == 0 { n.min(c.b()) } else { n.max(c.b()) };
            value(c.numbers(0).into_iter().map(limit).collect::<Vec<_>>())
        },
    },
    Family {
        name: "sums_of_groups",
        only: None,
        arguments: &[("numbers", Shape::Counts)],
        parameters: &[Number(2, 4), Number(0, 5)],
        told: "Return the sums of groups of $a numbers in a row, each plus $b; the last may be smaller.",
        body: &["return [sum(numbers[i:i + $a]) + $b for i in range(0, len(numbers), $a)]"],
        solve: |c| {
            let numbers = c.numbers(0);
            let groups = numbers.chunks(usize::try_from(c.a()).ok()?);
            value(groups.map(|group| group.iter().sum::<i64>() + c.b()).collect::<Vec<_>>())
        },
    },
    Family {
        name: "scaled_differences",
        only: None,
        arguments: &[("numbers", Shape::Numbers)],
        parameters: &[Number(2, 14)],
        told: "Return $a times the difference of each number to the one before it.",
        body: &["return [(y - x) * $a for x, y in zip(numbers, numbers[1:])]"],
        solve: |c| {
            let numbers = c.numbers(0);
            value(numbers.windows(2).map(|two| (two[1] - two[0]) * c.a()).collect::<Vec<_>>())
        },
    },
    Family {
        name: "distinct_in_order",
        only: None,
        arguments: &[("numbers", Shape::Numbers)],
        parameters: &[Choice(SIDES), Number(2, 12)],
        told: "Return the different numbers that are $a $b, smallest first.",
        body: &["return sorted(set(n for n in numbers if n $a $b))"],
        solve: |c| {
            let mut kept = some(c, 1);
            kept.sort_unstable();
            kept.dedup();
            value(kept)
        },
    },
    Family {
        name: "put_between",
        only: Some(Part::Dev),
        arguments: &[("numbers", Shape::Counts)],
        parameters: &[Number(0, 15)],
        told: "Return the numbers with $a between each two neighbours.",
        body: &[
            "result = []",
            "for n in numbers:",
            "    if result:",
            "        result.append($a)",
            "    result.append(n)",
            "return result",
        ],
        solve: |c| {
            let mut result = Vec::new();
            for n in c.numbers(0) {
                if !result.is_empty() {
                    result.push(c.a());
                }
                result.push(n);
            }
            value(result)
        },
    },
    Family {
        name: "words_by_length",
        only: None,
        arguments: &[("words", Shape::Words)],
        parameters: &[Choice(&[("more", ">"), ("fewer", "<")]), Number(2, 6)],
        told: "Return the words that have $a than $b letters.",
        body: &["return [word for word in words if len(word) $a $b]"],
        solve: |c| {
            let is_kept = |word: &&str| compare(whole(word.len()), c.word(0), c.b());
            value(c.words(0).into_iter().filter(is_kept).collect::<Vec<_>>())
        },
    },
    Family {
        name: "add_to_words",
        only: None,
        arguments: &[("words", Shape::Words)],
        parameters: &[
            Word(&["s", "er", "!", "?", "ing", "ed"]),
            Choice(&[("", ""), (" in capitals", ".upper()")]),
        ],
        told: "Return the words$b, each followed by '$a'.",
        body: &["return [word$b + '$a' for word in words]"],
        solve: |c| {
            let end = c.word(0);
            let add = |word: &str| match c.b() {
                0 => format!("{word}{end}"),
                _ => format!("{}{end}", word.to_uppercase()),
            };
            value(c.words(0).into_iter().map(add).collect::<Vec<_>>())
        },
    },
    Family {
        name: "count_words_at_end",
        only: None,
        arguments: &[("words", Shape::Words)],
        parameters: &[
            Word(&["b", "d", "e", "l", "n", "r", "s", "t", "w"]),
            Choice(&[("begin", "startswith"), ("end", "endswith")]),
        ],
        told: "Return how many of the words $b with '$a'.",
        body: &["return sum(1 for word in words if word.$b('$a'))"],
        solve: |c| {
            let letter = c.word(0);
            let is_counted = |word: &&str| match c.b() {
                0 => word.starts_with(letter),
                _ => word.ends_with(letter),
            };
            value(c.words(0).into_iter().filter(is_counted).count())
        },
    },
    Family {
        name: "all_within",
        only: None,
        arguments: &[("numbers", Shape::Counts)],
        parameters: &[Number(0, 4), Number(12, 18)],
        told: "Return whether all of the numbers are from $a to $b.",
        body: &["return all($a <= n <= $b for n in numbers)"],
        solve: |c| value(c.numbers(0).iter().all(|&n| c.a() <= n && n <= c.b())),
    },
    Family {
        name: "weighted_sum",
        only: None,
        arguments: &[("numbers", Shape::Counts)],
        parameters: &[Number(1, 6), Number(0, 5)],
        told: "Return $b plus the sum of the numbers times their positions, which count from $a.",
        body: &["return $b + sum(i * n for i, n in enumerate(numbers, $a))"],
        solve: |c| {
            let positions = c.a()..;
            value(c.b() + positions.zip(c.numbers(0)).map(|(i, n)| i * n).sum::<i64>())
        },
    },
    Family {
        name: "swap_values",
        only: None,
        arguments: &[("numbers", Shape::Counts)],
        parameters: &[Number(0, 6), Number(20, 29)],
        told: "Return the numbers with $b in the place of every $a.",
        body: &["return [$b if n == $a else n for n in numbers]"],
        solve: |c| {
            let swap = |n: i64| if n == c.a() { c.b() } else { n };
            value(c.numbers(0).into_iter().map(swap).collect::<Vec<_>>())
        },
    },
    Family {
        name: "range_of",
        only: None,
        arguments: &[("numbers", Shape::Numbers)],
        parameters: &[Number(2, 5), Number(0, 4)],
        told: "Return $a times the distance between the largest and the smallest number, plus $b; 0 without numbers.",
        body: &[
            "if not numbers:",
            "    return 0",
            "return $a * (max(numbers) - min(numbers)) + $b",
        ],
        solve: |c| {
            let numbers = c.numbers(0);
            let ends = numbers.iter().max().zip(numbers.iter().min());
            value(ends.map_or(0, |(max, min)| c.a() * (max - min) + c.b()))
        },
    },
];

/// The numbers on the side that the first parameter says of the limit in the parameter `limit`.
fn some(call: &Call<'_>, limit: usize) -> Vec<i64> {
    let is_kept = |&n: &i64| compare(n, call.word(0), call.parameters[limit]);
    call.numbers(0).into_iter().filter(is_kept).collect()
}
