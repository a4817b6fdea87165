//! The colours of all pages.
//!
//! Text in any of them can be read on both grounds: the contrast is 4.5 or more (WCAG 2.1, AA),
//! which a test computes. The colours of series also differ in lightness, for readers who do not
//! see the hues and for prints in grey.

use std::fmt::Write as _;

/// A colour of the style sheet.
#[derive(Debug, Clone, Copy)]
struct Swatch {
    /// Name of the CSS variable.
    name: &'static str,
    /// As `#rrggbb`, in the light scheme.
    light: &'static str,
    /// As `#rrggbb`, in the dark scheme.
    dark: &'static str,
}

const fn swatch(name: &'static str, light: &'static str, dark: &'static str) -> Swatch {
    Swatch { name, light, dark }
}

/// Grounds first, then the colours of text, then those of series.
const SWATCHES: [Swatch; 16] = [
    swatch("paper", "#faf9f6", "#15181c"),
    swatch("card", "#ffffff", "#1e2227"),
    swatch("line", "#dcd9d1", "#363c44"),
    swatch("ink", "#1d2126", "#e3e6e9"),
    swatch("faint", "#5c636b", "#a3abb4"),
    swatch("good", "#23703f", "#6cc58a"),
    swatch("bad", "#b3261e", "#f2857d"),
    swatch("gold", "#856000", "#dcb544"),
    swatch("silver", "#626a73", "#aab2ba"),
    swatch("bronze", "#99582a", "#d39a68"),
    swatch("c0", "#2166ad", "#6aa9e0"),
    swatch("c1", "#b4560f", "#f0a35e"),
    swatch("c2", "#116149", "#8fe0c0"),
    swatch("c3", "#6b2c91", "#a97fd6"),
    swatch("c4", "#7d1128", "#ffa9b2"),
    swatch("c5", "#171f4d", "#dfe3ff"),
];

/// The CSS variables of both schemes. Paper is light.
pub(super) fn variables() -> String {
    let mut css = String::from(":root { color-scheme: light dark;");
    for Swatch { name, light, .. } in SWATCHES {
        let _ = write!(css, " --{name}: {light};");
    }
    css.push_str(" }\n@media screen and (prefers-color-scheme: dark) { :root {");
    for Swatch { name, dark, .. } in SWATCHES {
        let _ = write!(css, " --{name}: {dark};");
    }
    css.push_str(" } }\n");
    css
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative luminance (WCAG 2.1), from 0 to 1.
    fn luminance(color: &str) -> f64 {
        let channel = |at: usize| {
            let share = f64::from(u8::from_str_radix(&color[at..at + 2], 16).unwrap()) / 255.0;
            if share <= 0.040_45 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
    }

    /// Contrast of two colours (WCAG 2.1), from 1 to 21.
    fn contrast(one: &str, other: &str) -> f64 {
        let (one, other) = (luminance(one), luminance(other));
        (one.max(other) + 0.05) / (one.min(other) + 0.05)
    }

    #[test]
    fn contrast_of_black_and_white_is_21() {
        assert!((contrast("#000000", "#ffffff") - 21.0).abs() < 1e-9);
        // From the W3C's technique G18.
        assert!((contrast("#767676", "#ffffff") - 4.54).abs() < 0.01);
    }

    #[test]
    fn every_color_of_text_can_be_read_on_both_grounds() {
        let [paper, card, _, inks @ ..] = SWATCHES;
        for ground in [paper, card] {
            for ink in inks {
                let light = contrast(ink.light, ground.light);
                let dark = contrast(ink.dark, ground.dark);
                assert!(
                    light >= 4.5 && dark >= 4.5,
                    "{} on {}: {light}, {dark}",
                    ink.name,
                    ground.name
                );
            }
        }
    }

    #[test]
    fn colors_of_series_differ_in_lightness() {
        // L* of CIELAB, from 0 to 100.
        let lightness = |color: &str| 116.0 * luminance(color).cbrt() - 16.0;
        let series: Vec<Swatch> =
            SWATCHES.into_iter().filter(|swatch| swatch.name.starts_with('c')).collect();
        let series: Vec<Swatch> = series.into_iter().filter(|s| s.name != "card").collect();
        assert_eq!(series.len(), 6);
        for scheme in [|swatch: &Swatch| swatch.light, |swatch: &Swatch| swatch.dark] {
            let mut values: Vec<f64> =
                series.iter().map(|swatch| lightness(scheme(swatch))).collect();
            values.sort_by(f64::total_cmp);
            assert!(values.windows(2).all(|pair| pair[1] - pair[0] >= 4.0), "{values:?}");
        }
    }
}
