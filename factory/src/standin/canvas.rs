//! Pictures to draw on, and their files as PNG, JPEG and BMP.
//!
//! Coordinates are in pixels, `x` across and `y` down, from the upper left corner. Colours are red,
//! green and blue from 0 to 255; grey files take the red.

use crate::numeric::draws::{Draws, floor};
use image::codecs::bmp::BmpEncoder;
use image::codecs::jpeg::JpegEncoder;
use image::codecs::png::PngEncoder;
use image::{ExtendedColorType, ImageEncoder, ImageResult};

/// Red, green and blue, each 0 to 255.
pub(super) type Color = [f64; 3];

/// How much JPEG files keep, of 100.
const QUALITY: u8 = 90;

/// How pixels are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Channels {
    /// One byte, the red.
    Grey,
    /// Three bytes.
    Rgb,
}

/// A picture.
#[derive(Debug, Clone)]
pub(super) struct Canvas {
    width: usize,
    height: usize,
    pixels: Vec<Color>,
}

impl Canvas {
    /// A picture of one colour.
    pub(super) fn new(width: usize, height: usize, color: Color) -> Self {
        Self { width, height, pixels: vec![color; width * height] }
    }

    /// Colours each pixel by what `paint` makes of its centre and its colour.
    pub(super) fn paint(&mut self, mut paint: impl FnMut(f64, f64, Color) -> Color) {
        for (place, pixel) in self.pixels.iter_mut().enumerate() {
            let (x, y) = ((place % self.width) as f64 + 0.5, (place / self.width) as f64 + 0.5);
            *pixel = paint(x, y, *pixel);
        }
    }

    /// Fills the rectangle from (`x`, `y`) that is `width` across and `height` down.
    pub(super) fn rectangle(&mut self, [x, y]: [f64; 2], [width, height]: [f64; 2], color: Color) {
        self.paint(|px, py, old| {
            let is_inside = (x..x + width).contains(&px) && (y..y + height).contains(&py);
            if is_inside { color } else { old }
        });
    }

    /// Fills the ellipse around (`x`, `y`) with the half axes `radii`.
    pub(super) fn ellipse(&mut self, [x, y]: [f64; 2], radii: [f64; 2], color: Color) {
        self.paint(|px, py, old| {
            let (u, v) = ((px - x) / radii[0], (py - y) / radii[1]);
            if u * u + v * v <= 1.0 { color } else { old }
        });
    }

    /// Fills the circle around `centre`.
    pub(super) fn disc(&mut self, centre: [f64; 2], radius: f64, color: Color) {
        self.ellipse(centre, [radius, radius], color);
    }

    /// Draws a line of that width.
    pub(super) fn line(&mut self, from: [f64; 2], to: [f64; 2], width: f64, color: Color) {
        let (dx, dy) = (to[0] - from[0], to[1] - from[1]);
        let length = (dx * dx + dy * dy).max(1e-9);
        self.paint(|x, y, old| {
            let along = (((x - from[0]) * dx + (y - from[1]) * dy) / length).clamp(0.0, 1.0);
            let (u, v) = (x - from[0] - along * dx, y - from[1] - along * dy);
            if 4.0 * (u * u + v * v) <= width * width { color } else { old }
        });
    }

    /// Adds grey noise, uniform within `amount` to either side.
    pub(super) fn grain(&mut self, draws: &mut Draws, amount: f64) {
        let mut noise = vec![0.0; self.pixels.len()];
        draws.units(&mut noise);
        for (pixel, noise) in self.pixels.iter_mut().zip(noise) {
            *pixel = pixel.map(|value| value + (2.0 * noise - 1.0) * amount);
        }
    }

    /// The colour of the pixel in that row and column.
    pub(super) fn at(&self, row: usize, column: usize) -> Color {
        self.pixels[row * self.width + column]
    }

