//! Data Strategist: seed, story, columns, mutations, rule and link become a blueprint.

use super::families::{self, Columns};
use super::{Brief, RoleError};
use crate::assets;
use crate::blueprint::{
    BLUEPRINT_VERSION, Blueprint, Derivation, Link, NumberSpec, SeriesSpec, WordSpec,
};
use crate::dna::{self, Dna};
use crate::draws::{Draws, floor};
use crate::mutation::Mutation;
use crate::rule::{Family, Frame, Rule};
use crate::scenario::{NumberTarget, SeriesScenario, Story, TableScenario, WordColumn};
use crate::seed::{SeedModality, Trait};
use sandbox::metrics::Metric;
use sandbox::task::{Formulation, Prediction, RowCounts};

/// Clean rows on which a rule is balanced.
const POPULATION: usize = 3000;
/// Drafts of a rule before the strategist gives up.
const DRAFTS: usize = 40;
/// The least share of the variance that a term may carry.
pub const LEAST_SHARE: f64 = 0.10;

/// Makes the blueprint.
///
/// # Errors
/// [`RoleError::NoRule`] or [`RoleError::Scenario`].
pub fn strategise(brief: &Brief<'_>) -> Result<Blueprint, RoleError> {
    let mut draws = Draws::new(brief.origin.stream("strategy"));
    match &brief.scenario.story {
        Story::Table(story) if brief.slot.formulation != Formulation::Forecasting => {
            table(brief, story, &mut draws)
        }
        Story::Series(story) if brief.slot.formulation == Formulation::Forecasting => {
            series(brief, story, &mut draws)
        }
        _ => Err(RoleError::Scenario(brief.scenario.key().to_owned())),
    }
}

/// A blueprint of independent rows.
fn table(
    brief: &Brief<'_>,
    story: &TableScenario,
    draws: &mut Draws,
) -> Result<Blueprint, RoleError> {
    let dna = Dna::of(brief.seed);
    let formulation = brief.slot.formulation;
    let mut numbers: Vec<_> = story.numbers.clone();
    draws.shuffle(&mut numbers);
    numbers.truncate(draws.whole(5, 8.min(numbers.len())));
    let mut words = story.words.clone();
    draws.shuffle(&mut words);
    words.truncate(draws.whole(1, 3.min(words.len())));

    // The rule is free to use the first five columns; those behind them distract, and some of
    // them follow a column of the rule.
    let mut specs: Vec<NumberSpec> = Vec::with_capacity(numbers.len());
    for (index, column) in numbers.into_iter().enumerate() {
        let correlated = index >= 5 && draws.chance(0.6);
        let follows = correlated.then(|| {
            let other = specs[draws.whole(0, 4)].column.name.clone();
            (other, (draws.between(0.5, 0.8) * 100.0).round() / 100.0)
        });
        specs.push(NumberSpec { column, follows });
    }
    let words: Vec<WordSpec> = words
        .into_iter()
        .map(|column| {
            let weights =
                column.words.iter().map(|_| (draws.between(1.0, 1.6) * 100.0).round()).collect();
            WordSpec { column, weights }
        })
        .collect();

    let positive = story.number.low > 0.0 && story.number.high / story.number.low >= 8.0;
    let metric = metric(formulation, positive, &dna, draws);
    let classes = match formulation {
        Formulation::Binary => vec!["0".to_owned(), "1".to_owned()],
        Formulation::Multiclass if metric == Metric::QuadraticKappa => {
            (1..=story.graded.words.len()).map(|grade| grade.to_string()).collect()
        }
        Formulation::Multiclass => story.graded.words.clone(),
        _ => Vec::new(),
    };
    let prediction = prediction(formulation, metric, story, &classes);
    let rows = RowCounts { train: draws.whole(140, 200), test: draws.whole(700, 800) };
    let mut blueprint = Blueprint {
        metric,
        prediction,
        classes,
        id_column: story.id.clone(),
        rows,
        numbers: specs,
        words,
        ..outline(brief, &story.title, &story.key)
    };
    let population = assets::population(&blueprint, POPULATION);
    let family = families::pick(formulation, draws);
    let hidden: Vec<String> =
        blueprint.numbers.iter().take(5).map(|spec| spec.column.name.clone()).collect();
    let groups: Vec<(String, Vec<String>)> = blueprint
        .words
        .iter()
        .map(|spec| (spec.column.name.clone(), spec.column.words.clone()))
        .collect();
    blueprint.rule = balanced(&population, draws, |draws| {
        let (mut numbers, mut words) = (hidden.clone(), groups.clone());
        draws.shuffle(&mut numbers);
        draws.shuffle(&mut words);
        let columns = Columns { numbers, words, population: &population };
        families::draft(family, &columns, draws).map(|parts| (family, parts))
    })?;
    blueprint.mutations = mutations(&blueprint, draws);
    blueprint.link = link(&blueprint, &story.number, &population, draws);
    Ok(blueprint)
}

