//! How many there are.

use super::numbers::{choose, count, divisor_count, factored, factors, gcd, lcm, square_root};
use super::template::{Template, Worked};

/// The number of ways to write `sum` as `parts` numbers from 0, in order.
fn compositions(sum: i64, parts: i64) -> i64 {
    if parts == 1 { 1 } else { (0..=sum).map(|first| compositions(sum - first, parts - 1)).sum() }
}

/// The number of paths of steps right and up from (0, 0) to (a, b) that miss the point `without`.
fn paths(a: i64, b: i64, without: Option<(i64, i64)>) -> i64 {
    if a < 0 || b < 0 || without == Some((a, b)) {
        0
    } else if (a, b) == (0, 0) {
        1
    } else {
        paths(a - 1, b, without) + paths(a, b - 1, without)
    }
}

/// The number of subsets of `n` things with `k` members, one thing after the other.
fn subsets(n: i64, k: i64) -> i64 {
    match (n, k) {
        (_, 0) => 1,
        (0, _) => 0,
        _ => subsets(n - 1, k - 1) + subsets(n - 1, k),
    }
}

/// The number of digits of all numbers from 1 to `n`.
fn digits_up_to(n: i64) -> i64 {
    let (mut digits, mut least, mut length) = (0, 1, 1);
    while least <= n {
        digits += length * (n.min(least * 10 - 1) - least + 1);
        least *= 10;
        length += 1;
    }
    digits
}

