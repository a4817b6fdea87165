//! Strategy for several series over time.

use super::families::{self, Columns, Shares, Step};
use super::strategist::{POPULATION, balanced, outline, percent};
use super::{Brief, RoleRefusal};
use crate::data::assets;
use crate::numeric::draws::Draws;
use crate::spec::blueprint::{Blueprint, Link, NumberSpec, Target};
use crate::spec::layout::{Layout, SeriesSpec};
use crate::spec::rule::Family;
use crate::spec::scenario::{SeriesScenario, WordColumn};
use tasks::metrics::Metric;
use tasks::prediction::Prediction;
use tasks::task::RowCounts;

/// A blueprint of several series.
pub(super) fn strategise(
    brief: &Brief<'_>,
    story: &SeriesScenario,
    draws: &mut Draws,
) -> Result<Blueprint, RoleRefusal> {
    let mut names = story.series.words.clone();
    draws.shuffle(&mut names);
    let count = draws.whole(4, 6);
    names.truncate(count);
    let train_steps = draws.whole(168, 200) / count;
    let horizon = (draws.whole(240, 300) / count).max(30);
    let spec = SeriesSpec {
        series: WordColumn { name: story.series.name.clone(), words: names.clone() },
        step: story.step.clone(),
        season: story.season.clone(),
        period: story.period,
        regime: story.regime.clone(),
        regime_steps: draws.whole(4, 9) as f64,
        train_steps,
        horizon,
    };
    let metric = *draws.pick(&[Metric::Rmse, Metric::Mae, Metric::Smape, Metric::Rmse]);
    let mut numbers: Vec<NumberSpec> = story
        .drivers
        .iter()
        .map(|column| NumberSpec { column: column.clone(), follows: None })
        .collect();
    draws.shuffle(&mut numbers);
    let mut blueprint = Blueprint {
        metric,
        prediction: Prediction::Number { column: story.target.name.clone() },
        rows: RowCounts { train: train_steps * count, test: horizon * count },
        layout: Layout::Series(spec),
        numbers,
        ..outline(brief, &story.title, &story.key)
    };
    let population = assets::population(&blueprint, POPULATION);
    let rule = balanced(&population, draws, |draws| {
        let mut numbers: Vec<String> =
            blueprint.numbers.iter().map(|spec| spec.column.name.clone()).collect();
        draws.shuffle(&mut numbers);
        let floor = numbers.swap_remove(0);
        let step = Step::Words(story.series.name.clone(), names.clone());
        let (shares, rest) = (Shares::WRITTEN, numbers);
        let columns = Columns { floor, step, shares, rest, population: &population };
        let season = (story.season.as_str(), story.period);
        let regime = (story.regime.name.as_str(), &story.regime.words[..]);
        let parts = families::draft_series(&columns, season, regime, draws)?;
        Some((Family::LagRegime, parts))
    })?;
    let (low, high) = (story.target.low, story.target.high);
    let link = Link::Linear {
        center: f64::midpoint(low, high),
        scale: (high - low) / 8.0,
        noise: percent(draws.between(0.25, 0.4)),
        decimals: story.target.decimals,
    };
    let (column, classes) = (story.target.name.clone(), Vec::new());
    blueprint.targets = vec![Target { column, classes, rule, link }];
    Ok(blueprint)
}