/// A blueprint of several series.
fn series(
    brief: &Brief<'_>,
    story: &SeriesScenario,
    draws: &mut Draws,
) -> Result<Blueprint, RoleError> {
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
        series: Some(spec),
        numbers,
        ..outline(brief, &story.title, &story.key)
    };
    let population = assets::population(&blueprint, POPULATION);
    blueprint.rule = balanced(&population, draws, |draws| {
        let mut numbers: Vec<String> =
            blueprint.numbers.iter().map(|spec| spec.column.name.clone()).collect();
        draws.shuffle(&mut numbers);
        let words = vec![(story.series.name.clone(), names.clone())];
        let columns = Columns { numbers, words, population: &population };
        let season = (story.season.as_str(), story.period);
        let regime = (story.regime.name.as_str(), &story.regime.words[..]);
        let parts = families::draft_series(&columns, season, regime, draws)?;
        Some((Family::LagRegime, parts))
    })?;
    let (low, high) = (story.target.low, story.target.high);
    blueprint.link = Link::Linear {
        center: f64::midpoint(low, high),
        scale: (high - low) / 8.0,
        noise: (draws.between(0.25, 0.4) * 100.0).round() / 100.0,
        decimals: story.target.decimals,
    };
    Ok(blueprint)
}

/// What a blueprint takes from its brief; the rest is still to be drawn.
fn outline(brief: &Brief<'_>, title: &str, scenario: &str) -> Blueprint {
    let formulation = brief.slot.formulation;
    Blueprint {
        version: BLUEPRINT_VERSION,
        task: brief.slot.task.clone(),
        title: titled(title, brief.slot.variant),
        origin: brief.origin,
        seed: brief.seed.id.clone(),
        derivation: derivation(brief),
        dna: Dna::of(brief.seed),
        domain: brief.scenario.domain.clone(),
        scenario: scenario.to_owned(),
        variant: brief.slot.variant,
        modality: dna::modality(formulation),
        formulation,
        metric: Metric::Rmse,
        prediction: Prediction::Number { column: String::new() },
        classes: Vec::new(),
        id_column: "row_id".to_owned(),
        split: brief.slot.split,
        rows: RowCounts { train: 0, test: 0 },
        series: None,
        numbers: Vec::new(),
        words: Vec::new(),
        rule: Rule { family: Family::Products, terms: Vec::new() },
        link: Link::Graded { cuts: Vec::new(), noise: 0.0 },
        mutations: Vec::new(),
    }
}

/// Drafts rules until every term carries its weight.
fn balanced(
    population: &Frame,
    draws: &mut Draws,
    mut draft: impl FnMut(&mut Draws) -> Option<(Family, Vec<(f64, crate::rule::Expr)>)>,
) -> Result<Rule, RoleError> {
    for _ in 0..DRAFTS {
        let Some((family, parts)) = draft(draws) else { continue };
        let Some(rule) = Rule::balanced(family, parts, population) else { continue };
        if rule.shares(population).iter().all(|share| *share >= LEAST_SHARE) {
            return Ok(rule);
        }
    }
    Err(RoleError::NoRule(DRAFTS))
}

