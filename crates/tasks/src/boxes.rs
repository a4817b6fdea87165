//! Bounding boxes of objects, and their text form in submissions and answers.

/// The most boxes that a row may hold: what COCO's evaluation looks at.
pub const MAX_BOXES: usize = 100;

/// The largest coordinate or side, far beyond any image; products of two stay exact enough.
const MAX_SIDE: f64 = 1e6;

/// The smallest side, so that no area vanishes.
const MIN_SIDE: f64 = 1e-6;

/// An object's class and place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Object {
    /// Index into the sorted classes.
    pub class: usize,
    /// Smallest horizontal coordinate, in pixels from the left.
    pub x: f64,
    /// Smallest vertical coordinate, in pixels from the top.
    pub y: f64,
    /// Width, at least 1e-6.
    pub w: f64,
    /// Height, at least 1e-6.
    pub h: f64,
}

/// A predicted object with the model's confidence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Detection {
    /// The class and the box that are predicted.
    pub object: Object,
    /// In [0, 1]; detections compete in its order.
    pub confidence: f64,
}

impl Object {
    /// Area shared with `other` over the area of both together, in [0, 1]; the class does not
    /// matter.
    ///
    /// # Examples
    /// ```rust
    /// use tasks::boxes::Object;
    ///
    /// let left = Object { class: 0, x: 0.0, y: 0.0, w: 2.0, h: 2.0 };
    /// let right = Object { class: 0, x: 1.0, y: 0.0, w: 2.0, h: 2.0 };
    /// assert_eq!(left.iou(&right), 2.0 / 6.0);
    /// ```
    pub fn iou(&self, other: &Self) -> f64 {
        let side = |a: f64, wide_a: f64, b: f64, wide_b: f64| {
            ((a + wide_a).min(b + wide_b) - a.max(b)).max(0.0)
        };
        let shared =
            side(self.x, self.w, other.x, other.w) * side(self.y, self.h, other.y, other.h);
        shared / (self.w * self.h + other.w * other.h - shared)
    }

    /// The text form, `class x y w h`.
    pub fn text(&self, classes: &[String]) -> String {
        format!("{} {} {} {} {}", classes[self.class], self.x, self.y, self.w, self.h)
    }
}

impl Detection {
    /// The text form, `class confidence x y w h`.
    pub fn text(&self, classes: &[String]) -> String {
        let Object { class, x, y, w, h } = self.object;
        format!("{} {} {x} {y} {w} {h}", classes[class], self.confidence)
    }
}

/// Reads the boxes of an answer: `class x y w h` each.
///
/// # Errors
/// What the text is not, with the reason.
pub fn parse_objects(text: &str, classes: &[String]) -> Result<Vec<Object>, String> {
    let form = BoxFormat { classes, size: 5, layout: "class x y w h" };
    form.parse(text, |_, object| Ok(object))
}

/// Reads the boxes of a submission: `class confidence x y w h` each.
///
/// # Errors
/// What the text is not, with the reason.
///
/// # Examples
/// ```rust
/// use tasks::boxes::parse_detections;
///
/// let classes = ["cat".to_owned(), "dog".to_owned()];
/// let found = parse_detections("dog 0.9 10 20 30 40 cat 0.25 0 0 5 5", &classes)?;
/// assert_eq!(found.len(), 2);
/// assert_eq!((found[0].object.class, found[0].confidence), (1, 0.9));
/// assert!(parse_detections("eel 0.9 10 20 30 40", &classes).is_err());
/// assert!(parse_detections("dog 10 20 30 40", &classes).is_err(), "the confidence is missing");
/// # Ok::<(), String>(())
/// ```
pub fn parse_detections(text: &str, classes: &[String]) -> Result<Vec<Detection>, String> {
    let form = BoxFormat { classes, size: 6, layout: "class confidence x y w h" };
    form.parse(text, |words, object| {
        let confidence = number(words[1]).filter(|value| (0.0..=1.0).contains(value));
        let confidence = confidence.ok_or("the confidence must lie between 0 and 1".to_owned())?;
        Ok(Detection { object, confidence })
    })
}

