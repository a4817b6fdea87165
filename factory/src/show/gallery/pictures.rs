//! Pictures beside their targets; masks and boxes drawn over them, undamaged images beside them.

use super::GalleryError;
use super::parts::data_uri;
use super::task::{GalleryTask, ItemColumn};
use crate::data::items;
use crate::media::image::{frames, jpeg};
use camino::Utf8Path;
use image::codecs::png::{PngDecoder, PngEncoder};
use image::{ColorType, DynamicImage, ImageDecoder as _, ImageEncoder as _, ImageError, Limits};
use maud::{Markup, html};
use ndarray::Array2;
use std::fmt::Write as _;
use std::io::Cursor;
use tasks::boxes::Object;
use tasks::mask::Mask;
use tasks::metrics::images::ImageFormat;
use tasks::prediction::Prediction;
use tasks::values::Values;

/// Pictures of a task.
const COUNT: usize = 12;
/// Bytes of a decoded picture at most.
const BYTES: u64 = 1 << 24;

/// Pixels of one byte per channel.
#[derive(Debug)]
pub(super) struct GalleryPicture {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) color: ColorType,
    pub(super) pixels: Vec<u8>,
}

impl GalleryPicture {
    /// A compressed PNG file.
    pub(super) fn encoded(&self) -> Vec<u8> {
        let edge = |side: usize| u32::try_from(side).unwrap_or(u32::MAX);
        let mut file = Vec::new();
        let (width, height) = (edge(self.width), edge(self.height));
        let written =
            PngEncoder::new(&mut file).write_image(&self.pixels, width, height, self.color.into());
        assert!(written.is_ok(), "writing bytes to memory does not fail: {written:?}");
        file
    }

    /// The picture as a `data:` URI with a PNG file in it.
    pub(super) fn uri(&self) -> String {
        data_uri("image/png", &self.encoded())
    }

    /// The frames of a clip, from left to right and from the top, four in a row, thin white lines
    /// between them.
    fn strip(frames: &[Array2<u8>]) -> Self {
        const ACROSS: usize = 4;
        let step = frames[0].nrows() + 1;
        let (width, height) = (ACROSS * step - 1, frames.len().div_ceil(ACROSS) * step - 1);
        let mut pixels = vec![u8::MAX; width * height];
        for (place, frame) in frames.iter().enumerate() {
            let (down, across) = (place / ACROSS * step, place % ACROSS * step);
            for ((y, x), grey) in frame.indexed_iter() {
                pixels[(down + y) * width + across + x] = *grey;
            }
        }
        Self { width, height, color: ColorType::L8, pixels }
    }

    fn read(path: &Utf8Path) -> Result<Self, GalleryError> {
        let bytes = items::read(path)?;
        let wrong = |fault: String| GalleryError::Unreadable { path: path.to_owned(), fault };
        if path.extension() == Some("tif") || path.is_dir() {
            let frames = frames::decode(&bytes).map_err(|error| wrong(error.to_string()))?;
            return Ok(Self::strip(&frames));
        }
        if jpeg::begins(&bytes) {
            let found = jpeg::decode(&bytes).map_err(|error| wrong(error.to_string()))?;
            let (height, width, channels) = found.dim();
            let color = if channels == 3 { ColorType::Rgb8 } else { ColorType::L8 };
            let pixels = found.into_iter().collect();
            return Ok(Self { width, height, color, pixels });
        }
        let broken = |error: ImageError| wrong(error.to_string());
        let mut limits = Limits::no_limits();
        limits.max_alloc = Some(BYTES);
        let decoder = PngDecoder::with_limits(Cursor::new(&bytes), limits).map_err(broken)?;
        if decoder.total_bytes() > BYTES {
            return Err(wrong("it is too large".to_owned()));
        }
        let image = DynamicImage::from_decoder(decoder).map_err(broken)?;
        let [width, height] = [image.width(), image.height()].map(|edge| edge as usize);
        // Browsers show 16 bits a channel as 8 anyway.
        let (color, pixels) = match image.color() {
            ColorType::L8 | ColorType::L16 => (ColorType::L8, image.into_luma8().into_raw()),
            ColorType::Rgb8 | ColorType::Rgb16 => (ColorType::Rgb8, image.into_rgb8().into_raw()),
            _ => (ColorType::Rgba8, image.into_rgba8().into_raw()),
        };
        Ok(Self { width, height, color, pixels })
    }
}

