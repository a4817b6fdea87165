//! Remainders and digits.

use super::numbers::{gcd, inverse, lcm, power_mod};
use super::template::{Template, Worked};

fn is_prime(n: i64) -> bool {
    n > 1 && (2..n).take_while(|d| d * d <= n).all(|d| n % d != 0)
}

/// `base^exponent mod modulus`, one factor after the other.
fn slow_power(base: i64, exponent: i64, modulus: i64) -> i64 {
    (0..exponent).fold(1 % modulus, |product, _| product * base % modulus)
}

/// The steps of repeated squaring, and its end.
fn squarings(base: i64, exponent: i64, modulus: i64) -> String {
    let mut steps = vec![format!("{base}^1 = {} mod {modulus}", base % modulus)];
    let mut power = 2;
    while power <= exponent {
        steps.push(format!("{base}^{power} = {} mod {modulus}", power_mod(base, power, modulus)));
        power *= 2;
    }
    let result = power_mod(base, exponent, modulus);
    steps.push(format!("{base}^{exponent} = {result} mod {modulus}"));
    steps.dedup();
    steps.join(", ") + "."
}

pub(super) static TEMPLATES: [Template; 9] = [
    Template {
        name: "power_remainder",
        tiny: &[(2, 9), (2, 9), (3, 20)],
        full: &[(2, 99), (10, 500), (7, 999)],
        accepts: |p| p[0] != p[2],
        ask: |p| format!("What is the remainder when {}^{} is divided by {}?", p[0], p[1], p[2]),
        solve: |p| Worked::new(power_mod(p[0], p[1], p[2]), squarings(p[0], p[1], p[2])),
        brute: |p| slow_power(p[0], p[1], p[2]),
    },
    Template {
        name: "product_remainder",
        tiny: &[(11, 40), (11, 40), (3, 12)],
        full: &[(101, 9999), (101, 9999), (11, 999)],
        accepts: |p| p[0] < p[1],
        ask: |p| format!("What is the remainder when {} * {} is divided by {}?", p[0], p[1], p[2]),
        solve: |p| {
            let (a, b) = (p[0] % p[2], p[1] % p[2]);
            let steps =
                format!("{} = {a} and {} = {b} mod {}. {a} * {b} = {}.", p[0], p[1], p[2], a * b);
            Worked::new(a * b % p[2], steps)
        },
        brute: |p| (0..p[1]).fold(0, |sum, _| (sum + p[0]) % p[2]),
    },
    Template {
        name: "last_digits",
        tiny: &[(2, 49), (2, 6)],
        full: &[(3, 999), (10, 999)],
        accepts: |p| p[0] % 10 != 0,
        ask: |p| format!("What are the last two digits of {}^{}, as a number?", p[0], p[1]),
        solve: |p| Worked::new(power_mod(p[0], p[1], 100), squarings(p[0], p[1], 100)),
        brute: |p| slow_power(p[0], p[1], 100),
    },
    Template {
        name: "inverse",
        tiny: &[(2, 30), (5, 31)],
        full: &[(11, 500), (101, 999)],
        accepts: |p| p[0] < p[1] && gcd(p[0], p[1]) == 1,
        ask: |p| {
            format!(
                "What is the least positive x for which {} * x leaves remainder 1 when divided by {}?",
                p[0], p[1]
            )
        },
        solve: |p| {
            let x = inverse(p[0], p[1]);
            let steps =
                format!("{} * {x} = {} = {} * {} + 1.", p[0], p[0] * x, p[1], p[0] * x / p[1]);
            Worked::new(x, steps)
        },
        brute: |p| (1..p[1]).find(|x| p[0] * x % p[1] == 1).unwrap_or(-1),
    },
    Template {
        name: "linear_congruence",
        tiny: &[(2, 9), (1, 12), (7, 19)],
        full: &[(11, 300), (1, 900), (101, 999)],
        accepts: |p| p[1] < p[2] && gcd(p[0], p[2]) == 1,
        ask: |p| {
            format!(
                "What is the least positive x for which {} * x leaves remainder {} when divided by {}?",
                p[0], p[1], p[2]
            )
        },
        solve: |p| {
            let inverse = inverse(p[0], p[2]);
            let x = inverse * p[1] % p[2];
            let steps = format!(
                "{} * {inverse} = 1 mod {}, so x = {inverse} * {} = {x} mod {}.",
                p[0], p[2], p[1], p[2]
            );
            Worked::new(x, steps)
        },
        brute: |p| (1..=p[2]).find(|x| p[0] * x % p[2] == p[1]).unwrap_or(-1),
    },
    Template {
        name: "two_remainders",
        tiny: &[(1, 8), (3, 9), (1, 10), (4, 11)],
        full: &[(1, 30), (11, 31), (1, 32), (12, 33)],
        accepts: |p| p[0] < p[1] && p[2] < p[3] && p[1] < p[3] && gcd(p[1], p[3]) == 1,
        ask: |p| {
            format!(
                "What is the least positive number that leaves remainder {} when divided by {} and \
                 remainder {} when divided by {}?",
                p[0], p[1], p[2], p[3]
            )
        },
        solve: |p| {
            // n = a + m t with m t = c - a mod k.
            let t = inverse(p[1], p[3]) * (p[2] - p[0]).rem_euclid(p[3]) % p[3];
            let n = p[0] + p[1] * t;
            let steps =
                format!("{} + {} * {t} = {n}, and {n} = {} mod {}.", p[0], p[1], p[2], p[3]);
            Worked::new(n, steps)
        },
        brute: |p| (1..=p[1] * p[3]).find(|n| n % p[1] == p[0] && n % p[3] == p[2]).unwrap_or(-1),
    },
    Template {
        name: "prime_in_factorial",
        tiny: &[(2, 7), (10, 60)],
        full: &[(2, 47), (100, 1900)],
        accepts: |p| is_prime(p[0]) && p[0] < p[1],
        ask: |p| format!("What is the greatest k for which {}^k divides {}!?", p[0], p[1]),
        solve: |p| {
            let (mut left, mut terms) = (p[1], Vec::new());
            while left >= p[0] {
                left /= p[0];
                terms.push(left);
            }
            let sum: i64 = terms.iter().sum();
            let terms: Vec<String> = terms.iter().map(i64::to_string).collect();
            Worked::new(sum, format!("{} = {sum}.", terms.join(" + ")))
        },
        brute: |p| {
            let exponent = |mut n: i64| {
                let mut exponent = 0;
                while n % p[0] == 0 {
                    n /= p[0];
                    exponent += 1;
                }
                exponent
            };
            (1..=p[1]).map(exponent).sum()
        },
    },
    Template {
        name: "digit_sum_in_base",
        tiny: &[(10, 99), (2, 7)],
        full: &[(1000, 99_999), (2, 16)],
        accepts: |p| p[0] % p[1] != 0,
        ask: |p| format!("What is the sum of the digits of {} written in base {}?", p[0], p[1]),
        solve: |p| {
            let (mut left, mut digits) = (p[0], Vec::new());
            while left > 0 {
                digits.push(left % p[1]);
                left /= p[1];
            }
            let sum = digits.iter().sum();
            let digits: Vec<String> = digits.iter().rev().map(i64::to_string).collect();
            Worked::new(sum, format!("The digits are {}. Their sum is {sum}.", digits.join(" ")))
        },
        brute: |p| {
            // Counts up in the base, one by one.
            let mut digits = vec![0];
            for _ in 0..p[0] {
                let mut at = 0;
                while digits[at] == p[1] - 1 {
                    digits[at] = 0;
                    at += 1;
                    if at == digits.len() {
                        digits.push(0);
                    }
                }
                digits[at] += 1;
            }
            digits.iter().sum()
        },
    },
    Template {
        name: "least_common_multiple",
        tiny: &[(2, 15), (2, 15), (2, 15)],
        full: &[(4, 40), (4, 40), (4, 40)],
        accepts: |p| p[0] < p[1] && p[1] < p[2] && lcm(lcm(p[0], p[1]), p[2]) < 1000,
        ask: |p| {
            format!("What is the least number that {}, {} and {} all divide?", p[0], p[1], p[2])
        },
        solve: |p| {
            let two = lcm(p[0], p[1]);
            let three = lcm(two, p[2]);
            let steps = format!(
                "The least for {} and {} is {two}. The least for {two} and {} is {three}.",
                p[0], p[1], p[2]
            );
            Worked::new(three, steps)
        },
        brute: |p| (1..1000).find(|n| p.iter().all(|d| n % d == 0)).unwrap_or(-1),
    },
];
