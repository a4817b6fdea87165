//! Functions of whole numbers that formulas use.

pub(super) fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a.abs() } else { gcd(b, a % b) }
}

pub(super) fn lcm(a: i64, b: i64) -> i64 {
    a / gcd(a, b) * b
}

/// `base^exponent mod modulus` by squaring; the modulus is below 2^31.
pub(super) fn power_mod(base: i64, exponent: i64, modulus: i64) -> i64 {
    let (mut result, mut square, mut left) = (1 % modulus, base.rem_euclid(modulus), exponent);
    while left > 0 {
        if left % 2 == 1 {
            result = result * square % modulus;
        }
        square = square * square % modulus;
        left /= 2;
    }
    result
}

/// The inverse of `a` by Euclid's algorithm; they have no common factor.
pub(super) fn inverse(a: i64, modulus: i64) -> i64 {
    let (mut old, mut new) = ((a, 1), (modulus, 0));
    while new.0 != 0 {
        let quotient = old.0 / new.0;
        (old, new) = (new, (old.0 - quotient * new.0, old.1 - quotient * new.1));
    }
    old.1.rem_euclid(modulus)
}

/// Binomial coefficient; at most `i64::MAX` saturated.
pub(super) fn choose(n: i64, k: i64) -> i64 {
    if k < 0 || k > n {
        return 0;
    }
    let product = (1..=k).try_fold(1_i64, |all, i| Some(all.checked_mul(n - k + i)? / i));
    product.unwrap_or(i64::MAX)
}

/// The prime factors with their exponents.
pub(super) fn factors(mut n: i64) -> Vec<(i64, i64)> {
    let mut all = Vec::new();
    let mut prime = 2;
    while prime * prime <= n {
        let mut exponent = 0;
        while n % prime == 0 {
            n /= prime;
            exponent += 1;
        }
        if exponent > 0 {
            all.push((prime, exponent));
        }
        prime += 1;
    }
    if n > 1 {
        all.push((n, 1));
    }
    all
}

/// A factorization in words: `2^3 * 5`.
pub(super) fn factored(n: i64) -> String {
    let power = |&(prime, exponent): &(i64, i64)| match exponent {
        1 => prime.to_string(),
        _ => format!("{prime}^{exponent}"),
    };
    factors(n).iter().map(power).collect::<Vec<_>>().join(" * ")
}

/// The number of divisors, from the factorization.
pub(super) fn divisor_count(n: i64) -> i64 {
    factors(n).iter().map(|(_, exponent)| exponent + 1).product()
}

/// The greatest number whose square is at most `n`, which is not negative.
pub(super) fn square_root(n: i64) -> i64 {
    n.isqrt()
}

/// How many of a range fulfil a condition.
pub(super) fn count(range: impl Iterator<Item = i64>, condition: impl Fn(i64) -> bool) -> i64 {
    range.map(|n| i64::from(condition(n))).sum()
}
