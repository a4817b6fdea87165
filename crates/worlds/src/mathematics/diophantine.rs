//! Equations in whole numbers.

use super::numbers::{count, divisor_count, factored, gcd, inverse, square_root};
use super::template::{Template, Worked};

/// Whether `n = a x + b y` with whole x and y from 0.
fn is_sum(n: i64, a: i64, b: i64) -> bool {
    (0..=n / a).any(|x| (n - a * x) % b == 0)
}

pub(super) static TEMPLATES: [Template; 6] = [
    Template {
        name: "ways_to_pay",
        tiny: &[(10, 60), (2, 6), (3, 9)],
        full: &[(300, 5000), (2, 40), (3, 60)],
        accepts: |p| p[1] < p[2] && gcd(p[1], p[2]) == 1,
        ask: |p| {
            format!("In how many ways can {} be paid with coins of {} and {}?", p[0], p[1], p[2])
        },
        solve: |p| {
            // The least y with b y = n mod a, and then every a-th.
            let least = inverse(p[2] % p[1], p[1]) * p[0] % p[1];
            let left = p[0] - least * p[2];
            let answer = if left < 0 { 0 } else { left / (p[1] * p[2]) + 1 };
            let steps = format!(
                "{} divides {} - {} * y first for y = {least}, and then for each y that is {} more. As {} * \
                 y is at most {}, there are {answer}.",
                p[1], p[0], p[2], p[1], p[2], p[0]
            );
            Worked::new(answer, steps)
        },
        brute: |p| count(0..=p[0] / p[1], |x| (p[0] - x * p[1]) % p[2] == 0),
    },
    Template {
        name: "greatest_not_payable",
        tiny: &[(3, 20), (4, 21)],
        full: &[(8, 31), (9, 32)],
        accepts: |p| p[0] < p[1] && gcd(p[0], p[1]) == 1,
        ask: |p| {
            format!("What is the greatest amount that coins of {} and {} cannot pay?", p[0], p[1])
        },
        solve: |p| {
            let answer = p[0] * p[1] - p[0] - p[1];
            let steps = format!("{} * {} - {} - {} = {answer}.", p[0], p[1], p[0], p[1]);
            Worked::new(answer, steps)
        },
        brute: |p| (1..p[0] * p[1]).filter(|&n| !is_sum(n, p[0], p[1])).max().unwrap_or(-1),
    },
    Template {
        name: "amounts_not_payable",
        tiny: &[(3, 20), (4, 21), (0, 9)],
        full: &[(8, 40), (9, 41), (0, 99)],
        accepts: |p| p[0] < p[1] && gcd(p[0], p[1]) == 1,
        ask: |p| {
            format!(
                "Coins of {} and {} cannot pay n of the positive amounts. What is n + {}?",
                p[0], p[1], p[2]
            )
        },
        solve: |p| {
            let n = (p[0] - 1) * (p[1] - 1) / 2;
            let steps = format!(
                "n = {} * {} / 2 = {n}. {n} + {} = {}.",
                p[0] - 1,
                p[1] - 1,
                p[2],
                n + p[2]
            );
            Worked::new(n + p[2], steps)
        },
        brute: |p| count(1..p[0] * p[1], |n| !is_sum(n, p[0], p[1])) + p[2],
    },
    Template {
        name: "difference_of_squares",
        tiny: &[(15, 400)],
        full: &[(300, 9999)],
        accepts: |p| p[0] % 4 != 2,
        ask: |p| format!("How many pairs of whole numbers x > y > 0 have x^2 - y^2 = {}?", p[0]),
        solve: |p| {
            // (x - y)(x + y) with both even or both odd; for n divisible by 4, twice each factor of n / 4.
            let (n, odd) = if p[0] % 4 == 0 { (p[0] / 4, "even") } else { (p[0], "odd") };
            let answer = divisor_count(n) / 2;
            let steps = format!(
                "x - y and x + y are both {odd}. {n} = {} has {} divisors, so there are {answer} pairs.",
                factored(n),
                divisor_count(n)
            );
            Worked::new(answer, steps)
        },
        brute: |p| {
            // x - y is at least 1, so y is below n / 2.
            count(1..=p[0] / 2, |y| {
                let square = p[0] + y * y;
                square_root(square).pow(2) == square
            })
        },
    },
    Template {
        name: "product_and_sums",
        tiny: &[(6, 90), (1, 6), (1, 6)],
        full: &[(90, 2000), (1, 30), (1, 30)],
        accepts: |p| p[1] <= p[2],
        ask: |p| {
            format!(
                "How many pairs of positive whole numbers x, y have x * y + {} * x + {} * y = {}?",
                p[1], p[2], p[0]
            )
        },
        solve: |p| {
            let n = p[0] + p[1] * p[2];
            let answer = count(1..=n, |d| n % d == 0 && d > p[2] && n / d > p[1]);
            let steps = format!(
                "(x + {}) * (y + {}) = {n} = {}. Of its {} divisors, {answer} are more than {} and leave \
                 more than {} for the other factor.",
                p[2],
                p[1],
                factored(n),
                divisor_count(n),
                p[2],
                p[1]
            );
            Worked::new(answer, steps)
        },
        brute: |p| {
            let of = |x| count(1..=p[0], |y| x * y + p[1] * x + p[2] * y == p[0]);
            (1..=p[0]).map(of).sum()
        },
    },
    Template {
        name: "sum_and_product",
        tiny: &[(1, 40), (2, 41)],
        full: &[(50, 900), (60, 999)],
        accepts: |p| p[0] < p[1],
        ask: |p| {
            format!(
                "Two numbers have the sum {} and the product {}. What is the greater one?",
                p[0] + p[1],
                p[0] * p[1]
            )
        },
        solve: |p| {
            let (sum, product) = (p[0] + p[1], p[0] * p[1]);
            let square = sum * sum - 4 * product;
            let root = square_root(square);
            let answer = i64::midpoint(sum, root);
            let steps = format!(
                "{sum}^2 - 4 * {product} = {square} = {root}^2. ({sum} + {root}) / 2 = {answer}."
            );
            Worked::new(answer, steps)
        },
        brute: |p| {
            let (sum, product) = (p[0] + p[1], p[0] * p[1]);
            (0..=sum).filter(|x| x * (sum - x) == product).max().unwrap_or(-1)
        },
    },
];
