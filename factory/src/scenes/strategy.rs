//! Seed and story become the blueprint of a scene.

use super::scene::{JITTER, NOISE};
use crate::numeric::draws::Draws;
use crate::spec::blueprint::Blueprint;
use crate::spec::config::Preset;
use crate::spec::layout::Layout;
use crate::spec::mutation::Mutation;
use crate::spec::scenario::SceneScenario;
use crate::spec::scene::{Detection, Reconstruction, SceneLayout, SceneRule, Segmentation};
use tasks::metrics::Metric;
use tasks::task::{Formulation, RowCounts};

/// Completes what a brief gives: rule, metric, sizes and blemishes.
pub fn strategise(story: &SceneScenario, outline: Blueprint, draws: &mut Draws) -> Blueprint {
    let mut classes: Vec<String> = story.classes.clone();
    classes.sort();
    let (rule, metric) = match outline.formulation {
        Formulation::Detection => {
            let most = classes.len().clamp(1, 3);
            classes.truncate(draws.whole(1.max(most - 1), most));
            // The mean over ten thresholds costs ten times as much in every bootstrap sample.
            (SceneRule::Detection(Detection::plan(classes.len(), draws)), Metric::BoxMap50)
        }
        Formulation::Reconstruction => {
            let metrics = [Metric::Psnr, Metric::Psnr, Metric::Ssim, Metric::Rmse];
            let scene = Reconstruction::plan(draws);
            (SceneRule::Reconstruction(scene), *draws.pick(&metrics))
        }
        _ => {
            let metrics = [Metric::Dice, Metric::Dice, Metric::Iou];
            (SceneRule::Segmentation(Segmentation::plan(draws)), *draws.pick(&metrics))
        }
    };
    let mutations = blemishes(&rule, draws);
    let train = draws.whole(80, 110);
    let test = match outline.preset {
        Preset::Large => draws.whole(170, 210),
        Preset::Paper => train / 4,
    };
    Blueprint {
        metric,
        prediction: rule.scene().prediction(&story.target, &classes),
        id_column: story.id.clone(),
        rows: RowCounts { train, test },
        layout: Layout::Vision(SceneLayout {
            column: story.column.clone(),
            target: story.target.clone(),
            rule,
        }),
        mutations,
        ..outline
    }
}

/// Slips of annotators and noise wherever they can be, and one of what else there is at times.
fn blemishes(rule: &SceneRule, draws: &mut Draws) -> Vec<Mutation> {
    let mut mutations = Vec::new();
    for blemish in rule.scene().blemishes() {
        let strength = crate::numeric::rounding::digits(draws.between(blemish.low, blemish.high));
        let always = [JITTER.name, NOISE.name].contains(&blemish.name);
        if draws.chance(0.5) || always {
            mutations.push(Mutation::Blemish { name: blemish.name.to_owned(), strength });
        }
    }
    mutations
}
