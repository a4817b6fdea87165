//! A scene: what draws pictures together with their truth, and fits the rungs to them.

#[cfg(test)]
mod tests;

use crate::baselines::ladder::{Ladder, LadderError};
use crate::baselines::rungs::{self, Rungs};
use crate::data::assets::{self, Assets};
use crate::data::items::Item;
use crate::media::image::features;
use crate::media::image::picture::{byte, decode, encode_grey};
use crate::media::{Blemish, MediumError, Reading};
use crate::numeric::draws::Draws;
use crate::spec::blueprint::Blueprint;
use crate::spec::scene::{SceneLayout, SceneRule};
use ndarray::Array2;
use std::collections::BTreeMap;
use std::fmt;
use tasks::boxes::{Detection as Found, Object};
use tasks::mask::Mask;
use tasks::metrics::images::ImageFormat;
use tasks::prediction::Prediction;
use tasks::values::Values;

/// The truth of a training picture wanders about the visible edge.
pub(super) const JITTER: Blemish = Blemish {
    name: "jitter",
    low: 0.4,
    high: 0.8,
    means: "annotators were off by about a pixel here and there",
};
/// The sensor adds noise.
pub(super) const NOISE: Blemish =
    Blemish { name: "noise", low: 0.01, high: 0.03, means: "the sensor adds noise to every pixel" };
/// The lens is out of focus.
pub(super) const BLUR: Blemish =
    Blemish { name: "blur", low: 0.3, high: 0.55, means: "the lens is slightly out of focus" };

/// Strengths of a task's blemishes, by name.
pub type Strengths = BTreeMap<String, f64>;

impl SceneRule {
    /// What draws and solves it.
    pub fn scene(&self) -> &dyn Scene {
        match self {
            Self::Segmentation(scene) => scene,
            Self::Detection(scene) => scene,
            Self::Reconstruction(scene) => scene,
        }
    }
}

/// The truth of one picture.
#[derive(Debug, Clone, PartialEq)]
pub enum Annotation {
    /// The pixels that belong, as a mask.
    Mask(Mask),
    /// The objects, each with a class and a box.
    Objects(Vec<Object>),
    /// The clean picture: one intensity per pixel.
    Image(Vec<u16>),
}

/// A picture with its truth.
#[derive(Debug, Clone, PartialEq)]
pub struct Drawn {
    /// What the file shows, from 0 (black) to 1 (white): `[down, across]`.
    pub(super) picture: Array2<f64>,
    /// The answer that is to be predicted.
    pub(super) truth: Annotation,
    /// The best possible forecast: the answer without the annotators' slips.
    pub(super) ideal: Annotation,
}

/// What a scene fits its rungs to: the pictures as their files hold them.
pub type Material<'a> = rungs::Material<'a, Array2<f64>>;

/// A kind of picture with a truth of its own kind, and the rungs that solve it. Displayed, it is
/// the hidden rule as a formula.
pub trait Scene: fmt::Debug + fmt::Display + Sync {
    /// Pixels along an edge.
    fn side(&self) -> usize;

    /// Number of intensities that the truth has, where it is a picture.
    fn levels(&self) -> u32 {
        2
    }

    /// How pictures and truth can be worse than clean.
    fn blemishes(&self) -> &'static [Blemish];

    /// What a submission holds.
    fn prediction(&self, column: &str, classes: &[String]) -> Prediction;

    /// A picture with its truth.
    fn draw(&self, strengths: &Strengths, draws: &mut Draws) -> Drawn;

    /// Fits the rungs to the training pictures. R0 says the same of every picture.
    ///
    /// # Errors
    /// [`LadderError`] if a model cannot be fitted.
    fn climb(&self, material: &Material<'_>) -> Result<Rungs, LadderError>;

    /// The format of its pictures.
    fn frame(&self) -> ImageFormat {
        ImageFormat { width: self.side(), height: self.side(), levels: self.levels() }
    }
}

/// Draws a task's pictures.
///
/// # Errors
/// [`MediumError`] if a file that was just written cannot be read.
pub(super) fn render(blueprint: &Blueprint, layout: &SceneLayout) -> Result<Assets, MediumError> {
    let scene = layout.rule.scene();
    let stream = blueprint.origin.stream("assets");
    let strengths = blueprint.blemishes();
    let rows = blueprint.rows.train + blueprint.rows.test;
    let (mut items, mut truths, mut ideals) = (Vec::new(), Vec::new(), Vec::new());
    for row in 0..rows {
        let mut draws = Draws::new(stream.child("scene").index(row as u64));
        let drawn = scene.draw(&strengths, &mut draws);
        let bytes = encode_grey(&drawn.picture.mapv(byte));
        let reading = reading(&bytes)?;
        items.push(Item::new(bytes, reading));
        truths.push(drawn.truth);
        ideals.push(drawn.ideal);
    }
    let truths = gathered(truths, scene.frame());
    let ideals = gathered(ideals, scene.frame());
    Ok(assets::structured(blueprint, items, &truths, &ideals, stream))
}

/// What solvers make of a picture as a whole. A scene has no statistics to estimate.
///
/// # Errors
/// [`MediumError`] if the bytes are not a picture.
pub(super) fn reading(bytes: &[u8]) -> Result<Reading, MediumError> {
    let picture = decode(bytes)?;
    Ok(Reading {
        plain: features::plain(&picture),
        generic: features::generic(&picture),
        estimates: Vec::new(),
    })
}

/// The truths or forecasts of several pictures of one scene.
fn gathered(annotations: Vec<Annotation>, frame: ImageFormat) -> Values {
    let (mut masks, mut objects, mut images) = (Vec::new(), Vec::new(), Vec::new());
    for annotation in annotations {
        match annotation {
            Annotation::Mask(mask) => masks.push(mask),
            Annotation::Objects(boxes) => objects.push(boxes),
            Annotation::Image(image) => images.push(image),
        }
    }
    if !masks.is_empty() {
        Values::Masks(masks)
    } else if !objects.is_empty() {
        Values::Objects(objects)
    } else {
        Values::Images { images, frame }
    }
}

/// Boxes, submitted with full confidence; anything else as it is.
pub(crate) fn submitted(truth: &Values) -> Values {
    let sure = |object: &Object| Found { object: *object, confidence: 1.0 };
    match truth {
        Values::Objects(rows) => {
            Values::Detections(rows.iter().map(|row| row.iter().map(sure).collect()).collect())
        }
        other => other.clone(),
    }
}

/// Fits and scores all rungs of a scene: a forest more would cost as much as all the rest.
///
/// # Errors
/// [`LadderError`].
pub(super) fn climb(
    blueprint: &Blueprint,
    layout: &SceneLayout,
    assets: &Assets,
) -> Result<Ladder, LadderError> {
    let grid = |item: &Item| decode(&item.bytes).map(|picture| picture.grey).ok();
    rungs::climb(blueprint, assets, grid, |material| layout.rule.scene().climb(material))
}
