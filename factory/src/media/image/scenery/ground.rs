//! Where scenes are set: ground, sky, and what else is about.

use super::canvas::Canvas;
use super::figure::{Part, Placed, parsed};
use crate::media::image::wave::Wave;
use crate::numeric::draws::Draws;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::f64::consts::PI;
use std::sync::LazyLock;

/// A place, by its name in `grounds.toml`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Ground {
    Water,
    Table,
    Cloth,
    Soil,
    Meadow,
    Sky,
    Belt,
    Tissue,
    Road,
    Snow,
}

/// What the ground is covered with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Pattern {
    Plain,
    Waves,
    Planks,
    Checks,
    Grain,
    Seams,
    Lanes,
}

/// How things cast shadows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Shadow {
    /// They float.
    None,
    /// Beside them, of their own form.
    Lying,
    /// Below them.
    Standing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Place {
    Ground,
    Sky,
    Anywhere,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct GroundFile {
    sky: Option<[f64; 3]>,
    top: [f64; 3],
    bottom: [f64; 3],
    pattern: Pattern,
    shadow: Shadow,
    props: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PropFile {
    size: f64,
    place: Place,
    parts: Vec<Line>,
}

#[derive(Debug, Deserialize)]
#[serde(try_from = "String")]
struct Line(Part);

impl TryFrom<String> for Line {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        parsed(&text).map(Self)
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    ground: BTreeMap<Ground, GroundFile>,
    prop: BTreeMap<String, PropFile>,
}

static FILE: LazyLock<File> = LazyLock::new(|| {
    toml::from_str(include_str!("grounds.toml")).expect("tests read the embedded grounds")
});

/// Height of a prop as it is drawn, in its own units.
const PROP: f64 = 100.0;

/// The place of a task.
#[derive(Debug)]
pub(super) struct Setting {
    file: &'static GroundFile,
    /// By which its colours are multiplied.
    tone: [f64; 3],
    /// Strength of its pattern.
    depth: f64,
    /// Repeats of its pattern in a picture.
    repeats: f64,
}

impl Setting {
    pub(super) fn of(ground: Ground, draws: &mut Draws) -> Self {
        let file = FILE.ground.get(&ground).expect("a test sets scenes on every ground");
        let tint = draws.between(0.0, 0.05);
        let green = draws.between(-0.04, 0.04);
        Self {
            file,
            tone: [1.0 - tint, 1.0 + green, 1.0 + tint],
            depth: draws.between(0.5, 1.0),
            repeats: draws.between(4.0, 7.0),
        }
    }

    pub(super) fn shadow(&self) -> Shadow {
        self.file.shadow
    }

    /// Where the horizon of a picture is, in shares of its side from the top; 0 if there is none.
    pub(super) fn horizon(&self, draws: &mut Draws) -> f64 {
        if self.file.sky.is_some() { draws.between(0.1, 0.26) } else { 0.0 }
    }

    /// Paints the ground, and what is about behind the things.
    pub(super) fn paint(&self, canvas: &mut Canvas, horizon: f64, draws: &mut Draws) {
        self.cover(canvas, horizon, draws);
        for _ in 0..draws.whole(2, 5) {
            self.set(canvas, horizon, draws);
        }
    }

    fn cover(&self, canvas: &mut Canvas, horizon: f64, draws: &mut Draws) {
        let side = canvas.side();
        let wave = |cycles: (f64, f64), phase: f64| {
            Wave::new(side, (cycles.0 / side as f64, cycles.1 / side as f64), phase)
        };
        let turn = |draws: &mut Draws| draws.between(0.0, 2.0 * PI);
        let repeats = self.repeats;
        // Two waves and how much each of them matters.
        let cycles = match self.file.pattern {
            Pattern::Waves => [(1.2, repeats * 1.4), (2.3, repeats * 0.8)],
            Pattern::Planks => [(0.4, repeats * 3.0), (1.6, repeats * 2.1)],
            Pattern::Checks => [(repeats * 1.2, 0.0), (0.0, repeats * 1.2)],
            Pattern::Grain => [(repeats * 2.3, repeats * 1.1), (-repeats * 1.3, repeats * 2.6)],
            Pattern::Plain | Pattern::Seams | Pattern::Lanes => [(0.7, 0.4), (-0.5, 1.1)],
        };
        let waves = cycles.map(|cycles| wave(cycles, turn(draws)));
        let start = draws.unit();
        let sky = self.file.sky.map(|sky| self.toned(sky));
        let (top, bottom) = (self.toned(self.file.top), self.toned(self.file.bottom));
        canvas.each(|(y, x), color| {
            let (v, u) = ((y as f64 + 0.5) / side as f64, (x as f64 + 0.5) / side as f64);
            if let Some(sky) = sky.filter(|_| v < horizon) {
                let pale = 0.9 + 0.16 * v / horizon;
                *color = sky.map(|level| level * pale);
                return;
            }
            let down = (v - horizon) / (1.0 - horizon);
            let level = |one: f64, other: f64| one + (other - one) * down;
            let (first, second) = (waves[0].at((y, x)).0, waves[1].at((y, x)).0);
            let fold = |repeats: f64, at: f64| {
                let at = at * repeats + start;
                at - at.floor()
            };
            let pattern = match self.file.pattern {
                Pattern::Checks => {
                    let stripe = |wave: f64| if wave > 0.3 { 0.05 } else { -0.02 };
                    stripe(first) + stripe(second)
                }
                Pattern::Planks => {
                    let seam = if fold(repeats * 0.6, v) < 0.05 { -0.14 } else { 0.0 };
                    seam + 0.02 * first + 0.014 * second
                }
                Pattern::Seams => {
                    let seam = if fold(repeats * 0.5, u) < 0.06 { -0.12 } else { 0.0 };
                    let rail = if (v - 0.5).abs() > 0.46 { 0.22 } else { 0.0 };
                    seam + rail
                }
                Pattern::Lanes => {
                    let dash = (down - 0.46).abs() < 0.02 && fold(3.0, u) < 0.55;
                    if dash { 0.5 } else { 0.01 * first }
                }
                _ => 0.022 * first + 0.022 * second,
            };
            for (channel, value) in color.iter_mut().enumerate() {
                *value = level(top[channel], bottom[channel]) * (1.0 + self.depth * pattern);
            }
        });
    }

    fn toned(&self, color: [f64; 3]) -> [f64; 3] {
        std::array::from_fn(|channel| color[channel] * self.tone[channel])
    }

    /// Something that is about, somewhere.
    fn set(&self, canvas: &mut Canvas, horizon: f64, draws: &mut Draws) {
        let prop = &FILE.prop[draws.pick(&self.file.props)];
        let side = canvas.side() as f64;
        let (low, high) = match (prop.place, horizon > 0.0) {
            (Place::Ground, true) => (horizon, 1.0),
            (Place::Sky, true) => (0.02, horizon * 0.8),
            _ => (0.0, 1.0),
        };
        let v = draws.between(low, high);
        // What is farther up is farther away.
        let near = if prop.place == Place::Ground { 0.5 + 0.6 * v } else { 0.9 };
        let size = prop.size * near * draws.between(0.8, 1.3);
        let middle = (draws.between(0.0, 1.0) * side, v * side);
        let flip = if draws.chance(0.5) { -1.0 } else { 1.0 };
        self.draw(canvas, prop, middle, (flip, size), draws.between(0.85, 1.12));
    }

    fn draw(
        &self,
        canvas: &mut Canvas,
        prop: &PropFile,
        middle: (f64, f64),
        (flip, size): (f64, f64),
        light: f64,
    ) {
        let scale = size * canvas.side() as f64 / PROP;
        let placed = Placed { matrix: [scale * flip, 0.0, 0.0, scale], shift: middle };
        for Line(part) in &prop.parts {
            let super::figure::Fill::Plain(color) = part.fill else { continue };
            let color = self.toned(color).map(|level| (level * light).min(0.97));
            canvas.fill(&part.path, placed, |_, _| color);
        }
    }

    /// Lays something before the lower edge of a thing: its middle, and how high it is, in pixels.
    pub(super) fn hide(
        &self,
        canvas: &mut Canvas,
        middle: (f64, f64),
        high: f64,
        draws: &mut Draws,
    ) {
        const BEFORE: [&str; 4] = ["bush", "pebble", "pale_cell", "cloud"];
        let known = BEFORE.iter().find(|name| self.file.props.iter().any(|prop| prop == *name));
        let Some(name) = known else { return };
        let size = high / canvas.side() as f64;
        self.draw(canvas, &FILE.prop[*name], middle, (1.0, size), draws.between(0.85, 1.1));
    }
}