pub(super) static TEMPLATES: [Template; 13] = [
    Template {
        name: "multiples_of_either",
        tiny: &[(20, 99), (2, 9), (3, 10)],
        full: &[(200, 1900), (3, 40), (4, 50)],
        accepts: |p| p[1] < p[2] && p[2] % p[1] != 0,
        ask: |p| {
            format!("How many whole numbers from 1 to {} does {} or {} divide?", p[0], p[1], p[2])
        },
        solve: |p| {
            let both = lcm(p[1], p[2]);
            let (a, b, c) = (p[0] / p[1], p[0] / p[2], p[0] / both);
            let steps = format!(
                "{} divides {a} of them, {} divides {b}, and both divide {c}. {a} + {b} - {c} = {}.",
                p[1],
                p[2],
                a + b - c
            );
            Worked::new(a + b - c, steps)
        },
        brute: |p| count(1..=p[0], |n| n % p[1] == 0 || n % p[2] == 0),
    },
    Template {
        name: "multiples_of_neither",
        tiny: &[(20, 99), (2, 9), (3, 10)],
        full: &[(200, 1500), (3, 40), (4, 50)],
        accepts: |p| p[1] < p[2] && p[2] % p[1] != 0,
        ask: |p| {
            format!(
                "How many whole numbers from 1 to {} does neither {} nor {} divide?",
                p[0], p[1], p[2]
            )
        },
        solve: |p| {
            let either = p[0] / p[1] + p[0] / p[2] - p[0] / lcm(p[1], p[2]);
            let left = p[0] - either;
            let steps = format!(
                "{} or {} divides {either} of them. {} - {either} = {left}.",
                p[1], p[2], p[0]
            );
            Worked::new(left, steps)
        },
        brute: |p| count(1..=p[0], |n| n % p[1] != 0 && n % p[2] != 0),
    },
    Template {
        name: "committees",
        tiny: &[(3, 7), (2, 3), (3, 7), (1, 2)],
        full: &[(4, 12), (2, 4), (4, 12), (1, 3)],
        accepts: |p| p[1] < p[0] && p[3] < p[2] && choose(p[0], p[1]) * choose(p[2], p[3]) < 1000,
        ask: |p| {
            format!(
                "In how many ways can {} of {} women and {} of {} men be chosen?",
                p[1], p[0], p[3], p[2]
            )
        },
        solve: |p| {
            let (women, men) = (choose(p[0], p[1]), choose(p[2], p[3]));
            let steps = format!(
                "There are {women} ways for the women and {men} for the men. {women} * {men} = {}.",
                women * men
            );
            Worked::new(women * men, steps)
        },
        brute: |p| subsets(p[0], p[1]) * subsets(p[2], p[3]),
    },
    Template {
        name: "paths",
        tiny: &[(2, 5), (2, 5), (1, 4), (1, 4)],
        full: &[(3, 8), (3, 8), (1, 7), (1, 7)],
        accepts: |p| p[2] < p[0] && p[3] < p[1] && choose(p[0] + p[1], p[0]) < 1000,
        ask: |p| {
            format!(
                "A path goes from (0, 0) to ({}, {}) in steps of length 1 to the right or up. How many \
                 such paths miss the point ({}, {})?",
                p[0], p[1], p[2], p[3]
            )
        },
        solve: |p| {
            let all = choose(p[0] + p[1], p[0]);
            let (to, from) =
                (choose(p[2] + p[3], p[2]), choose(p[0] + p[1] - p[2] - p[3], p[0] - p[2]));
            let steps = format!(
                "There are {all} paths. {to} * {from} = {} go through the point. {all} - {} = {}.",
                to * from,
                to * from,
                all - to * from
            );
            Worked::new(all - to * from, steps)
        },
        brute: |p| paths(p[0], p[1], Some((p[2], p[3]))),
    },
    Template {
        name: "sums",
        tiny: &[(3, 12), (2, 4)],
        full: &[(5, 30), (2, 6)],
        accepts: |p| choose(p[0] + p[1] - 1, p[1] - 1) < 1000,
        ask: |p| {
            format!(
                "In how many ways is {} a sum of {} whole numbers from 0, if their order counts?",
                p[0], p[1]
            )
        },
        solve: |p| {
            let (n, k) = (p[0] + p[1] - 1, p[1] - 1);
            Worked::new(choose(n, k), format!("C({n}, {k}) = {}.", choose(n, k)))
        },
        brute: |p| compositions(p[0], p[1]),
    },
    Template {
        name: "sums_with_least_parts",
        tiny: &[(6, 18), (1, 4), (1, 4), (0, 3)],
        full: &[(15, 55), (1, 9), (1, 9), (0, 9)],
        accepts: |p| p[0] > p[1] + p[2] + p[3],
        ask: |p| {
            format!(
                "How many triples of whole numbers x, y, z with x at least {}, y at least {} and z at \
                 least {} have the sum {}?",
                p[1], p[2], p[3], p[0]
            )
        },
        solve: |p| {
            let left = p[0] - p[1] - p[2] - p[3];
            let all = choose(left + 2, 2);
            let steps = format!("{left} is left to share. C({}, 2) = {all}.", left + 2);
            Worked::new(all, steps)
        },
        brute: |p| {
            let of = |x| count(p[2]..=p[0], |y| p[0] - x - y >= p[3]);
            (p[1]..=p[0]).map(of).sum()
        },
    },
    Template {
        name: "divisors",
        tiny: &[(12, 600)],
        full: &[(600, 99_999)],
        accepts: |p| divisor_count(p[0]) > 3,
        ask: |p| format!("How many positive divisors does {} have?", p[0]),
        solve: |p| {
            let terms: Vec<String> =
                factors(p[0]).iter().map(|(_, exponent)| (exponent + 1).to_string()).collect();
            let answer = divisor_count(p[0]);
            let steps = format!("{} = {}. {} = {answer}.", p[0], factored(p[0]), terms.join(" * "));
            Worked::new(answer, steps)
        },
        brute: |p| count(1..=p[0], |d| p[0] % d == 0),
    },
    Template {
        name: "divisor_sum",
        tiny: &[(12, 200)],
        full: &[(100, 600)],
        accepts: |p| divisor_count(p[0]) > 3,
        ask: |p| format!("What is the sum of all positive divisors of {}?", p[0]),
        solve: |p| {
            let term =
                |&(prime, exponent): &(i64, i64)| (0..=exponent).fold(0, |sum, _| sum * prime + 1);
            let terms: Vec<i64> = factors(p[0]).iter().map(term).collect();
            let answer = terms.iter().product();
            let terms: Vec<String> = terms.iter().map(i64::to_string).collect();
            let steps = format!("{} = {}. {} = {answer}.", p[0], factored(p[0]), terms.join(" * "));
            Worked::new(answer, steps)
        },
        brute: |p| (1..=p[0]).filter(|d| p[0] % d == 0).sum(),
    },
    Template {
        name: "coprime",
        tiny: &[(10, 300)],
        full: &[(200, 1500)],
        accepts: |p| factors(p[0]).len() > 1,
        ask: |p| {
            format!(
                "How many whole numbers from 1 to {} have no common factor with {}?",
                p[0], p[0]
            )
        },
        solve: |p| {
            let answer =
                factors(p[0]).iter().fold(p[0], |left, (prime, _)| left / prime * (prime - 1));
            let shares: Vec<String> =
                factors(p[0]).iter().map(|(prime, _)| format!("{} / {prime}", prime - 1)).collect();
            let steps = format!(
                "{} = {}. {} * {} = {answer}.",
                p[0],
                factored(p[0]),
                p[0],
                shares.join(" * ")
            );
            Worked::new(answer, steps)
        },
        brute: |p| count(1..=p[0], |n| gcd(n, p[0]) == 1),
    },
    Template {
        name: "squares_between",
        tiny: &[(2, 60), (70, 400)],
        full: &[(100, 9999), (10_000, 900_000)],
        accepts: |_| true,
        ask: |p| format!("How many square numbers lie from {} to {}?", p[0], p[1]),
        solve: |p| {
            let (first, last) = (square_root(p[0] - 1) + 1, square_root(p[1]));
            let steps = format!(
                "The first is {first}^2 = {} and the last is {last}^2 = {}. {last} - {first} + 1 = {}.",
                first * first,
                last * last,
                last - first + 1
            );
            Worked::new(last - first + 1, steps)
        },
        brute: |p| count(1..=1000, |n| (p[0]..=p[1]).contains(&(n * n))),
    },
    Template {
        name: "rectangles",
        tiny: &[(2, 7), (2, 7), (1, 3)],
        full: &[(3, 12), (3, 12), (1, 5)],
        accepts: |p| p[0] <= p[1] && p[2] <= p[0],
        ask: |p| {
            format!(
                "A grid has {} rows and {} columns of squares. How many rectangles along its lines have \
                 at least {} rows?",
                p[0], p[1], p[2]
            )
        },
        solve: |p| {
            let tall = (p[0] - p[2] + 1) * (p[0] - p[2] + 2) / 2;
            let wide = p[1] * (p[1] + 1) / 2;
            let steps = format!(
                "There are {tall} choices of rows and {wide} of columns. {tall} * {wide} = {}.",
                tall * wide
            );
            Worked::new(tall * wide, steps)
        },
        brute: |p| {
            let spans = |lines: i64, least: i64| -> i64 {
                (0..=lines).map(|top| count(top + 1..=lines, |end| end - top >= least)).sum()
            };
            spans(p[0], p[2]) * spans(p[1], 1)
        },
    },
    Template {
        name: "pairs_of_groups",
        tiny: &[(2, 12), (2, 12), (2, 12)],
        full: &[(5, 25), (5, 25), (5, 25)],
        accepts: |p| p[0] < p[1] && p[1] < p[2],
        ask: |p| {
            format!(
                "Three clubs have {}, {} and {} members. How many pairs of members are of different \
                 clubs?",
                p[0], p[1], p[2]
            )
        },
        solve: |p| {
            let (ab, ac, bc) = (p[0] * p[1], p[0] * p[2], p[1] * p[2]);
            let sum = ab + ac + bc;
            Worked::new(sum, format!("{ab} + {ac} + {bc} = {sum}."))
        },
        brute: |p| {
            let club = |member: i64| i64::from(member >= p[0]) + i64::from(member >= p[0] + p[1]);
            let all: i64 = p.iter().sum();
            (0..all).map(|a| count(a + 1..all, |b| club(a) != club(b))).sum()
        },
    },
    Template {
        name: "page_digits",
        tiny: &[(1, 60), (70, 200)],
        full: &[(1, 150), (160, 420)],
        accepts: |_| true,
        ask: |p| {
            format!(
                "The pages of a book are numbered from {} to {}. How many digits are printed?",
                p[0], p[1]
            )
        },
        solve: |p| {
            let (all, before) = (digits_up_to(p[1]), digits_up_to(p[0] - 1));
            let steps = format!(
                "Up to {} there are {all} digits, before {} there are {before}. {all} - {before} = {}.",
                p[1],
                p[0],
                all - before
            );
            Worked::new(all - before, steps)
        },
        brute: |p| (p[0]..=p[1]).map(|n| i64::from(n.ilog10()) + 1).sum(),
    },
];
