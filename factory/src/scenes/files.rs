//! The files of a scene: pictures of all rows, and the truth of training rows as pictures.

use super::Scene;
use crate::data::items::Item;
use crate::data::table;
use crate::media::image::picture::encode_grey;
use crate::spec::scene::SceneLayout;
use ndarray::Array2;
use polars::prelude::Column;
use std::collections::BTreeMap;
use tasks::values::Values;

/// The folder of the pictures.
pub const PICTURES: &str = "images";
/// The folder of training masks.
pub const MASKS: &str = "masks";
/// The folder of clean training pictures.
pub const CLEAN: &str = "clean";

/// The column called `name`, which names the pictures.
pub fn column(name: &str, ids: &[String]) -> Column {
    table::texts(name, ids.iter().map(|id| format!("{PICTURES}/{id}.png")))
}

/// The pictures, by their path within the public half.
pub fn pictures<'a>(
    ids: &'a [String],
    items: &'a [Item],
) -> impl Iterator<Item = (String, Vec<u8>)> + 'a {
    ids.iter().zip(items).map(|(id, item)| (format!("{PICTURES}/{id}.png"), item.bytes.clone()))
}

/// The truth of training rows as pictures, where it can be seen.
pub fn truths(layout: &SceneLayout, ids: &[String], truth: &Values) -> BTreeMap<String, Vec<u8>> {
    let scene: &dyn Scene = layout.rule.scene();
    let side = scene.side();
    let encoded = |pixels: Vec<u8>| {
        let pixels = Array2::from_shape_vec((side, side), pixels);
        encode_grey(&pixels.expect("a truth has the sides of its picture"))
    };
    match truth {
        Values::Masks(masks) => {
            let file = |(id, mask): (&String, &tasks::mask::Mask)| {
                let white = |set: bool| if set { u8::MAX } else { 0 };
                let pixels = mask.pixels(side, side).into_iter().map(white).collect();
                (format!("{MASKS}/{id}.png"), encoded(pixels))
            };
            ids.iter().zip(masks).map(file).collect()
        }
        Values::Images { images, frame } => {
            let top = frame.levels - 1;
            let file = |(id, image): (&String, &Vec<u16>)| {
                let grey = |value: &u16| {
                    u8::try_from((u32::from(*value) * 255 + top / 2) / top).unwrap_or(u8::MAX)
                };
                (format!("{CLEAN}/{id}.png"), encoded(image.iter().map(grey).collect()))
            };
            ids.iter().zip(images).map(file).collect()
        }
        _ => BTreeMap::new(),
    }
}