/// A metric that suits the formulation.
fn metric(formulation: Formulation, skewed: bool, dna: &Dna, draws: &mut Draws) -> Metric {
    match formulation {
        Formulation::Binary => *draws.pick(&[
            Metric::RocAuc,
            Metric::RocAuc,
            Metric::LogLoss,
            Metric::Accuracy,
            Metric::Mcc,
            Metric::MacroF1,
            Metric::AveragePrecision,
            Metric::BalancedAccuracy,
            Metric::Brier,
        ]),
        Formulation::Multiclass if dna.has(Trait::Ordinal) => Metric::QuadraticKappa,
        Formulation::Multiclass => *draws.pick(&[
            Metric::Accuracy,
            Metric::MacroF1,
            Metric::LogLoss,
            Metric::BalancedAccuracy,
            Metric::QuadraticKappa,
            Metric::Mcc,
        ]),
        _ if skewed => *draws.pick(&[Metric::Rmsle, Metric::Rmsle, Metric::Mae, Metric::Smape]),
        _ => *draws.pick(&[Metric::Rmse, Metric::Rmse, Metric::Mae, Metric::R2]),
    }
}

/// The submission's form.
fn prediction(
    formulation: Formulation,
    metric: Metric,
    story: &TableScenario,
    classes: &[String],
) -> Prediction {
    let mut sorted = classes.to_vec();
    sorted.sort();
    match (formulation, metric) {
        (
            Formulation::Binary,
            Metric::RocAuc | Metric::LogLoss | Metric::AveragePrecision | Metric::Brier,
        ) => Prediction::Probability { column: story.binary.name.clone() },
        (Formulation::Binary, _) => {
            Prediction::Label { column: story.binary.name.clone(), classes: sorted }
        }
        (Formulation::Multiclass, Metric::LogLoss) => {
            Prediction::ClassProbabilities { column: story.graded.name.clone(), classes: sorted }
        }
        (Formulation::Multiclass, _) => {
            Prediction::Label { column: story.graded.name.clone(), classes: sorted }
        }
        _ => Prediction::Number { column: story.number.name.clone() },
    }
}

/// Two or three blemishes that suit the seed's traits.
fn mutations(blueprint: &Blueprint, draws: &mut Draws) -> Vec<Mutation> {
    let mut mutations = Vec::new();
    let dna = &blueprint.dna;
    let percent = |value: f64| (value * 100.0).round() / 100.0;
    if matches!(blueprint.formulation, Formulation::Binary | Formulation::Multiclass) {
        let most = if dna.has(Trait::LabelNoise) { 0.08 } else { 0.06 };
        mutations.push(Mutation::LabelNoise { share: percent(draws.between(0.03, most)) });
    }
    // Accuracy-like metrics would reward the majority class alone.
    let uneven =
        matches!(blueprint.metric, Metric::RocAuc | Metric::AveragePrecision | Metric::LogLoss);
    if blueprint.formulation == Formulation::Binary && uneven {
        let likely = if dna.has(Trait::ClassImbalance) { 0.8 } else { 0.4 };
        if draws.chance(likely) {
            mutations.push(Mutation::Imbalance { share: percent(draws.between(0.25, 0.38)) });
        }
    }
    let names: Vec<&str> = blueprint.numbers.iter().map(|spec| spec.column.name.as_str()).collect();
    let missing = if dna.has(Trait::MissingValues) { 3 } else { 2 };
    let mut columns: Vec<&str> = names.clone();
    draws.shuffle(&mut columns);
    // Each column is blemished once at most, so that blemishes can be undone in any order.
    let mut next = columns.into_iter();
    let count = draws.whole(1, missing);
    for _ in 0..count {
        let Some(column) = next.next().map(str::to_owned) else { break };
        let used = names.iter().take(5).any(|name| *name == column);
        // Gaps in columns of the rule cost everyone, so they stay few.
        let share =
            percent(if used { draws.between(0.03, 0.06) } else { draws.between(0.05, 0.2) });
        let spec = blueprint.numbers.iter().find(|spec| spec.column.name == column);
        let companion = format!("{column}_unit");
        let large = spec.is_some_and(|spec| spec.column.low > 0.0);
        // A straight line breaks on sentinels and units; the floor stays in its reach.
        let floor = matches!(blueprint.rule.terms.first(), Some(term) if matches!(
            &term.expr,
            crate::rule::Expr::Deviation { column: floor, .. } if *floor == column
        ));
        mutations.push(match draws.whole(0, 3) {
            _ if floor => Mutation::Missing { column, share },
            0 | 1 => Mutation::Missing { column, share },
            2 => Mutation::Sentinel { column, share },
            _ if large => Mutation::Units { column, companion, factor: 10.0, share },
            _ => Mutation::Missing { column, share },
        });
    }
    if (dna.has(Trait::CorrelatedColumns) || draws.chance(0.25))
        && let Some(column) = next.next()
    {
        let name = format!("{column}_est");
        let noise = percent(draws.between(0.3, 0.6));
        mutations.push(Mutation::Echo { column: column.to_owned(), name, noise });
    }
    mutations
}

