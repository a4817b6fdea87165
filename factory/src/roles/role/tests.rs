//! What the strategist promises of the blueprints that it draws.

use super::*;
use crate::data::labels::{self, Truth};
use crate::data::score::Forecast;
use crate::media::Blemish;
use crate::numeric::intervals::quantile;
use crate::roles::briefs::BriefSet;
use crate::spec::mutation::Mutation;
use std::collections::BTreeSet;
use tasks::metrics::Metric;
use tasks::prediction::QUANTILES;
use tasks::values;

/// Blueprints of one kind of task, over all of its stories.
fn blueprints(cell: &str, count: u64) -> Vec<Blueprint> {
    let set = BriefSet::new(cell, count);
    set.briefs().map(|brief| strategist::strategise(&brief).unwrap()).collect()
}

#[test]
fn pictures_are_scored_by_what_tells_their_rungs_apart() {
    let metrics = |cell| -> BTreeSet<String> {
        blueprints(cell, 60).iter().map(|blueprint| blueprint.metric.to_string()).collect()
    };
    for cell in ["image/binary", "image/multiclass"] {
        let metrics = metrics(cell);
        assert!(!metrics.contains("log_loss") && !metrics.contains("f1"), "{metrics:?}");
        assert!(metrics.len() >= 6, "{metrics:?}");
    }
    let metrics = metrics("tabular/binary");
    assert!(metrics.contains("log_loss") && metrics.contains("f1"), "{metrics:?}");
}

#[test]
fn few_rows_of_a_query_are_useful_where_only_the_first_counts() {
    let of_first: Vec<Blueprint> = blueprints("tabular/ranking", 60)
        .into_iter()
        .filter(|blueprint| blueprint.metric == Metric::Mrr)
        .collect();
    assert!(!of_first.is_empty());
    for blueprint in of_first {
        let assets = blueprint.kind().render(&blueprint, None).unwrap();
        let Truth::Grades { values, .. } = &assets.test_truth else { panic!("grades") };
        let useful = values.iter().filter(|grade| **grade > 0).count() as f64;
        let share = useful / values.len() as f64;
        assert!((0.15..0.45).contains(&share), "{share}");
        assert_eq!(values.iter().collect::<BTreeSet<_>>().len(), 4);
    }
}

#[test]
fn two_blemishes_of_items_share_the_strength_of_one() {
    let mut counts = BTreeSet::new();
    for blueprint in blueprints("image/binary", 40) {
        let known = blueprint.item().unwrap().medium.reader().blemishes();
        let strengths: Vec<(&Blemish, f64)> = blueprint
            .mutations
            .iter()
            .filter_map(|mutation| match mutation {
                Mutation::Blemish { name, strength } => {
                    Some((known.iter().find(|blemish| blemish.name == name)?, *strength))
                }
                _ => None,
            })
            .collect();
        counts.insert(strengths.len());
        for (blemish, strength) in &strengths {
            let share = (strength - blemish.low) / (blemish.high - blemish.low);
            // Strengths are written with a few digits.
            assert!(share * strengths.len() as f64 <= 1.05, "{}: {strength}", blemish.name);
        }
    }
    assert_eq!(counts, BTreeSet::from([1, 2]));
}

#[test]
fn blueprint_of_every_layout_survives_being_written() {
    let cells = [
        ("tabular/binary", vec![]),
        ("image/binary", vec!["item"]),
        ("tabular/ranking", vec!["queries"]),
        ("text/ranking", vec!["item", "queries"]),
        ("time_series/forecasting", vec!["series"]),
        ("graph/multiclass", vec!["network"]),
        ("image/segmentation", vec!["scene"]),
        ("text/normalisation", vec!["challenge"]),
        ("text/extraction", vec!["challenge"]),
        ("tabular/retrieval", vec!["challenge"]),
        ("tabular/recommendation", vec!["challenge"]),
        ("tabular/positions", vec!["challenge"]),
    ];
    for (cell, layouts) in cells {
        let blueprint = blueprints(cell, 1).remove(0);
        let written = serde_json::to_value(&blueprint).unwrap();
        let set: Vec<&str> = ["challenge", "item", "network", "queries", "scene", "series"]
            .into_iter()
            .filter(|key| written.get(*key).is_some_and(|layout| !layout.is_null()))
            .collect();
        assert_eq!(set, layouts, "{cell}");
        assert_eq!(serde_json::from_value::<Blueprint>(written).unwrap(), blueprint);
    }
}

