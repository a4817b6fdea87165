//! Seed and story become the blueprint of a challenge.

use crate::numeric::draws::Draws;
use crate::numeric::rounding::digits;
use crate::spec::blueprint::Blueprint;
use crate::spec::challenge::{ChallengeLayout, ChallengeRule, Normalisation, Wording};
use crate::spec::config::Preset;
use crate::spec::extraction::Extraction;
use crate::spec::layout::Layout;
use crate::spec::mutation::Mutation;
use crate::spec::recommendation::Recommendation;
use crate::spec::retrieval::Retrieval;
use crate::spec::scenario::ChallengeScenario;
use tasks::task::{Formulation, RowCounts};

/// Completes what a brief gives: conventions, metric, sizes and blemishes.
pub fn strategise(story: &ChallengeScenario, outline: Blueprint, draws: &mut Draws) -> Blueprint {
    let rule = match story.formulation {
        Formulation::Extraction => ChallengeRule::Extraction(Extraction::plan(draws)),
        Formulation::Retrieval => ChallengeRule::Retrieval(Retrieval::plan(&story.columns, draws)),
        Formulation::Recommendation => {
            ChallengeRule::Recommendation(Recommendation::plan(&story.columns, draws))
        }
        _ => ChallengeRule::Normalisation(Normalisation::plan(draws)),
    };
    let challenge = rule.challenge();
    let blemish = |blemish: &crate::media::Blemish| Mutation::Blemish {
        name: blemish.name.to_owned(),
        strength: digits(draws.between(blemish.low, blemish.high)),
    };
    let mutations = challenge.blemishes().iter().map(blemish).collect();
    let train = draws.whole(160, 200);
    let test = match outline.preset {
        Preset::Large => draws.whole(320, 400),
        Preset::Paper => train / 4,
    };
    Blueprint {
        metric: challenge.metric(),
        prediction: challenge.prediction(&story.target),
        id_column: story.id.clone(),
        rows: RowCounts { train, test },
        layout: Layout::Challenge(ChallengeLayout {
            columns: story.columns.iter().map(|column| column.name.clone()).collect(),
            target: story.target.clone(),
            wording: Wording { subjects: story.subjects.clone(), settings: story.settings.clone() },
            rule,
        }),
        mutations,
        ..outline
    }
}
