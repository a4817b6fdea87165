//! Test items that are training items, changed a little.

use super::*;
use crate::media::image::picture::{decode, encode};
use crate::numeric::draws::Draws;
use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use image::{ExtendedColorType, ImageEncoder as _};
use ndarray::Array3;

/// A picture with each pixel changed, in as many channels as before.
fn repainted(file: &[u8], mut change: impl FnMut(usize, u8) -> u8) -> Vec<u8> {
    let picture = decode(file).unwrap();
    // The header's colour type.
    let channels = if file[25] == 2 { 3 } else { 1 };
    let side = picture.side();
    let pixels: Vec<u8> = picture
        .bytes
        .iter()
        .enumerate()
        .flat_map(|(place, byte)| vec![change(place, *byte); channels])
        .collect();
    encode(Format::Png, Array3::from_shape_vec((side, side, channels), pixels).unwrap().view())
}

#[test]
fn copies_of_pictures_are_seen() {
    for formulation in [Formulation::Binary, Formulation::Detection] {
        let cell = Cell { modality: Modality::Image, formulation };
        let bench = Bench::written_as(cell, Some(Format::Png));
        let mut draws = Draws::new(bench.staged.draft.facts.blueprint.origin.stream("test"));
        let source = bench.staged.draft.facts.assets.train_items[5].bytes.clone();
        let noisy = |_, byte: u8| {
            let shift = 3.0 * draws.normal();
            // Test-only rounding by way of text keeps clear of casts.
            let value = (f64::from(byte) + shift).clamp(0.0, 255.0);
            format!("{value:.0}").parse().unwrap()
        };
        let copies = [
            repainted(&source, |place, byte| if place == 777 { byte ^ 0x80 } else { byte }),
            repainted(&source, |_, byte| byte.saturating_add(15)),
            repainted(&source, |_, byte| byte - byte / 8),
            repainted(&source, noisy),
        ];
        for (index, copy) in copies.into_iter().enumerate() {
            let task = bench.with(|draft| draft.facts.assets.test_items[3].bytes = copy);
            assert_eq!(code(check(&task)), "picture_copy", "{formulation:?} {index}");
        }
        // Written once more, harder compressed: the same picture in other bytes.
        let mut file = Vec::new();
        let picture = decode(&source).unwrap();
        let edge = u32::try_from(picture.side()).unwrap();
        PngEncoder::new_with_quality(&mut file, CompressionType::Best, FilterType::Adaptive)
            .write_image(picture.bytes.as_slice().unwrap(), edge, edge, ExtendedColorType::L8)
            .unwrap();
        assert_ne!(file, source);
        let task = bench.with(|draft| draft.facts.assets.test_items[3].bytes = file);
        assert_eq!(code(copies::no_item_is_a_copy(&task)), "picture_copy");
    }
}

#[test]
fn copies_of_texts_are_seen() {
    for (formulation, format) in [
        (Formulation::Binary, Format::Cells),
        (Formulation::Binary, Format::Text),
        (Formulation::Matching, Format::Cells),
    ] {
        let bench = Bench::written_as(Cell { modality: Modality::Text, formulation }, Some(format));
        let task = bench.with(|draft| {
            let assets = &mut draft.facts.assets;
            let text = String::from_utf8(assets.train_items[5].bytes.clone()).unwrap();
            let mut words: Vec<&str> = text.split(' ').collect();
            let middle = words.len() / 2;
            words[middle] = "otherwise";
            assets.test_items[3].bytes = words.join(" ").into_bytes();
        });
        assert_eq!(code(check(&task)), "text_copy", "{formulation:?} {format:?}");
    }
}
