//! Families over whole numbers.

use super::family::Parameter::{Choice, Number, Word};
use super::family::{Family, Shape, value};
use super::value::whole;
use crate::part::Part;

const NATURAL: Shape = Shape::Number(0, 99);
const ANY: Shape = Shape::Number(-20, 60);

pub(super) static FAMILIES: [Family; 22] = [
    Family {
        name: "scale_and_shift",
        only: None,
        arguments: &[("n", ANY)],
        parameters: &[Number(2, 9), Number(1, 9)],
        told: "Return the number times $a, plus $b.",
        body: &["return n * $a + $b"],
        solve: |c| value(c.number(0) * c.a() + c.b()),
    },
    Family {
        name: "is_multiple",
        only: None,
        arguments: &[("n", NATURAL)],
        parameters: &[Number(2, 15)],
        told: "Return whether the number is a multiple of $a.",
        body: &["return n % $a == 0"],
        solve: |c| value(c.number(0) % c.a() == 0),
    },
    Family {
        name: "remainder_after",
        only: None,
        arguments: &[("n", NATURAL)],
        parameters: &[Number(1, 9), Number(3, 12)],
        told: "Return the remainder when the number plus $a is divided by $b.",
        body: &["return (n + $a) % $b"],
        solve: |c| value((c.number(0) + c.a()) % c.b()),
    },
    Family {
        name: "digit_sum",
        only: None,
        arguments: &[("n", Shape::Number(0, 9999))],
        parameters: &[Number(2, 15)],
        told: "Return $a times the sum of the digits of the number.",
        body: &["return $a * sum(int(digit) for digit in str(n))"],
        solve: |c| value(c.a() * digits(c.number(0)).iter().sum::<i64>()),
    },
    Family {
        name: "count_digit",
        only: None,
        arguments: &[("n", Shape::Number(0, 9999))],
        parameters: &[Number(0, 9), Number(0, 4)],
        told: "Return how often the digit $a occurs in the number, plus $b.",
        body: &["return str(n).count('$a') + $b"],
        solve: |c| {
            value(
                whole(digits(c.number(0)).iter().filter(|&&digit| digit == c.a()).count()) + c.b(),
            )
        },
    },
    Family {
        name: "clamp",
        only: None,
        arguments: &[("n", ANY)],
        parameters: &[Number(-5, 6), Number(8, 20)],
        told: "Return the number, but at least $a and at most $b.",
        body: &["return max($a, min(n, $b))"],
        solve: |c| value(c.number(0).min(c.b()).max(c.a())),
    },
    Family {
        name: "sum_of_multiples",
        only: None,
        arguments: &[("n", Shape::Number(0, 60))],
        parameters: &[Number(2, 12)],
        told: "Return the sum of the multiples of $a that are above 0 and below the number.",
        body: &["return sum(i for i in range(1, n) if i % $a == 0)"],
        solve: |c| value((1..c.number(0)).filter(|i| i % c.a() == 0).sum::<i64>()),
    },
    Family {
        name: "round_down",
        only: None,
        arguments: &[("n", NATURAL)],
        parameters: &[Number(3, 16)],
        told: "Return the largest multiple of $a that is not above the number.",
        body: &["return n // $a * $a"],
        solve: |c| value(c.number(0) / c.a() * c.a()),
    },
    Family {
        name: "round_up",
        only: Some(Part::Test),
        arguments: &[("n", NATURAL)],
        parameters: &[Number(3, 16)],
        told: "Return the smallest multiple of $a that is not below the number.",
        body: &["return (n + $a - 1) // $a * $a"],
        solve: |c| value((c.number(0) + c.a() - 1) / c.a() * c.a()),
    },
    Family {
        name: "count_divisors",
        only: None,
        arguments: &[("n", Shape::Number(1, 99))],
        parameters: &[Number(3, 16)],
        told: "Return how many of the whole numbers from 1 to $a divide the number.",
        body: &["return sum(1 for i in range(1, $a + 1) if n % i == 0)"],
        solve: |c| value((1..=c.a()).filter(|i| c.number(0) % i == 0).count()),
    },
    Family {
        name: "power_remainder",
        only: None,
        arguments: &[("n", Shape::Number(0, 20))],
        parameters: &[Number(2, 4), Number(4, 13)],
        told: "Return the remainder when the number to the power of $a is divided by $b.",
        body: &["return n ** $a % $b"],
        solve: |c| value(c.number(0).pow(u32::try_from(c.a()).ok()?) % c.b()),
    },
    Family {
        name: "count_steps",
        only: None,
        arguments: &[("n", NATURAL)],
        parameters: &[Number(2, 9), Number(0, 6)],
        told: "Return how often $a can be taken from the number before it would fall below $b.",
        body: &[
            "steps = 0",
            "while n - $a >= $b:",
            "    n -= $a",
            "    steps += 1",
            "return steps",
        ],
        solve: |c| value(((c.number(0) - c.b()) / c.a()).max(0)),
    },
    Family {
        name: "digits_in_base",
        only: Some(Part::Test),
        arguments: &[("n", NATURAL)],
        parameters: &[Number(2, 9)],
        told: "Return the digits of the number in base $a, highest first; no digits for 0.",
        body: &[
            "digits = []",
            "while n > 0:",
            "    digits.insert(0, n % $a)",
            "    n //= $a",
            "return digits",
        ],
        solve: |c| {
            let mut rest = c.number(0);
            let mut digits = Vec::new();
            while rest > 0 {
                digits.insert(0, rest % c.a());
                rest /= c.a();
            }
            value(digits)
        },
    },
    Family {
        name: "pick_and_add",
        only: None,
        arguments: &[("x", ANY), ("y", ANY)],
        parameters: &[Choice(&[("larger", "max"), ("smaller", "min")]), Number(1, 12)],
        told: "Return the $a of the two numbers, plus $b.",
        body: &["return $a(x, y) + $b"],
        solve: |c| {
            let (x, y) = (c.number(0), c.number(1));
            value(if c.a() == 0 { x.max(y) } else { x.min(y) } + c.b())
        },
    },
    Family {
        name: "is_between",
        only: None,
        arguments: &[("n", Shape::Number(-10, 30))],
        parameters: &[Number(-4, 6), Number(9, 18)],
        told: "Return whether the number is above $a and below $b.",
        body: &["return $a < n < $b"],
        solve: |c| value(c.a() < c.number(0) && c.number(0) < c.b()),
    },
    Family {
        name: "scaled_distance",
        only: None,
        arguments: &[("x", ANY), ("y", ANY)],
        parameters: &[Number(2, 15)],
        told: "Return $a times the distance between the two numbers.",
        body: &["return $a * abs(x - y)"],
        solve: |c| value(c.a() * (c.number(0) - c.number(1)).abs()),
    },
    Family {
        name: "sum_of_sequence",
        only: None,
        arguments: &[("n", Shape::Number(0, 12))],
        parameters: &[Number(1, 9), Number(2, 9)],
        told: "Return the sum of the first n terms of the sequence that begins with $a and grows by $b.",
        body: &["return sum($a + $b * i for i in range(n))"],
        solve: |c| value((0..c.number(0)).map(|i| c.a() + c.b() * i).sum::<i64>()),
    },
    Family {
        name: "grow",
        only: None,
        arguments: &[("n", Shape::Number(0, 6))],
        parameters: &[Number(1, 9), Number(2, 4)],
        told: "Return $a after it was multiplied by $b n times.",
        body: &["result = $a", "for _ in range(n):", "    result *= $b", "return result"],
        solve: |c| value((0..c.number(0)).fold(c.a(), |result, _| result * c.b())),
    },
    Family {
        name: "last_digit",
        only: None,
        arguments: &[("n", NATURAL)],
        parameters: &[Number(2, 9), Number(1, 8)],
        told: "Return the last digit of the number times $a plus $b.",
        body: &["return (n * $a + $b) % 10"],
        solve: |c| value((c.number(0) * c.a() + c.b()) % 10),
    },
    Family {
        name: "name_multiples",
        only: None,
        arguments: &[("n", Shape::Number(1, 60))],
        parameters: &[Number(2, 5), Number(6, 9), Word(&["none", "other", "rest"])],
        told: "Return 'fizz' for multiples of $a, 'buzz' for other multiples of $b, and '$c' for the rest.",
        body: &[
            "if n % $a == 0:",
            "    return 'fizz'",
            "if n % $b == 0:",
            "    return 'buzz'",
            "return '$c'",
        ],
        solve: |c| {
            let n = c.number(0);
            let rest = c.word(2);
            value(if n % c.a() == 0 {
                "fizz"
            } else if n % c.b() == 0 {
                "buzz"
            } else {
                rest
            })
        },
    },
    Family {
        name: "halve_or_grow",
        only: Some(Part::Dev),
        arguments: &[("n", NATURAL)],
        parameters: &[Number(3, 7), Number(1, 9)],
        told: "Return half of an even number, and an odd one times $a plus $b.",
        body: &["if n % 2 == 0:", "    return n // 2", "return n * $a + $b"],
        solve: |c| {
            let n = c.number(0);
            value(if n % 2 == 0 { n / 2 } else { n * c.a() + c.b() })
        },
    },
    Family {
        name: "is_square_plus",
        only: None,
        arguments: &[("n", Shape::Number(0, 60))],
        parameters: &[Number(0, 15)],
        told: "Return whether the number is the square of a whole number, plus $a.",
        body: &["return any(i * i + $a == n for i in range(n + 1))"],
        solve: |c| value((0..=c.number(0)).any(|i| i * i + c.a() == c.number(0))),
    },
];

/// The decimal digits of a number that is not negative.
fn digits(number: i64) -> Vec<i64> {
    number.to_string().bytes().map(|byte| i64::from(byte - b'0')).collect()
}
