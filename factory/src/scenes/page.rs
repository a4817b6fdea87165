//! What a scene's description page says, as competition pages do, without the rule.

use super::Scene;
use super::files::{CLEAN, MASKS, PICTURES};
use crate::numeric::draws::Draws;
use crate::spec::scenario::SceneScenario;
use crate::spec::scene::SceneLayout;
use std::fmt::Write as _;
use tasks::metrics::images::ImageFormat;
use tasks::prediction::Prediction;
use tasks::task::Formulation;

/// What is asked for, after the story.
pub fn goal(story: &SceneScenario, prediction: &Prediction, draws: &mut Draws) -> String {
    let SceneScenario { row, target, means, .. } = story;
    let choice = draws.whole(0, 2);
    match prediction {
        Prediction::Boxes { classes, .. } => {
            let kinds = listed(classes);
            let many = if classes.len() > 1 { "classes" } else { "class" };
            let goal = match choice {
                0 => format!(
                    "Find {means} on every {row} of the test set: a box, a class and a confidence for each. The {many}: {kinds}."
                ),
                1 => format!(
                    "Your detector should put a box around {means}, wherever they are on a {row}, and name the class. There is {kinds} to look for."
                ),
                _ => format!(
                    "`{target}` lists boxes around {means}, of the {many} {kinds}. Predict it for each {row} of the test set."
                ),
            };
            let warning = draws.pick(&[
                "Other things on the picture may look much the same from afar; they are not labelled and cost precision.",
                "Not all that stands out is wanted. What is not wanted has no box in the training data.",
                "Beware of things of no listed class: nobody drew boxes around them.",
            ]);
            format!("{goal} {warning}")
        }
        Prediction::Pixels { .. } => match choice {
            0 => format!("Undo the damage: for every {row} of the test set, submit {means}."),
            1 => format!(
                "For training rows you get the damaged picture and {means}. Restore the test rows, where only the damaged picture is given."
            ),
            _ => format!(
                "`{target}` holds {means}. Estimate it from the damaged picture of each {row}."
            ),
        },
        _ => {
            let goal = match choice {
                0 => format!("For every {row} of the test set, mark {means}."),
                1 => format!(
                    "Segment each {row}: a pixel belongs to `{target}` if it is part of {means}."
                ),
                _ => format!(
                    "`{target}` covers {means}. Predict it pixel by pixel for each {row} of the test set."
                ),
            };
            let warning = draws.pick(&[
                "Other regions stand out just as much without belonging to it.",
                "Brightness alone does not tell what belongs to it.",
                "Some regions only resemble what is asked for; leave them out.",
            ]);
            format!("{goal} {warning}")
        }
    }
}

/// Lines for the data section.
pub fn data(layout: &SceneLayout, prediction: &Prediction, draws: &mut Draws) -> String {
    let scene: &dyn Scene = layout.rule.scene();
    let ImageFormat { width, height, levels } = scene.frame();
    let size = format!("{width} x {height} pixels");
    let opening = match draws.whole(0, 4) {
        0 => format!("Pictures are {size} in grey."),
        1 => format!("Each picture is {size} in grey."),
        2 => format!("All files are grey PNG pictures of {size}."),
        3 => format!("There is no colour in the pictures; each has {size}."),
        _ => format!("Expect grey pictures, {size} each."),
    };
    let line = match prediction {
        Prediction::Mask { .. } => match draws.whole(0, 3) {
            0 => format!(
                "The training masks stand in `train.csv` and, for your eyes, as \
                 `{MASKS}/<id>.png` (255 where the mask is set)."
            ),
            1 => format!(
                "Masks of training rows come twice: as text in `train.csv`, and drawn as \
                 `{MASKS}/<id>.png`, white on black."
            ),
            2 => format!(
                "To look at a training mask, open `{MASKS}/<id>.png`, where it is 255 and the rest \
                 0; `train.csv` holds the same in the form that you submit."
            ),
            _ => format!(
                "In `train.csv` masks are written as in a submission. `{MASKS}/` shows the same \
                 ones as pictures, named by id."
            ),
        },
        Prediction::Boxes { .. } => match draws.whole(0, 2) {
            0 => "Boxes are `class x y w h`: the left and upper edge, counted in pixels from the \
                  left upper corner of the picture, then width and height. A row may hold several \
                  boxes, one after the other."
                .to_owned(),
            1 => "A box is written `class x y w h`. `x` and `y` are its left upper corner in \
                  pixels, with 0 0 at the left upper corner of the picture; `w` and `h` are its \
                  size. All boxes of a picture stand in one cell."
                .to_owned(),
            _ => "The cell of a training row lists its boxes, five entries each: `class x y w h`, \
                  where `x` counts pixels from the left, `y` from above, and `w` and `h` say how \
                  wide and high the box is."
                .to_owned(),
        },
        _ => {
            let top = levels - 1;
            match draws.whole(0, 2) {
                0 => format!(
                    "Clean pictures have {levels} intensities, from 0 (black) to {top} (white). \
                     They stand in `train.csv`, row of pixels by row of pixels, and as \
                     `{CLEAN}/<id>.png`, where they are spread over 0 to 255. The damaged files \
                     use all of 0 to 255 for the same range."
                ),
                1 => format!(
                    "The pictures to be restored have {levels} intensities: 0 is black, {top} \
                     white. `train.csv` lists them from the upper left pixel on, line by line. \
                     `{CLEAN}/<id>.png` shows them stretched to 0 to 255, the scale on which the \
                     damaged files are kept."
                ),
                _ => format!(
                    "Damaged files span 0 to 255. Targets have {levels} intensities over the same \
                     span, so {top} means white; you find them in `train.csv` as one line of \
                     numbers, left to right and top to bottom, and in `{CLEAN}/` as pictures \
                     named by id."
                ),
            }
        }
    };
    format!("{opening}\n{line}\n\n")
}

