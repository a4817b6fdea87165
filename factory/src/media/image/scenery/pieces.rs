//! Connected pieces of a mask, by the sides of pixels.

use ndarray::Array2;

/// A number from 1 for each piece, in the order of their first pixels row by row, 0 elsewhere;
/// and the number of pieces.
pub(super) fn labelled(mask: &Array2<bool>) -> (Array2<usize>, usize) {
    let (height, width) = mask.dim();
    let mut labels: Array2<usize> = Array2::zeros((height, width));
    let mut parents = vec![0];
    for y in 0..height {
        for x in 0..width {
            if !mask[(y, x)] {
                continue;
            }
            let left = if x > 0 { labels[(y, x - 1)] } else { 0 };
            let above = if y > 0 { labels[(y - 1, x)] } else { 0 };
            labels[(y, x)] = match (left, above) {
                (0, 0) => {
                    parents.push(parents.len());
                    parents.len() - 1
                }
                (0, one) | (one, 0) => one,
                (one, other) => {
                    let (one, other) = (root(&parents, one), root(&parents, other));
                    parents[one.max(other)] = one.min(other);
                    one.min(other)
                }
            };
        }
    }
    // A root is the least of its piece, which is that of its first pixel.
    let mut numbers = vec![0; parents.len()];
    let mut count = 0;
    for label in 1..parents.len() {
        if parents[label] == label {
            count += 1;
            numbers[label] = count;
        } else {
            numbers[label] = numbers[root(&parents, label)];
        }
    }
    labels.mapv_inplace(|label| numbers[label]);
    (labels, count)
}

fn root(parents: &[usize], mut label: usize) -> usize {
    while parents[label] != label {
        label = parents[label];
    }
    label
}

/// The pixels of each hole: pieces of the rest that do not reach the border. The pixel to the left
/// of a hole's first one belongs to the mask.
pub(super) fn holes(mask: &Array2<bool>) -> Vec<Vec<(usize, usize)>> {
    let (height, width) = mask.dim();
    let (labels, count) = labelled(&mask.mapv(|inside| !inside));
    let mut pixels = vec![Vec::new(); count + 1];
    let mut open = vec![false; count + 1];
    open[0] = true;
    for ((y, x), label) in labels.indexed_iter() {
        if y == 0 || x == 0 || y + 1 == height || x + 1 == width {
            open[*label] = true;
        }
    }
    for (pixel, label) in labels.indexed_iter() {
        if !open[*label] {
            pixels[*label].push(pixel);
        }
    }
    pixels.retain(|pixels| !pixels.is_empty());
    pixels
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mask(rows: &[&str]) -> Array2<bool> {
        let width = rows[0].len();
        Array2::from_shape_fn((rows.len(), width), |(y, x)| rows[y].as_bytes()[x] == b'#')
    }

    #[test]
    fn pieces_that_touch_by_sides_are_one() {
        let (labels, count) = labelled(&mask(&["#.##", "#..#", "###.", "...#"]));
        assert_eq!(count, 3);
        assert_eq!(
            labels.into_raw_vec_and_offset().0,
            [1, 0, 2, 2, 1, 0, 0, 2, 1, 1, 1, 0, 0, 0, 0, 3]
        );
    }

    #[test]
    fn holes_are_closed_in_by_sides() {
        let found = holes(&mask(&["####.", "#..#.", "##.##", "#.###", "####."]));
        assert_eq!(found, [vec![(1, 1), (1, 2), (2, 2)], vec![(3, 1)]]);
    }
}
