//! The layout of a task whose truth is a mask, boxes or a picture, and its hidden rule.
//!
//! Displayed, a rule's parts are the formula that the manifest holds.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The layout of a task whose truth is a mask, boxes or a picture.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SceneLayout {
    /// The column that names the pictures' files.
    pub column: String,
    /// The column of the truth.
    pub target: String,
    /// What is drawn, and what belongs.
    pub rule: SceneRule,
}

/// The hidden rule of a scene.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "scene", rename_all = "snake_case")]
pub enum SceneRule {
    /// Regions that belong to a mask.
    Segmentation(Segmentation),
    /// Things with boxes around them.
    Detection(Detection),
    /// Damaged pictures, whose clean copies are to be predicted.
    Reconstruction(Reconstruction),
}

impl SceneRule {
    /// What is asked of the pictures, in a word.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Segmentation(_) => "segmentation",
            Self::Detection(_) => "detection",
            Self::Reconstruction(scene) => match scene.damage {
                Damage::None => "deblurring",
                Damage::Lines { .. } => "lines",
                Damage::Scratches { .. } => "scratches",
            },
        }
    }

    /// The rule as a line.
    pub fn formula(&self) -> String {
        match self {
            Self::Segmentation(scene) => scene.to_string(),
            Self::Detection(scene) => scene.to_string(),
            Self::Reconstruction(scene) => scene.to_string(),
        }
    }

    /// A hash that two tasks share only if they ask for the same discoveries.
    pub fn canonical_hash(&self) -> String {
        blake3::hash(self.formula().as_bytes()).to_hex()[..16].to_owned()
    }
}

/// The direction and the wavelength of a stripe pattern.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stripes {
    /// Direction across the stripes, in degrees clockwise from level.
    pub turn: f64,
    /// Pixels from stripe to stripe.
    pub period: f64,
}

impl fmt::Display for Stripes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stripes(turn {}, period {})", self.turn, self.period)
    }
}

/// What belongs to the mask, and what the pictures are like.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Segmentation {
    /// Pixels along an edge.
    pub side: usize,
    /// Regions fit into a square arrangement of this many cells along an edge.
    pub cells: usize,
    /// The texture of what belongs.
    pub belongs: Stripes,
    /// The texture of what only looks like it.
    pub lookalike: Stripes,
    /// Mean radius of the regions, in pixels.
    pub radius: f64,
    /// How much brighter regions are than the ground; negative for darker.
    pub tone: f64,
    /// Height of the stripes.
    pub height: f64,
}

impl fmt::Display for Segmentation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "mask = {}; lookalike = {}", self.belongs, self.lookalike)
    }
}

/// A class of things.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Class {
    /// Stripe pattern that marks the class.
    pub stripes: Stripes,
    /// Its size over the mean size.
    pub size: f64,
}

/// What is asked for, and what the pictures are like.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Detection {
    /// Pixels along an edge.
    pub side: usize,
    /// The classes, in the order of their names.
    pub classes: Vec<Class>,
    /// Mean radius, in pixels.
    pub radius: f64,
    /// How much brighter things are than the ground; negative for darker.
    pub tone: f64,
    /// Height of the stripes.
    pub height: f64,
}

impl fmt::Display for Detection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, Class { stripes, size }) in self.classes.iter().enumerate() {
            write!(f, "class {index} = {stripes}, size {size}; ")?;
        }
        write!(f, "lookalike = plain or crossed")
    }
}

/// How a picture is damaged besides the blur.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "damage", rename_all = "snake_case", deny_unknown_fields)]
pub enum Damage {
    /// The picture is only blurred.
    None,
    /// Every so many rows, one is black.
    Lines {
        /// From black row to black row.
        every: usize,
    },
    /// White scratches across the picture.
    Scratches {
        /// Number of scratches on each picture.
        count: usize,
    },
}

/// What was done to the pictures, and what they show.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reconstruction {
    /// Pixels along an edge.
    pub side: usize,
    /// Number of grey levels of a pixel.
    pub levels: u32,
    /// Length of the motion in pixels.
    pub length: f64,
    /// Direction of the motion in degrees clockwise from level.
    pub turn: f64,
    /// Spread of the lens's blur, in pixels.
    pub focus: f64,
    /// Damage that is added to the blur.
    pub damage: Damage,
    /// Things on each picture, about.
    pub things: usize,
}

impl fmt::Display for Reconstruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { length, turn, focus, .. } = self;
        write!(f, "seen = motion(length {length}, turn {turn}) * bell(sigma {focus})")?;
        match self.damage {
            Damage::None => Ok(()),
            Damage::Lines { every } => write!(f, "; black rows(every {every})"),
            Damage::Scratches { count } => write!(f, "; white scratches(count {count})"),
        }
    }
}
