//! Groups of points: their means, how points scatter around them, and which group is closest.

/// A point, or a row of a matrix.
pub(super) type Point = Vec<f64>;

/// Share of a coordinate's scatter that is added to it, so that no coordinate is without scatter.
const RIDGE: f64 = 1e-6;

/// Names of groups with the means of their points, and the inverse of the scatter of points around
/// their means (Fisher, 1936).
#[derive(Debug)]
pub(super) struct Groups<'a> {
    means: Vec<(&'a str, Point)>,
    precision: Vec<Point>,
}

impl<'a> Groups<'a> {
    /// `points` and `names` are of the same length.
    pub(super) fn new(points: &[Point], names: &[&'a str]) -> Self {
        let (means, inner) = centred(points, names);
        let scatter = ridged(products(&inner, &inner));
        let size = scatter.len();
        let identity = (0..size)
            .map(|row| (0..size).map(|column| if row == column { 1.0 } else { 0.0 }).collect());
        Self { means, precision: solve(scatter, identity.collect()) }
    }

    /// The names of the closest groups, the closest first.
    pub(super) fn closest(&self, point: &Point, most: usize) -> Vec<String> {
        let distance = |mean: &Point| {
            let gap: Point = point.iter().zip(mean).map(|(a, b)| a - b).collect();
            self.precision.iter().zip(&gap).map(|(row, one)| one * dot(row, &gap)).sum::<f64>()
        };
        nearest(self.means.iter().map(|(name, mean)| (*name, distance(mean))), most)
    }
}

/// The names with the smallest distances, each once, the closest first; the first of equals.
pub(super) fn nearest<'a>(
    distances: impl Iterator<Item = (&'a str, f64)>,
    most: usize,
) -> Vec<String> {
    let mut sorted: Vec<(&str, f64)> = distances.collect();
    sorted.sort_by(|one, other| one.1.total_cmp(&other.1));
    let mut names: Vec<String> = Vec::new();
    for (name, _) in sorted {
        if names.len() < most && !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}

/// The mean of each group, in order of their names, and all points less the means of their groups.
pub(super) fn centred<'a>(
    points: &[Point],
    names: &[&'a str],
) -> (Vec<(&'a str, Point)>, Vec<Point>) {
    let mut groups: Vec<&str> = names.to_vec();
    groups.sort_unstable();
    groups.dedup();
    let mean = |group: &str| -> Point {
        let own = || points.iter().zip(names).filter(|(_, name)| **name == group);
        let count = own().count().max(1) as f64;
        let size = points.first().map_or(0, Vec::len);
        (0..size).map(|place| own().map(|(point, _)| point[place]).sum::<f64>() / count).collect()
    };
    let means: Vec<(&str, Point)> = groups.into_iter().map(|group| (group, mean(group))).collect();
    let inner = points.iter().zip(names).map(|(point, name)| {
        let place = means.partition_point(|(group, _)| group < name);
        point.iter().zip(&means[place].1).map(|(a, b)| a - b).collect()
    });
    let inner = inner.collect();
    (means, inner)
}

/// The slopes of several targets on the inputs by least squares, without an intercept: a row per
/// input. Inputs that say nothing have none.
pub(super) fn slopes(inputs: &[Point], targets: &[Point]) -> Vec<Point> {
    solve(ridged(products(inputs, inputs)), products(inputs, targets))
}

/// A symmetric matrix with a little more on its diagonal.
fn ridged(mut matrix: Vec<Point>) -> Vec<Point> {
    for (place, row) in matrix.iter_mut().enumerate() {
        row[place] = row[place] * (1.0 + RIDGE) + RIDGE;
    }
    matrix
}

/// `left` transposed times `right`: a row per coordinate of `left`.
fn products(left: &[Point], right: &[Point]) -> Vec<Point> {
    let size = |points: &[Point]| points.first().map_or(0, Vec::len);
    let mut sums = vec![vec![0.0; size(right)]; size(left)];
    for (one, other) in left.iter().zip(right) {
        for (row, a) in sums.iter_mut().zip(one) {
            row.iter_mut().zip(other).for_each(|(sum, b)| *sum += a * b);
        }
    }
    sums
}

/// Solves `matrix * x = right` by elimination; the matrix is symmetric and positive.
fn solve(mut matrix: Vec<Point>, mut right: Vec<Point>) -> Vec<Point> {
    for pivot in 0..matrix.len() {
        let scale = matrix[pivot][pivot];
        matrix[pivot].iter_mut().chain(&mut right[pivot]).for_each(|value| *value /= scale);
        let (row, known) = (matrix[pivot].clone(), right[pivot].clone());
        for other in (0..matrix.len()).filter(|other| *other != pivot) {
            let factor = matrix[other][pivot];
            matrix[other].iter_mut().zip(&row).for_each(|(value, own)| *value -= factor * own);
            right[other].iter_mut().zip(&known).for_each(|(value, own)| *value -= factor * own);
        }
    }
    right
}

fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_count_little_where_groups_scatter() {
        let points = [[0.0, 0.0], [9.0, 1.0], [0.0, 4.0], [9.0, 5.0]].map(Vec::from);
        let groups = Groups::new(&points, &["a", "a", "b", "b"]);
        assert_eq!(groups.closest(&vec![20.0, 2.8], 5), ["a", "b"]);
        assert_eq!(groups.closest(&vec![4.5, 4.0], 1), ["b"]);
    }

    #[test]
    fn slopes_are_those_of_the_line() {
        let inputs = [[1.0, 0.0], [0.0, 1.0], [2.0, 1.0], [1.0, -1.0]].map(Vec::from);
        let targets: Vec<Point> = inputs.iter().map(|x| vec![3.0 * x[0] - 2.0 * x[1]]).collect();
        let found = slopes(&inputs, &targets);
        assert!((found[0][0] - 3.0).abs() < 1e-4 && (found[1][0] + 2.0).abs() < 1e-4, "{found:?}");
    }

    #[test]
    fn names_are_listed_once() {
        let distances = [("a", 2.0), ("b", 1.0), ("a", 0.5), ("c", 9.0)];
        assert_eq!(nearest(distances.into_iter(), 2), ["a", "b"]);
    }
}