/// From the score to the target, with cuts at the wanted class shares.
fn link(
    blueprint: &Blueprint,
    number: &NumberTarget,
    population: &Frame,
    draws: &mut Draws,
) -> Link {
    let percent = |value: f64| (value * 100.0).round() / 100.0;
    match blueprint.formulation {
        Formulation::Binary | Formulation::Multiclass => {
            let noise = percent(draws.between(0.12, 0.2));
            let mut shifted: Vec<f64> = blueprint
                .rule
                .score(population)
                .into_iter()
                .map(|score| score + noise * draws.logistic())
                .collect();
            shifted.sort_by(f64::total_cmp);
            let at = |share: f64| {
                let value = shifted[floor((shifted.len() - 1) as f64 * share)];
                (value * 1000.0).round() / 1000.0
            };
            let rare = blueprint.mutations.iter().find_map(|mutation| match mutation {
                Mutation::Imbalance { share } => Some(*share),
                _ => None,
            });
            let classes = blueprint.classes.len();
            let cuts = (1..classes)
                .map(|cut| match rare {
                    Some(share) => at(1.0 - share),
                    None => at(cut as f64 / classes as f64),
                })
                .collect();
            Link::Graded { cuts, noise }
        }
        _ => {
            let noise = percent(draws.between(0.2, 0.35));
            let (low, high, decimals) = (number.low, number.high, number.decimals);
            let four = crate::rule::digits;
            if matches!(blueprint.metric, Metric::Rmse | Metric::R2)
                || low <= 0.0
                || high / low < 8.0
            {
                let (center, scale) = (f64::midpoint(low, high), (high - low) / 7.0);
                return Link::Linear { center: four(center), scale: four(scale), noise, decimals };
            }
            let spread = (libm::log(high / low) / 5.0).min(0.4);
            // Enough digits that rounding small values does not eat the signal.
            let decimals = decimals + usize::from(low < 5.0) + usize::from(low < 0.5);
            let center = f64::midpoint(libm::log(low), libm::log(high));
            Link::Exponential { center: four(center), scale: four(spread), noise, decimals }
        }
    }
}

/// How the task's form follows from the seed's.
fn derivation(brief: &Brief<'_>) -> Derivation {
    let formulation = brief.slot.formulation;
    if dna::native(brief.seed) == Some(formulation) {
        return Derivation::Exact;
    }
    let data = match (brief.seed.modality, formulation) {
        (SeedModality::Tabular, _) => "rows keep their structure",
        (_, Formulation::Forecasting) => "recordings are followed in time, per source",
        _ => "recordings are summarised into one row each",
    };
    let asks = match formulation {
        Formulation::Binary => "one of two classes",
        Formulation::Multiclass => "one of several graded classes",
        Formulation::Regression => "one number per row",
        Formulation::Forecasting => "the next values of each source",
    };
    Derivation::Reformulated {
        from: Dna::of(brief.seed).asks,
        how: format!("{data}; the target becomes {asks}"),
    }
}

fn titled(title: &str, variant: usize) -> String {
    if variant == 0 { title.to_owned() } else { format!("{title} (season {})", variant + 1) }
}
