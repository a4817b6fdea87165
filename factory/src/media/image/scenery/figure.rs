//! Figures: what things look like, in parts, and the second moments of their outlines.

use super::ground::Ground;
use super::path::Path;
use super::pieces;
use crate::numeric::draws::floor;
use ndarray::Array2;
use serde::Deserialize;

/// Pixels along an edge of the raster on which outlines are measured.
const RASTER: usize = 240;
/// Half the side of the square around the origin in which every figure lies.
const REACH: f64 = 160.0;

/// A kind of thing, drawn in parts.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "FigureFile")]
pub(super) struct Figure {
    /// From back to front.
    pub(super) parts: Vec<Part>,
    /// Whether it is wider than high.
    pub(super) wide: bool,
    /// Whether it may be blue.
    pub(super) swapped: bool,
    /// Where it is found.
    pub(super) grounds: Vec<Ground>,
    /// Of what readers take for its body.
    pub(super) outline: Outline,
    /// Left, top, right and bottom of all parts.
    pub(super) bounds: [f64; 4],
}

/// A part of a figure.
#[derive(Debug, Clone)]
pub(super) struct Part {
    pub(super) fill: Fill,
    pub(super) path: Path,
}

/// What a part is painted with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Fill {
    /// The figure's own paint, times this.
    Body(f64),
    /// Red, green and blue.
    Plain([f64; 3]),
}

/// The form of a figure's body with its holes filled.
#[derive(Debug, Clone)]
pub(super) struct Outline {
    /// In square units.
    pub(super) area: f64,
    /// Across and down.
    pub(super) middle: (f64, f64),
    /// Variances across and down, and the covariance.
    pub(super) spread: (f64, f64, f64),
    /// Points on its edge.
    pub(super) edge: Vec<(f64, f64)>,
}

/// A figure as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FigureFile {
    wide: bool,
    grounds: Vec<Ground>,
    swapped: bool,
    parts: Vec<String>,
}

impl TryFrom<FigureFile> for Figure {
    type Error = String;

    fn try_from(file: FigureFile) -> Result<Self, String> {
        let parts = file.parts.iter().map(|part| parsed(part)).collect::<Result<Vec<_>, _>>()?;
        let bounds = parts.iter().map(|part: &Part| part.path.bounds()).fold(
            [f64::INFINITY, f64::INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY],
            |[left, top, right, bottom], rect| {
                [left.min(rect[0]), top.min(rect[1]), right.max(rect[2]), bottom.max(rect[3])]
            },
        );
        let outline = Outline::of(&parts)?;
        let FigureFile { wide, grounds, swapped, .. } = file;
        Ok(Self { parts, wide, swapped, grounds, outline, bounds })
    }
}

/// A part from its line.
pub(super) fn parsed(line: &str) -> Result<Part, String> {
    let wrong = |what: &str| format!("`{line}`: {what}");
    let number = |word: &str| word.parse::<f64>().map_err(|_| wrong("a number is expected"));
    let start = line.find(['M', 'O']).ok_or_else(|| wrong("a path begins with M or O"))?;
    let (fill, path) = line.split_at(start);
    let fill: Vec<&str> = fill.split_whitespace().collect();
    let fill = match fill[..] {
        ["body", tone] => Fill::Body(number(tone)?),
        ["plain", red, green, blue] => Fill::Plain([number(red)?, number(green)?, number(blue)?]),
        _ => return Err(wrong("a fill is `body T` or `plain R G B`")),
    };
    Ok(Part { fill, path: path.parse().map_err(|what: String| wrong(&what))? })
}