    /// The pixels' bytes, row by row.
    pub(super) fn bytes(&self, channels: Channels) -> Vec<u8> {
        let count = match channels {
            Channels::Grey => 1,
            Channels::Rgb => 3,
        };
        self.pixels
            .iter()
            .flat_map(|pixel| pixel[..count].iter().map(|value| byte(*value)))
            .collect()
    }

    /// Pixels across and down.
    pub(super) fn size(&self) -> [u32; 2] {
        [self.width, self.height].map(|side| u32::try_from(side).expect("pictures are small"))
    }

    /// The picture as a PNG file.
    pub(super) fn png(&self, channels: Channels) -> Vec<u8> {
        self.encoded(channels, |file, bytes, [width, height], color| {
            PngEncoder::new(file).write_image(bytes, width, height, color)
        })
    }

    /// The picture as a JPEG file.
    pub(super) fn jpeg(&self, channels: Channels) -> Vec<u8> {
        self.encoded(channels, |file, bytes, [width, height], color| {
            JpegEncoder::new_with_quality(file, QUALITY).encode(bytes, width, height, color)
        })
    }

    /// The picture as a BMP file.
    pub(super) fn bmp(&self, channels: Channels) -> Vec<u8> {
        self.encoded(channels, |file, bytes, [width, height], color| {
            BmpEncoder::new(file).encode(bytes, width, height, color)
        })
    }

    fn encoded(
        &self,
        channels: Channels,
        encode: impl FnOnce(&mut Vec<u8>, &[u8], [u32; 2], ExtendedColorType) -> ImageResult<()>,
    ) -> Vec<u8> {
        let color = match channels {
            Channels::Grey => ExtendedColorType::L8,
            Channels::Rgb => ExtendedColorType::Rgb8,
        };
        let mut file = Vec::new();
        encode(&mut file, &self.bytes(channels), self.size(), color)
            .expect("a small picture is encoded in memory");
        file
    }
}

/// A value as a byte: rounded, and cut off at both ends.
pub(super) fn byte(value: f64) -> u8 {
    u8::try_from(floor(value.clamp(0.0, 255.0) + 0.5)).expect("at most 255")
}

#[cfg(test)]
mod tests {
    use super::*;
    use tasks::stream::Stream;

    fn drawn() -> Canvas {
        let mut canvas = Canvas::new(24, 16, [40.0, 90.0, 160.0]);
        canvas.disc([8.0, 8.0], 5.0, [200.0, 60.0, 30.0]);
        canvas.line([2.0, 14.0], [22.0, 3.0], 2.0, [250.0, 250.0, 250.0]);
        canvas.grain(&mut Draws::new(Stream::root(5)), 20.0);
        canvas
    }

    #[test]
    fn files_are_the_same_bytes_on_every_machine() {
        let canvas = drawn();
        let hash = |bytes: &[u8]| blake3::hash(bytes).to_hex()[..16].to_owned();
        let rgb = Channels::Rgb;
        let hashes = [canvas.png(rgb), canvas.jpeg(rgb), canvas.bmp(rgb)].map(|file| hash(&file));
        assert_eq!(hashes, ["eff0b638a085c3a6", "f5f0e45821b610f6", "43c634123f82c24c"]);
    }

    #[test]
    fn lossless_files_come_back_as_they_were() {
        let canvas = drawn();
        for channels in [Channels::Grey, Channels::Rgb] {
            for file in [canvas.png(channels), canvas.bmp(channels)] {
                let back = image::load_from_memory(&file).unwrap();
                let bytes = match channels {
                    Channels::Grey => back.to_luma8().into_raw(),
                    Channels::Rgb => back.to_rgb8().into_raw(),
                };
                assert_eq!(bytes, canvas.bytes(channels));
            }
        }
    }

    #[test]
    fn bytes_are_rounded_and_cut_off() {
        assert_eq!([-3.0, 0.4, 0.5, 254.6, 300.0].map(byte), [0, 0, 1, 255, 255]);
    }
}