#[test]
fn some_labels_stand_in_the_names_of_files() {
    let named = |cell| {
        let blueprints = blueprints(cell, 60);
        let named = blueprints.iter().filter(|blueprint| blueprint.labels_in_names());
        named.inspect(|blueprint| assert!(blueprint.can_name_labels())).count()
    };
    for cell in ["image/binary", "image/multiclass"] {
        // More than three standard deviations of 60 draws on either side.
        assert!((2..=23).contains(&named(cell)), "{cell}: {} of 60", named(cell));
    }
    assert_eq!(named("tabular/binary"), 0);
}

#[test]
fn labels_in_names_survive_being_written_and_are_refused_where_they_cannot_stand() {
    let mut blueprints = blueprints("image/binary", 5).into_iter();
    let mut blueprint = blueprints.find(Blueprint::can_name_labels).unwrap();
    blueprint.name_labels();
    let written = serde_json::to_value(&blueprint).unwrap();
    assert_eq!(written["item"]["labels"], "file_names");
    assert_eq!(serde_json::from_value::<Blueprint>(written.clone()).unwrap(), blueprint);
    // Blueprints say nothing of labels in a column, as before there were others.
    let mut older = written.clone();
    older["item"].as_object_mut().unwrap().remove("labels");
    let known: Blueprint = serde_json::from_value(older.clone()).unwrap();
    assert!(!known.labels_in_names());
    assert_eq!(serde_json::to_value(&known).unwrap(), older);
    let refused = |change: fn(&mut serde_json::Value)| {
        let mut broken = written.clone();
        change(&mut broken);
        let error = serde_json::from_value::<Blueprint>(broken).unwrap_err();
        assert!(error.to_string().contains("`labels` may be"), "{error}");
    };
    refused(|blueprint| blueprint["formulation"] = "regression".into());
    refused(|blueprint| blueprint["targets"][0]["classes"][0] = "no. 1".into());
    refused(|blueprint| blueprint["targets"][0]["classes"] = serde_json::json!([]));
}

#[test]
fn blueprint_with_two_layouts_is_refused() {
    let written = |cell| serde_json::to_value(blueprints(cell, 1).remove(0)).unwrap();
    let series = written("time_series/forecasting")["series"].clone();
    let cells = [
        "image/binary",
        "tabular/ranking",
        "graph/multiclass",
        "image/segmentation",
        "text/normalisation",
        "text/extraction",
    ];
    for cell in cells {
        let mut both = written(cell);
        both["series"] = series.clone();
        let error = serde_json::from_value::<Blueprint>(both).unwrap_err();
        assert!(error.to_string().contains("at most one of"), "{error}");
    }
}

#[test]
fn constant_margins_lose_to_quantiles_that_know_the_spread() {
    let (mut lost, mut negative, mut rows) = (Vec::new(), 0, 0);
    for blueprint in blueprints("tabular/quantiles", 20) {
        let assets = blueprint.kind().render(&blueprint, None).unwrap();
        let prediction = &blueprint.prediction;
        let truth = assets.test_truth.values(prediction);
        let Forecast::Quantiles(ideal) = labels::expected(&blueprint, &assets.test_scores) else {
            panic!("quantiles")
        };
        assert!(ideal.iter().all(|[low, middle, high]| low < middle && middle < high));
        // The best that one margin for all can do: the true middles, and margins from the answers.
        let values = assets.test_truth.as_numbers();
        let mut left: Vec<f64> =
            values.iter().zip(&ideal).map(|(value, [_, middle, _])| value - middle).collect();
        left.sort_by(f64::total_cmp);
        let ends = QUANTILES.map(|share| quantile(&left, share));
        let same = ideal.iter().map(|[_, middle, _]| ends.map(|end| middle + end)).collect();
        let loss = |forecast: Forecast| {
            values::score(blueprint.metric, &truth, &forecast.values(prediction)).unwrap()
        };
        lost.push(loss(Forecast::Quantiles(ideal)) / loss(Forecast::Quantiles(same)));
        negative += values.iter().filter(|value| **value < 0.0).count();
        rows += values.len();
    }
    lost.sort_by(f64::total_cmp);
    assert!(lost[10] < 0.9 && lost[18] < 0.99, "{lost:?}");
    // What cannot be negative hardly ever is.
    assert!(1000 * negative < rows, "{negative} of {rows}");
}