/// The pictures of the example rows; fails if a file is unreadable.
pub(super) fn show(task: &GalleryTask, items: ItemColumn) -> Result<Markup, GalleryError> {
    let mut figures = Vec::new();
    for row in task.examples(COUNT) {
        let cell = &task.train.rows[row][items.column];
        let picture = GalleryPicture::read(&task.item_path(cell)?)?;
        figures.push(html! {
            figure { (with_truth(task, row, &picture, cell)) figcaption { (task.label(row)) } }
        });
    }
    Ok(html! { div.cards { @for figure in figures { (figure) } } })
}

/// A picture and whatever of the truth can be drawn on it.
fn with_truth(task: &GalleryTask, row: usize, picture: &GalleryPicture, name: &str) -> Markup {
    let over = match (&task.dir.manifest().prediction, &task.truth) {
        (Prediction::Mask { width, height, .. }, Values::Masks(masks)) => {
            masked(&masks[row], *width, *height)
        }
        (Prediction::Boxes { classes, .. }, Values::Objects(rows)) => {
            framed(&rows[row], classes, picture)
        }
        _ => Markup::default(),
    };
    html! {
        (drawn(picture, name, &over))
        @if let Values::Images { images, frame } = &task.truth {
            (undamaged(&images[row], *frame))
        }
    }
}

/// A picture with what is drawn over it, in units of its pixels.
fn drawn(picture: &GalleryPicture, name: &str, over: &Markup) -> Markup {
    let GalleryPicture { width, height, .. } = picture;
    html! {
        svg.picture viewBox=(format!("0 0 {width} {height}")) role="img" aria-label=(name) {
            image width=(width) height=(height) href=(picture.uri()) {}
            (over)
        }
    }
}

/// The pixels of a mask, column by column as masks are kept.
fn masked(mask: &Mask, width: usize, height: usize) -> Markup {
    let pixels = mask.pixels(width, height);
    let mut path = String::new();
    for x in 0..width {
        let set = |y: usize| pixels[y * width + x];
        let mut y = 0;
        while y < height {
            let length = (y..height).take_while(|y| set(*y)).count();
            if length > 0 {
                let _ = write!(path, "M{x} {y}h1v{length}h-1z");
            }
            y += length + 1;
        }
    }
    html! { path.mask d=(path) {} }
}

/// Boxes in the picture's pixels, with a colour for each class.
fn framed(objects: &[Object], classes: &[String], picture: &GalleryPicture) -> Markup {
    let thick = format!("{:.2}", picture.width.max(picture.height) as f64 / 64.0);
    let number = |value: f64| format!("{value:.2}");
    html! {
        @for object in objects {
            rect class=(format!("box k{}", object.class % 6)) x=(number(object.x))
                y=(number(object.y)) width=(number(object.w)) height=(number(object.h))
                stroke-width=(thick) {
                title { (classes.get(object.class).map_or("", String::as_str)) }
            }
        }
    }
}

/// What a damaged image is to become.
fn undamaged(image: &[u16], frame: ImageFormat) -> Markup {
    let most = u64::from(frame.levels.max(2) - 1);
    let byte = |pixel: &u16| u8::try_from(u64::from(*pixel) * 255 / most).unwrap_or(u8::MAX);
    let picture = GalleryPicture {
        width: frame.width,
        height: frame.height,
        color: ColorType::L8,
        pixels: image.iter().map(byte).collect(),
    };
    drawn(&picture, "undamaged", &Markup::default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_are_drawn_where_they_are_set() {
        let mask = Mask::parse("2 2 6 1", 3, 2).unwrap();
        assert_eq!(
            masked(&mask, 3, 2).into_string(),
            "<path class=\"mask\" d=\"M0 1h1v1h-1zM1 0h1v1h-1zM2 1h1v1h-1z\"></path>"
        );
    }

    #[test]
    fn boxes_and_images_stay_in_their_elements() {
        let picture = GalleryPicture {
            width: 2,
            height: 2,
            color: ColorType::L8,
            pixels: vec![0, 80, 160, 255],
        };
        let object = Object { class: 0, x: 0.5, y: 0.0, w: 1.0, h: 1.5 };
        let html = framed(&[object], &["<b>".to_owned()], &picture).into_string();
        assert!(
            html.starts_with("<rect class=\"box k0\" x=\"0.50\"") && html.contains("&lt;b&gt;")
        );
        let format = ImageFormat { width: 2, height: 2, levels: 4 };
        let html = undamaged(&[0, 1, 2, 3], format).into_string();
        assert!(html.contains("data:image/png;base64,iVBOR"), "{html}");
    }
}
