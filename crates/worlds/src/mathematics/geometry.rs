//! Points, lines and solids with whole measures.

use super::numbers::{count, gcd, square_root};
use super::template::{Template, Worked};

/// Twice the area of the triangle (0, 0), (a, b), (c, d), with its sign.
fn double_area(p: &[i64]) -> i64 {
    p[0] * p[3] - p[1] * p[2]
}

/// Points with whole coordinates on the sides of that triangle.
fn on_sides(p: &[i64]) -> i64 {
    gcd(p[0], p[1]) + gcd(p[2], p[3]) + gcd(p[2] - p[0], p[3] - p[1])
}

/// How often points with whole coordinates are strictly inside, and on the sides.
fn points(p: &[i64]) -> (i64, i64) {
    let corners = [(0, 0), (p[0], p[1]), (p[2], p[3])];
    let side = |(ax, ay): (i64, i64), (bx, by): (i64, i64), x: i64, y: i64| {
        ((bx - ax) * (y - ay) - (by - ay) * (x - ax)).signum()
    };
    let (mut inside, mut on) = (0, 0);
    let most = p.iter().copied().max().unwrap_or(0);
    for x in 0..=most {
        for y in 0..=most {
            let signs = [0, 1, 2].map(|k| side(corners[k], corners[(k + 1) % 3], x, y));
            let is_out = signs.contains(&1) && signs.contains(&-1);
            match (is_out, signs.contains(&0)) {
                (true, _) => {}
                (false, true) => on += 1,
                (false, false) => inside += 1,
            }
        }
    }
    (inside, on)
}

