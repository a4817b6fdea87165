//! Strategy for several series over time.

use super::RoleRefusal;
use super::families::{self, Columns, Step};
use super::rule_request::{RuleAuthor, RuleColumn, RuleColumns, RuleRequest};
use super::shares::Shares;
use super::strategist::{POPULATION, balanced, percent};
use crate::data::assets;
use crate::numeric::draws::Draws;
use crate::spec::blueprint::{Blueprint, Link, Target};
use crate::spec::layout::{Layout, SeriesSpec};
use crate::spec::rule::{Family, Frame};
use crate::spec::scenario::{self, NumberColumn, SeriesScenario, WordColumn};
use tasks::metrics::Metric;
use tasks::prediction::Prediction;
use tasks::task::RowCounts;

/// A blueprint of several series.
pub(super) fn strategise<E: From<RoleRefusal>>(
    story: &SeriesScenario,
    outline: Blueprint,
    draws: &mut Draws,
    author: &mut RuleAuthor<'_, E>,
) -> Result<Blueprint, E> {
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
    let mut numbers = story.drivers.clone();
    draws.shuffle(&mut numbers);
    let known: Vec<&str> = numbers.iter().map(|column| column.name.as_str()).collect();
    let follows = scenario::bearing_on(&story.follows, &known);
    let effects = story.causes().iter();
    let effects = effects.map(|cause| (cause.column.clone(), cause.effect.clone())).collect();
    let mut blueprint = Blueprint {
        metric,
        prediction: Prediction::Number { column: story.target.name.clone() },
        rows: RowCounts { train: train_steps * count, test: horizon * count },
        layout: Layout::Series(spec),
        numbers,
        follows,
        ..outline
    };
    let population = assets::population(&blueprint, POPULATION);
    let draft = balanced(blueprint.split, &population, draws, |draws| {
        let mut numbers: Vec<String> =
            blueprint.numbers.iter().map(|column| column.name.clone()).collect();
        draws.shuffle(&mut numbers);
        let floor = numbers.swap_remove(0);
        let columns = Columns {
            floor,
            second: None,
            step: Step::Words(WordColumn { name: story.series.name.clone(), words: names.clone() }),
            shares: Shares::WRITTEN,
            rest: numbers,
            words: &[],
            effects: &effects,
            follows: &blueprint.follows,
            population: &population,
        };
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
    let request = RuleRequest {
        blueprint: &blueprint,
        background: &story.story,
        column: &column,
        means: Some(&story.target.means),
        classes: &classes,
        columns: &columns(story, names, &population),
        draft: &draft,
        population: &population,
    };
    let rule = request.ask(author)?;
    blueprint.targets =
        vec![Target { column, classes, rule: Some(rule), axes: Vec::new(), spread: None, link }];
    Ok(blueprint)
}

/// The columns that a rule may use: drivers, season, series and regime.
fn columns(story: &SeriesScenario, names: Vec<String>, population: &Frame) -> RuleColumns {
    let driver = |column: &NumberColumn| {
        let causes = story.causes().iter();
        let mut effect =
            causes.filter(|cause| cause.column == column.name).map(|cause| &cause.effect);
        let (effect, suits) = (effect.next().cloned(), vec!["driver, at once or late"]);
        RuleColumn::new(&column.name, String::new(), effect, suits, population)
    };
    let season = format!("position in a season of {} steps, from 0", story.period);
    let season = RuleColumn::new(&story.season, season, None, vec!["season"], population);
    RuleColumns {
        numbers: story.drivers.iter().map(driver).chain([season]).collect(),
        words: vec![
            WordColumn { name: story.series.name.clone(), words: names },
            story.regime.clone(),
        ],
    }
}
