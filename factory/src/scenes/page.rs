//! What a scene's description page says, as competition pages do, without the rule.

use super::files::{CLEAN, MASKS, PICTURES};
use super::{Scene, SceneLayout};
use crate::draws::Draws;
use crate::scenario::SceneScenario;
use sandbox::metrics::images::Frame;
use sandbox::task::{Formulation, Prediction};
use std::fmt::Write as _;

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
    let Frame { width, height, levels } = scene.frame();
    let opening =
        draws.pick(&["Pictures are", "Each picture is", "All files are grey PNG pictures of"]);
    let mut text = format!("{opening} {width} x {height} pixels in grey.\n");
    if opening.starts_with("All") {
        text = format!("{opening} {width} x {height} pixels.\n");
    }
    let line = match prediction {
        Prediction::Mask { .. } => format!(
            "The training masks stand in `train.csv` and, for your eyes, as `{MASKS}/<id>.png` \
             (255 where the mask is set)."
        ),
        Prediction::Boxes { .. } => {
            "Boxes are `class x y w h`: the left and upper edge, counted in pixels from the left \
             upper corner of the picture, then width and height. A row may hold several boxes, one \
             after the other."
                .to_owned()
        }
        _ => format!(
            "Clean pictures have {levels} intensities, from 0 (black) to {} (white). They stand in \
             `train.csv`, row of pixels by row of pixels, and as `{CLEAN}/<id>.png`, where they \
             are spread over 0 to 255. The damaged files use all of 0 to 255 for the same range.",
            levels - 1
        ),
    };
    let _ = writeln!(text, "{line}\n");
    text
}

/// What the cell of a submission holds.
pub fn cell(prediction: &Prediction) -> Option<String> {
    Some(match prediction {
        Prediction::Mask { width, height, .. } => format!(
            "the mask, run-length encoded: pairs of `start length`, separated by spaces, in rising \
             order and without overlap; an empty cell for an empty mask. Pixels are numbered from 1 \
             to {}, top to bottom and then left to right (1 is pixel (1,1), 2 is pixel (2,1), {} is \
             pixel (1,2))",
            width * height,
            height + 1
        ),
        Prediction::Boxes { classes, .. } => format!(
            "any number of boxes (at most 100, or an empty cell), each `class confidence x y w h`, \
             one after the other and all separated by spaces. Classes: {}; the confidence lies \
             between 0 and 1",
            listed(classes)
        ),
        Prediction::Pixels { width, height, levels, .. } => format!(
            "all {} intensities of the picture as whole numbers from 0 to {}, separated by spaces, \
             from left to right and then from top to bottom",
            width * height,
            levels - 1
        ),
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
