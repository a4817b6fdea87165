//! Outlines of straight lines and Bézier curves, and which pixels they cover.

use super::figure::Placed;
use ab_glyph_rasterizer::{Point, Rasterizer, point};
use std::str::FromStr;

/// How far from the middle of a quarter of a circle of radius 1 its control points are.
const QUARTER: f64 = 0.552_284_749_830_793_6;

/// Closed outlines. What lies within any of them is covered.
#[derive(Debug, Clone, Default)]
pub(super) struct Path {
    /// The points of each outline, of which three at a time follow the first: two control points
    /// and an end.
    outlines: Vec<Vec<(f64, f64)>>,
}

impl Path {
    /// An ellipse, by its middle and half-axes.
    pub(super) fn ellipse((x, y): (f64, f64), (wide, high): (f64, f64)) -> Self {
        let (u, v) = (QUARTER * wide, QUARTER * high);
        let mut points = vec![(x + wide, y)];
        points.extend([(x + wide, y + v), (x + u, y + high), (x, y + high)]);
        points.extend([(x - u, y + high), (x - wide, y + v), (x - wide, y)]);
        points.extend([(x - wide, y - v), (x - u, y - high), (x, y - high)]);
        points.extend([(x + u, y - high), (x + wide, y - v), (x + wide, y)]);
        Self { outlines: vec![points] }
    }

    /// Left, top, right and bottom of its points and control points.
    pub(super) fn bounds(&self) -> [f64; 4] {
        let start = [f64::INFINITY, f64::INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY];
        self.outlines.iter().flatten().fold(start, |[left, top, right, bottom], (x, y)| {
            [left.min(*x), top.min(*y), right.max(*x), bottom.max(*y)]
        })
    }

    /// Hands on the middle of each pixel that the path covers where it is placed, and the share of
    /// the pixel that it covers, row by row.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "positions in pictures, which single precision holds"
    )]
    pub(super) fn covered(&self, placed: Placed, mut each: impl FnMut((f64, f64), f64)) {
        let outlines: Vec<Vec<(f64, f64)>> = self
            .outlines
            .iter()
            .map(|points| points.iter().map(|point| placed.of(*point)).collect())
            .collect();
        let [left, top, right, bottom] = Self { outlines: outlines.clone() }.bounds();
        let (left, top) = (left.floor() - 1.0, top.floor() - 1.0);
        let size = |from: f64, to: f64| crate::numeric::draws::floor((to - from).max(0.0)) + 2;
        let (width, height) = (size(left, right), size(top, bottom));
        let mut raster = Rasterizer::new(width, height);
        let at = |(x, y): (f64, f64)| -> Point { point((x - left) as f32, (y - top) as f32) };
        for points in &outlines {
            let mut from = points[0];
            for [one, other, to] in points[1..].as_chunks::<3>().0 {
                if *one == from && *other == *to {
                    raster.draw_line(at(from), at(*to));
                } else {
                    raster.draw_cubic(at(from), at(*one), at(*other), at(*to));
                }
                from = *to;
            }
            raster.draw_line(at(from), at(points[0]));
        }
        raster.for_each_pixel_2d(|x, y, share| {
            if share > 0.0 {
                let middle = (left + f64::from(x) + 0.5, top + f64::from(y) + 0.5);
                each(middle, f64::from(share.min(1.0)));
            }
        });
    }
}

impl FromStr for Path {
    type Err = String;

    /// The commands are M x y, L x y, C x y x y x y (Bézier), O x y r r (ellipse) and Z.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut path = Self::default();
        let mut points: Vec<(f64, f64)> = Vec::new();
        let mut rest = text.trim();
        while !rest.is_empty() {
            let (command, after) = rest.split_at(1);
            let end = after.find(|c: char| c.is_ascii_uppercase()).unwrap_or(after.len());
            let number = |word: &str| word.parse::<f64>().map_err(|error| error.to_string());
            let numbers: Vec<f64> =
                after[..end].split_whitespace().map(number).collect::<Result<_, _>>()?;
            let last = points.last().copied();
            match (command, &numbers[..], last) {
                ("M", &[x, y], None) => points.push((x, y)),
                ("L", &[x, y], Some(last)) => points.extend([last, (x, y), (x, y)]),
                ("C", &[a, b, c, d, x, y], Some(_)) => points.extend([(a, b), (c, d), (x, y)]),
                ("O", &[x, y, wide, high], None) => {
                    path.outlines.extend(Self::ellipse((x, y), (wide, high)).outlines);
                }
                ("Z", [], Some(_)) => path.outlines.push(std::mem::take(&mut points)),
                _ => return Err(format!("`{command}` is unknown or stands in the wrong place")),
            }
            rest = after[end..].trim_start();
        }
        if points.is_empty() && !path.outlines.is_empty() {
            Ok(path)
        } else {
            Err("an outline is not closed by Z".to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn square_covers_its_area() {
        let path: Path = "M0 0 L2.5 0 L2.5 2 L0 2 Z".parse().unwrap();
        let mut shares = Vec::new();
        let placed = Placed { matrix: [1.0, 0.0, 0.0, 1.0], shift: (1.0, 1.0) };
        path.covered(placed, |middle, share| shares.push((middle, share)));
        assert_eq!(shares.iter().map(|(_, share)| share).sum::<f64>(), 5.0);
        assert_eq!(shares[2], ((3.5, 1.5), 0.5));
    }

    #[test]
    fn unclosed_outlines_are_refused() {
        for wrong in ["", "M0 0 L1 1", "L1 1 Z", "M0 0 Q1 1 Z", "M0 Z"] {
            assert!(wrong.parse::<Path>().is_err(), "{wrong}");
        }
    }
}