pub(super) static TEMPLATES: [Template; 7] = [
    Template {
        name: "twice_the_area",
        tiny: &[(1, 12), (0, 12), (0, 12), (1, 12)],
        full: &[(1, 40), (0, 40), (0, 40), (1, 40)],
        accepts: |p| double_area(p) > 0,
        ask: |p| {
            format!(
                "What is twice the area of the triangle with corners (0, 0), ({}, {}) and ({}, {})?",
                p[0], p[1], p[2], p[3]
            )
        },
        solve: |p| {
            let (a, b) = (p[0] * p[3], p[1] * p[2]);
            let steps =
                format!("{} * {} - {} * {} = {a} - {b} = {}.", p[0], p[3], p[1], p[2], a - b);
            Worked::new(a - b, steps)
        },
        // Pick: twice the area is twice the points inside, plus those on the sides, minus 2.
        brute: |p| {
            let (inside, on) = points(p);
            2 * inside + on - 2
        },
    },
    Template {
        name: "points_inside",
        tiny: &[(1, 10), (0, 10), (0, 10), (1, 10)],
        full: &[(5, 40), (0, 40), (0, 40), (5, 40)],
        accepts: |p| double_area(p) > 4,
        ask: |p| {
            format!(
                "How many points with whole coordinates lie inside the triangle with corners (0, 0), \
                 ({}, {}) and ({}, {}), not on its sides?",
                p[0], p[1], p[2], p[3]
            )
        },
        solve: |p| {
            let (area, on) = (double_area(p), on_sides(p));
            let answer = i64::midpoint(area - on, 2);
            let steps = format!(
                "Twice the area is {area}, and {on} points are on the sides. ({area} - {on} + 2) / 2 = \
                 {answer}."
            );
            Worked::new(answer, steps)
        },
        brute: |p| points(p).0,
    },
    Template {
        name: "points_on_segment",
        tiny: &[(0, 20), (0, 20), (2, 40), (2, 40)],
        full: &[(0, 500), (0, 500), (20, 900), (20, 900)],
        accepts: |p| gcd(p[2], p[3]) > 1,
        ask: |p| {
            format!(
                "How many points with whole coordinates are on the segment from ({}, {}) to ({}, {}), ends \
                 included?",
                p[0],
                p[1],
                p[0] + p[2],
                p[1] + p[3]
            )
        },
        solve: |p| {
            let common = gcd(p[2], p[3]);
            let steps = format!(
                "The differences are {} and {}. Their greatest common divisor is {common}. {common} + 1 = \
                 {}.",
                p[2],
                p[3],
                common + 1
            );
            Worked::new(common + 1, steps)
        },
        brute: |p| count(0..=p[2], |x| x * p[3] % p[2] == 0),
    },
    Template {
        name: "points_in_circle",
        tiny: &[(2, 60), (1, 3)],
        full: &[(40, 310), (1, 9)],
        accepts: |_| true,
        ask: |p| {
            format!(
                "How many points (x, y) with whole coordinates have x^2 + y^2 at most {} and x at least {}?",
                p[0], p[1]
            )
        },
        solve: |p| {
            let column = |x: i64| 2 * square_root(p[0] - x * x) + 1;
            let columns: Vec<i64> = (p[1]..=square_root(p[0])).map(column).collect();
            let sum: i64 = columns.iter().sum();
            let terms: Vec<String> = columns.iter().map(i64::to_string).collect();
            let steps = if terms.is_empty() {
                "There are none.".to_owned()
            } else {
                format!("{} = {sum}.", terms.join(" + "))
            };
            Worked::new(sum, steps)
        },
        brute: |p| {
            let of = |x: i64| count(-p[0]..=p[0], |y| x * x + y * y <= p[0]);
            (p[1]..=p[0]).map(of).sum()
        },
    },
    Template {
        name: "triangles_with_perimeter",
        tiny: &[(8, 40), (0, 9)],
        full: &[(40, 200), (0, 99)],
        accepts: |_| true,
        ask: |p| {
            format!(
                "n different triangles have whole sides and the perimeter {}. What is n + {}?",
                p[0], p[1]
            )
        },
        solve: |p| {
            // The nearest whole number to m^2 / 48, with m the perimeter, plus 3 if it is odd.
            let m = if p[0] % 2 == 0 { p[0] } else { p[0] + 3 };
            let n = (m * m + 24) / 48;
            let steps = format!(
                "n is {m}^2 / 48 = {} / 48, rounded: {n}. {n} + {} = {}.",
                m * m,
                p[1],
                n + p[1]
            );
            Worked::new(n + p[1], steps)
        },
        brute: |p| {
            let of = |a: i64| count(a..=p[0], |b| p[0] - a - b >= b && a + b > p[0] - a - b);
            (1..=p[0]).map(of).sum::<i64>() + p[1]
        },
    },
    Template {
        name: "crossed_squares",
        tiny: &[(3, 40), (4, 41)],
        full: &[(50, 500), (51, 501)],
        accepts: |p| p[0] < p[1],
        ask: |p| {
            format!(
                "A rectangle of {} by {} is made of squares of side 1. Through how many of them does a \
                 diagonal pass?",
                p[0], p[1]
            )
        },
        solve: |p| {
            let common = gcd(p[0], p[1]);
            let answer = p[0] + p[1] - common;
            let steps = format!(
                "The greatest common divisor is {common}. {} + {} - {common} = {answer}.",
                p[0], p[1]
            );
            Worked::new(answer, steps)
        },
        // The diagonal is b x = a y; a square is crossed if its corners lie strictly on both sides.
        brute: |p| {
            let crossed = |x: i64, y: i64| p[1] * x < p[0] * (y + 1) && p[1] * (x + 1) > p[0] * y;
            (0..p[0]).map(|x| count(0..p[1], |y| crossed(x, y))).sum()
        },
    },
    Template {
        name: "painted_box",
        tiny: &[(3, 9), (3, 9), (3, 9), (0, 2)],
        full: &[(5, 18), (5, 18), (5, 18), (0, 2)],
        accepts: |p| p[0] <= p[1] && p[1] <= p[2],
        ask: |p| {
            format!(
                "A box of {} by {} by {} is painted and cut into cubes of side 1. How many of them have \
                 paint on exactly {} sides?",
                p[0], p[1], p[2], p[3]
            )
        },
        solve: |p| {
            let [a, b, c] = [p[0] - 2, p[1] - 2, p[2] - 2];
            let (answer, steps) = match p[3] {
                0 => (a * b * c, format!("{a} * {b} * {c} = {}.", a * b * c)),
                1 => {
                    let sum = a * b + a * c + b * c;
                    let steps = format!(
                        "2 * ({a} * {b} + {a} * {c} + {b} * {c}) = 2 * {sum} = {}.",
                        2 * sum
                    );
                    (2 * sum, steps)
                }
                _ => {
                    let sum = a + b + c;
                    (4 * sum, format!("4 * ({a} + {b} + {c}) = 4 * {sum} = {}.", 4 * sum))
                }
            };
            Worked::new(answer, steps)
        },
        brute: |p| {
            let painted = |at: i64, size: i64| i64::from(at == 0) + i64::from(at == size - 1);
            let cubes = (0..p[0]).flat_map(|x| (0..p[1]).map(move |y| (x, y)));
            let of = |(x, y): (i64, i64)| {
                let sides = painted(x, p[0]) + painted(y, p[1]);
                count(0..p[2], |z| sides + painted(z, p[2]) == p[3])
            };
            cubes.map(of).sum()
        },
    },
];