impl Outline {
    fn of(parts: &[Part]) -> Result<Self, String> {
        let scale = RASTER as f64 / (2.0 * REACH);
        let shift = (REACH * scale, REACH * scale);
        let placed = Placed { matrix: [scale, 0.0, 0.0, scale], shift };
        let mut body = Array2::from_elem((RASTER, RASTER), false);
        for part in parts {
            if part.path.bounds().iter().any(|edge| edge.abs() >= REACH) {
                return Err(format!("a figure reaches beyond {REACH} units"));
            }
            part.path.covered(placed, |(x, y), share| {
                if share >= 0.5 {
                    body[(floor(y), floor(x))] = matches!(part.fill, Fill::Body(_));
                }
            });
        }
        for hole in pieces::holes(&body) {
            for pixel in hole {
                body[pixel] = true;
            }
        }
        let unit = 1.0 / scale;
        let along = |position: usize| (position as f64 + 0.5) * unit - REACH;
        let points: Vec<(usize, usize)> =
            body.indexed_iter().filter(|(_, inside)| **inside).map(|(pixel, _)| pixel).collect();
        let count = points.len() as f64;
        let mean = |of: &dyn Fn(f64, f64) -> f64| {
            points.iter().map(|(y, x)| of(along(*x), along(*y))).sum::<f64>() / count
        };
        let middle = (mean(&|x, _| x), mean(&|_, y| y));
        let spread = (
            mean(&|x, _| (x - middle.0) * (x - middle.0)),
            mean(&|_, y| (y - middle.1) * (y - middle.1)),
            mean(&|x, y| (x - middle.0) * (y - middle.1)),
        );
        let at_edge = |(y, x): &(usize, usize)| {
            let outside = |y: usize, x: usize| !body.get((y, x)).copied().unwrap_or(false);
            outside(y.wrapping_sub(1), *x)
                || outside(y + 1, *x)
                || outside(*y, x.wrapping_sub(1))
                || outside(*y, x + 1)
        };
        let edge = points.iter().filter(|point| at_edge(point));
        let edge = edge.map(|(y, x)| (along(*x), along(*y))).collect();
        Ok(Self { area: count * unit * unit, middle, spread, edge })
    }
}

/// A linear map and a shift: `[a b; c d] (x, y) + (e, f)`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Placed {
    pub(super) matrix: [f64; 4],
    pub(super) shift: (f64, f64),
}

impl Placed {
    pub(super) fn of(&self, (x, y): (f64, f64)) -> (f64, f64) {
        let [a, b, c, d] = self.matrix;
        (a * x + b * y + self.shift.0, c * x + d * y + self.shift.1)
    }
}

impl Figure {
    /// How to draw it so that its outline has this area and this ratio of its axes, that its long
    /// axis is turned by `turn` (radians, clockwise), and that its middle is at the origin.
    pub(super) fn fitted(&self, area: f64, ratio: f64, turn: f64, mirrored: bool) -> Placed {
        let Outline { middle, spread: (across, down, both), .. } = self.outline;
        let flip = if mirrored { -1.0 } else { 1.0 };
        let both = both * flip;
        // With S = L Lᵀ, the inverse of L makes the moments those of a disc.
        let first = across.sqrt();
        let mixed = both / first;
        let second = (down - mixed * mixed).sqrt();
        let round = [1.0 / first, 0.0, -mixed / (first * second), 1.0 / second];
        let (wide, high) = if self.wide {
            (ratio.sqrt(), 1.0 / ratio.sqrt())
        } else {
            (1.0 / ratio.sqrt(), ratio.sqrt())
        };
        let scale = (area / self.outline.area * first * second).sqrt();
        let [a, b, c, d] = [
            scale * wide * round[0],
            scale * wide * round[1],
            scale * high * round[2],
            scale * high * round[3],
        ];
        let (sine, cosine) = (libm::sin(turn), libm::cos(turn));
        let matrix = [
            (cosine * a - sine * c) * flip,
            cosine * b - sine * d,
            (sine * a + cosine * c) * flip,
            sine * b + cosine * d,
        ];
        let unshifted = Placed { matrix, shift: (0.0, 0.0) };
        let (x, y) = unshifted.of(middle);
        Placed { matrix, shift: (-x, -y) }
    }
}