/// How a list of boxes is written.
struct BoxFormat<'a> {
    classes: &'a [String],
    /// Words per box: the class first, the four numbers of the place last.
    size: usize,
    layout: &'static str,
}

impl BoxFormat<'_> {
    fn parse<T>(
        &self,
        text: &str,
        wrap: impl Fn(&[&str], Object) -> Result<T, String>,
    ) -> Result<Vec<T>, String> {
        // Counted before any is kept.
        let count = text.split_ascii_whitespace().count();
        let boxes = count / self.size;
        if !count.is_multiple_of(self.size) {
            let layout = self.layout;
            return Err(format!("a list of boxes `{layout}`: it has {count} words"));
        }
        if boxes > MAX_BOXES {
            return Err(format!("a list of at most {MAX_BOXES} boxes: it has {boxes}"));
        }
        let one = |(index, words): (usize, &[&str])| {
            self.place(words)
                .and_then(|object| wrap(words, object))
                .map_err(|reason| format!("a list of boxes: in box {}, {reason}", index + 1))
        };
        let words: Vec<&str> = text.split_ascii_whitespace().collect();
        let mut read = Vec::with_capacity(boxes);
        for item in words.chunks_exact(self.size).enumerate() {
            read.push(one(item)?);
        }
        Ok(read)
    }

    fn place(&self, words: &[&str]) -> Result<Object, String> {
        let class = self.classes.iter().position(|class| class == words[0]);
        let class = class
            .ok_or_else(|| format!("the class must be one of [{}]", self.classes.join(", ")))?;
        let place: Option<Vec<f64>> =
            words[self.size - 4..].iter().map(|word| number(word)).collect();
        match place.as_deref() {
            Some(&[x, y, w, h]) if w >= MIN_SIDE && h >= MIN_SIDE => {
                Ok(Object { class, x, y, w, h })
            }
            Some(_) => Err("w and h must be above 0".to_owned()),
            None => Err(format!("x, y, w and h must be numbers of at most {MAX_SIDE}")),
        }
    }
}

fn number(word: &str) -> Option<f64> {
    word.parse().ok().filter(|value: &f64| value.abs() <= MAX_SIDE)
}

/// The boxes of one cell, each written by `text`.
pub fn join<T>(boxes: &[T], text: impl Fn(&T) -> String) -> String {
    boxes.iter().map(text).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn classes() -> Vec<String> {
        vec!["cat".to_owned(), "dog".to_owned()]
    }

    #[test]
    fn iou_of_half_overlapping_squares_is_a_third() {
        let at = |x| Object { class: 0, x, y: 0.0, w: 2.0, h: 2.0 };
        assert!((at(0.0).iou(&at(1.0)) - 1.0 / 3.0).abs() < 1e-15);
        assert_eq!(at(0.0).iou(&at(2.0)), 0.0);
        assert_eq!(at(0.5).iou(&at(0.5)), 1.0);
    }

    proptest! {
        #[test]
        fn boxes_round_trip(
            boxes in proptest::collection::vec(
                (0..2usize, 0.0..=1.0f64, -1e3..1e3f64, -1e3..1e3f64, 1e-3..1e3f64, 1e-3..1e3f64),
                0..5,
            ),
        ) {
            let detections: Vec<Detection> = boxes
                .into_iter()
                .map(|(class, confidence, x, y, w, h)| {
                    Detection { object: Object { class, x, y, w, h }, confidence }
                })
                .collect();
            let objects: Vec<Object> = detections.iter().map(|found| found.object).collect();
            let text = join(&detections, |found| found.text(&classes()));
            prop_assert_eq!(parse_detections(&text, &classes()).unwrap(), detections);
            let text = join(&objects, |object| object.text(&classes()));
            prop_assert_eq!(parse_objects(&text, &classes()).unwrap(), objects);
        }

        #[test]
        fn any_text_is_read_or_refused(text in "(cat|dog|eel|nan|inf|-|1|0.5|1e9| ){0,30}") {
            let _ = (parse_detections(&text, &classes()), parse_objects(&text, &classes()));
        }
    }
}
