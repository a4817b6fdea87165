//! Terms and sums of sequences.

use super::numbers::power_mod;
use super::template::{Template, Worked};

/// `n` steps of `x -> a x + b`, one after the other, modulo `m`.
fn iterate([a, b]: [i64; 2], start: i64, n: i64, m: i64) -> i64 {
    (0..n).fold(start % m, |x, _| (a * x + b) % m)
}

/// The pair of Fibonacci numbers F(n), F(n + 1) modulo `m`, by doubling.
fn fibonacci(n: i64, m: i64) -> (i64, i64) {
    if n == 0 {
        return (0, 1 % m);
    }
    let (a, b) = fibonacci(n / 2, m);
    let (double, next) = (a * (2 * b - a).rem_euclid(m) % m, (a * a + b * b) % m);
    if n % 2 == 0 { (double, next) } else { (next, (double + next) % m) }
}

/// The sum of the squares from 1 to `n`.
fn squares_up_to(n: i64) -> i64 {
    n * (n + 1) * (2 * n + 1) / 6
}

pub(super) static TEMPLATES: [Template; 6] = [
    Template {
        name: "arithmetic_sum",
        tiny: &[(1, 20), (2, 9), (3, 9)],
        full: &[(1, 99), (2, 60), (8, 600)],
        accepts: |p| p[0] != p[1],
        ask: |p| {
            format!(
                "A sequence begins with {}, and each term is {} more than the one before. What is the \
                 remainder when the sum of its first {} terms is divided by 1000?",
                p[0], p[1], p[2]
            )
        },
        solve: |p| {
            let last = p[0] + (p[2] - 1) * p[1];
            let double = p[2] * (p[0] + last);
            let steps = format!(
                "The last term is {last}. {} * ({} + {last}) / 2 = {}.",
                p[2],
                p[0],
                double / 2
            );
            Worked::new(double / 2 % 1000, steps)
        },
        brute: |p| (0..p[2]).map(|k| p[0] + k * p[1]).sum::<i64>() % 1000,
    },
    Template {
        name: "linear_recurrence",
        tiny: &[(2, 4), (1, 9), (1, 9), (3, 5)],
        full: &[(2, 9), (1, 99), (1, 99), (50, 999)],
        accepts: |_| true,
        ask: |p| {
            format!(
                "A sequence begins with {}, and each term is {} times the one before plus {}. What is \
                 the remainder when the term {} places after the first is divided by 100?",
                p[2], p[0], p[1], p[3]
            )
        },
        solve: |p| {
            // x_n = a^n x_0 + b (a^n - 1) / (a - 1); the quotient is exact modulo 100 (a - 1).
            let wide = 100 * (p[0] - 1);
            let power = power_mod(p[0], p[3], wide);
            let sum = (power - 1).rem_euclid(wide) / (p[0] - 1);
            let answer = (power * p[2] + p[1] * sum) % 100;
            let power = power % 100;
            let steps = format!(
                "{}^{} = {power} mod 100, and the sum of the powers before it is {} mod 100. {power} * {} \
                 + {} * {} = {}.",
                p[0],
                p[3],
                sum % 100,
                p[2],
                p[1],
                sum % 100,
                power * p[2] + p[1] * (sum % 100)
            );
            Worked::new(answer, steps)
        },
        brute: |p| iterate([p[0], p[1]], p[2], p[3], 100),
    },
    Template {
        name: "fibonacci_like",
        tiny: &[(1, 12), (1, 12), (5, 9)],
        full: &[(1, 99), (1, 99), (50, 999)],
        accepts: |p| p[0] != p[1],
        ask: |p| {
            format!(
                "A sequence begins with {} and {}, and each further term is the sum of the two before. \
                 What is the remainder when its term number {} is divided by 1000?",
                p[0], p[1], p[2]
            )
        },
        solve: |p| {
            // x_n = F(n - 2) a + F(n - 1) b.
            let (first, second) = fibonacci(p[2] - 2, 1000);
            let sum = first * p[0] + second * p[1];
            let steps = format!(
                "It is F({}) * {} + F({}) * {} = {first} * {} + {second} * {} = {sum} mod 1000.",
                p[2] - 2,
                p[0],
                p[2] - 1,
                p[1],
                p[0],
                p[1]
            );
            Worked::new(sum % 1000, steps)
        },
        brute: |p| {
            let end = (1..p[2]).fold((p[0], p[1]), |(a, b), _| (b, (a + b) % 1000));
            end.0 % 1000
        },
    },
    Template {
        name: "geometric_sum",
        tiny: &[(1, 9), (2, 4), (3, 5)],
        full: &[(1, 99), (2, 12), (20, 900)],
        accepts: |_| true,
        ask: |p| {
            format!(
                "A sequence begins with {}, and each term is {} times the one before. What is the \
                 remainder when the sum of its first {} terms is divided by 1000?",
                p[0], p[1], p[2]
            )
        },
        solve: |p| {
            let wide = 1000 * (p[1] - 1);
            let power = power_mod(p[1], p[2], wide);
            let quotient = (power - 1).rem_euclid(wide) / (p[1] - 1);
            let sum = p[0] * quotient;
            let steps = format!(
                "({}^{} - 1) / ({} - 1) = {quotient} mod 1000. {} * {quotient} = {sum}.",
                p[1], p[2], p[1], p[0]
            );
            Worked::new(sum % 1000, steps)
        },
        brute: |p| {
            let step = |(sum, term): (i64, i64), _| ((sum + term) % 1000, term * p[1] % 1000);
            (0..p[2]).fold((0, p[0]), step).0
        },
    },
    Template {
        name: "alternating_sum",
        tiny: &[(1, 20), (2, 9), (4, 15)],
        full: &[(1, 500), (2, 40), (11, 99)],
        accepts: |p| p[2] % 2 == 1,
        ask: |p| {
            format!(
                "Numbers begin with {} and grow by {}. The first is added, the second is taken away, and \
                 so on in turn, {} numbers in all. What comes out?",
                p[0], p[1], p[2]
            )
        },
        solve: |p| {
            let pairs = p[2] / 2;
            let answer = p[0] + pairs * p[1];
            let steps = format!(
                "After the first there are {pairs} pairs, each of {}. {} + {pairs} * {} = {answer}.",
                p[1], p[0], p[1]
            );
            Worked::new(answer, steps)
        },
        brute: |p| (0..p[2]).map(|k| (p[0] + k * p[1]) * if k % 2 == 0 { 1 } else { -1 }).sum(),
    },
    Template {
        name: "sum_of_squares",
        tiny: &[(1, 9), (5, 14)],
        full: &[(1, 99), (100, 999)],
        accepts: |p| p[0] < p[1],
        ask: |p| {
            format!(
                "What is the remainder when the sum of the squares of the numbers from {} to {} is \
                 divided by 1000?",
                p[0], p[1]
            )
        },
        solve: |p| {
            let (all, before) = (squares_up_to(p[1]), squares_up_to(p[0] - 1));
            let steps = format!(
                "Up to {} the sum is {all}, before {} it is {before}. {all} - {before} = {}.",
                p[1],
                p[0],
                all - before
            );
            Worked::new((all - before) % 1000, steps)
        },
        brute: |p| (p[0]..=p[1]).map(|n| n * n).sum::<i64>() % 1000,
    },
];