/// What the cell of a submission holds.
pub fn cell(prediction: &Prediction, draws: &mut Draws) -> Option<String> {
    let choice = draws.whole(0, 2);
    Some(match prediction {
        Prediction::Mask { width, height, .. } => {
            let (pixels, second) = (width * height, height + 1);
            match choice {
                0 => format!(
                    "the mask, run-length encoded: pairs of `start length`, separated by spaces, \
                     in rising order and without overlap; an empty cell for an empty mask. Pixels \
                     are numbered from 1 to {pixels}, top to bottom and then left to right (1 is \
                     pixel (1,1), 2 is pixel (2,1), {second} is pixel (1,2))"
                ),
                1 => format!(
                    "the mask as runs of pixels. Number the pixels from 1 down the first column, \
                     then down the second (which begins with {second}), up to {pixels} in the \
                     lower right corner. Give each run's first pixel and how many follow each \
                     other, `start length start length ...`, smaller starts first and no pixel \
                     twice; leave the cell empty where nothing is marked"
                ),
                _ => format!(
                    "an RLE string: for each vertical stretch of marked pixels its `start` and its \
                     `length`, all separated by spaces. Counting starts with 1 at the upper left, \
                     goes down, and continues at the top of the next column with {second}; the \
                     last pixel is {pixels}. Runs rise and never overlap, and no run at all means \
                     an empty mask"
                ),
            }
        }
        Prediction::Boxes { classes, .. } => match choice {
            0 => format!(
                "any number of boxes (at most 100, or an empty cell), each `class confidence x y w \
                 h`, one after the other and all separated by spaces. Classes: {}; the confidence \
                 lies between 0 and 1",
                listed(classes)
            ),
            1 => format!(
                "up to 100 boxes in one cell, six entries each: `class confidence x y w h`. The \
                 class is {}, and a higher confidence, from 0 to 1, puts a box before others. \
                 Leave the cell empty if there is nothing",
                one_of(classes)
            ),
            _ => format!(
                "your boxes as `class confidence x y w h`, repeated as often as there are boxes \
                 (100 is the most, none is allowed), with blanks between all entries; `confidence` \
                 is a number from 0 to 1 and `class` {}",
                one_of(classes)
            ),
        },
        Prediction::Pixels { width, height, levels, .. } => {
            let (pixels, top) = (width * height, levels - 1);
            match choice {
                0 => format!(
                    "all {pixels} intensities of the picture as whole numbers from 0 to {top}, \
                     separated by spaces, from left to right and then from top to bottom"
                ),
                1 => format!(
                    "the restored picture line by line, upper line first: {pixels} whole numbers \
                     between 0 and {top} with a blank between each two"
                ),
                _ => format!(
                    "{pixels} numbers with blanks between them, one per pixel in reading order, \
                     each a whole number from 0 (black) to {top} (white)"
                ),
            }
        }
        _ => return None,
    })
}

/// Lines for the list of files.
pub fn files(layout: &SceneLayout, formulation: Formulation) -> String {
    let mut text = format!(
        "- `{PICTURES}/`: one `.png` file per row of both tables; `{}` names it\n",
        layout.column
    );
    match formulation {
        Formulation::Segmentation => {
            let _ = writeln!(text, "- `{MASKS}/`: the masks of the training rows, by id");
        }
        Formulation::Reconstruction => {
            let _ = writeln!(text, "- `{CLEAN}/`: the clean pictures of the training rows, by id");
        }
        _ => {}
    }
    text
}

fn listed(words: &[String]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    quoted.join(", ")
}

/// The only word there is, or a choice between several.
fn one_of(words: &[String]) -> String {
    match words {
        [only] => format!("always `{only}`"),
        _ => format!("one of {}", listed(words)),
    }
}
