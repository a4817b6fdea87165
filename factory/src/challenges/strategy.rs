//! Seed and story become the blueprint of a challenge.

use crate::numeric::draws::Draws;
use crate::numeric::rounding::digits;
use crate::spec::blueprint::Blueprint;
use crate::spec::challenge::{ChallengeLayout, ChallengeRule, Normalisation, Wording};
use crate::spec::config::Preset;
use crate::spec::extraction::Extraction;
use crate::spec::layout::Layout;
use crate::spec::mutation::Mutation;
use crate::spec::positions::{self, Positions};
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
        Formulation::Positions => {
            ChallengeRule::Positions(Positions::plan(story, outline.split, draws))
        }
        _ => ChallengeRule::Normalisation(Normalisation::plan(draws)),
    };
    let challenge = rule.challenge();
    let blemish = |blemish: &crate::media::Blemish| Mutation::Blemish {
        name: blemish.name.to_owned(),
        strength: digits(draws.between(blemish.low, blemish.high)),
    };
    let mutations = challenge.blemishes().iter().map(blemish).collect();
    let usual = match &rule {
        ChallengeRule::Positions(_) => Positions::rows(draws),
        _ => RowCounts { train: draws.whole(160, 200), test: draws.whole(320, 400) },
    };
    let test = match outline.preset {
        Preset::Large => usual.test,
        Preset::Paper => usual.train / 4,
    };
    let (metric, id_column) = match &rule {
        // The rows of a submission are positions and no rows of the tables.
        ChallengeRule::Positions(rule) => (*draws.pick(rule.metrics()), positions::ID),
        _ => (challenge.metric(), &*story.id),
    };
    Blueprint {
        metric,
        prediction: challenge.prediction(&story.target),
        id_column: id_column.to_owned(),
        rows: RowCounts { train: usual.train, test },
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
