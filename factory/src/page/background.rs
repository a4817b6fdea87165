//! The facts of a task and of the place that asks for it, for the banks of patterns.

use super::english::{listed, plural, quoted};
use super::fixed::target_names;
use super::phrases::Phrases;
use crate::numeric::draws::Draws;
use crate::spec::blueprint::Blueprint;
use crate::spec::classes::ClassQuestion;
use crate::spec::scenario::{Scenario, SeriesScenario, Story, TableScenario};
use tasks::prediction::Prediction;
use tasks::stream::Stream;
use tasks::task::Formulation;

/// Text in a register about a task: its facts, and a place, people and records that are invented
/// and stay the same over the page.
pub(super) fn phrases(
    register: &str,
    blueprint: &Blueprint,
    scenario: &Scenario,
    stream: Stream,
) -> Phrases {
    let mut phrases = Phrases::new(register, &scenario.domain, stream.child("text"));
    phrases.fix("place");
    phrases.fix("year");
    let year: u32 = phrases.text("year").parse().expect("the bank holds years");
    phrases.set("later", (year + 1).to_string());
    for symbol in ["period", "org", "users", "action", "source", "stake"] {
        phrases.fix(symbol);
    }
    let second = phrases.text("name");
    phrases.set("name_two", second);
    phrases.fix("name");

    let row = match &scenario.story {
        Story::Table(story) => story.row.as_str(),
        Story::Scene(story) => story.row.as_str(),
        Story::Challenge(story) => story.row.as_str(),
        // A row is one step of one series.
        Story::Series(_) => "reading",
    };
    phrases.set("row", row);
    phrases.set("rows", plural(row));
    let truth = match scenario.story {
        Story::Scene(_) => "truth",
        Story::Challenge(_) => "answer",
        Story::Table(_) | Story::Series(_) => "target",
    };
    phrases.set("truth", truth);
    let items = blueprint.kind().made_of(blueprint);
    phrases.set("items", items.strip_suffix(" and a table").unwrap_or(&items));
    phrases.set("train", blueprint.rows.train.to_string());
    phrases.set("test", blueprint.rows.test.to_string());
    phrases.set("id", format!("`{}`", blueprint.id_column));
    phrases.set("target", target_names(blueprint));
    story(&mut phrases, scenario.story.text());
    let mut draws = Draws::new(stream.child("labels"));
    match &scenario.story {
        Story::Table(story) => table(&mut phrases, blueprint, story, &mut draws),
        Story::Series(story) => series(&mut phrases, story),
        Story::Challenge(story) => {
            phrases.set("means", story.means.as_str());
            if let (Some(rule), Some(told)) = (blueprint.along(), &story.positions) {
                let means = |column: &String| rule.meaning(column, &story.means, told).to_owned();
                let columns = blueprint.kind().target_columns(blueprint);
                let explained = match &columns[..] {
                    [only] => means(only),
                    several => {
                        let one = |name: &String| format!("{} (`{name}`)", means(name));
                        listed(&several.iter().map(one).collect::<Vec<_>>())
                    }
                };
                phrases.set("means", explained);
                phrases.set("position", told.position.as_str());
                phrases.set("positions", plural(&told.position));
                phrases.set("sequence", format!("`{}`", rule.sequence));
                phrases.set("place_column", format!("`{}`", rule.place));
                let lines = phrases.text("positions_of_csv");
                phrases.set("rows_of_csv", lines);
            }
            let names: Vec<String> = story.columns.iter().map(|one| one.name.clone()).collect();
            phrases.set("columns", quoted(&names));
            phrases.set("last_column", quoted(&names[names.len() - 1..]));
        }
        Story::Scene(story) => {
            phrases.set("means", story.means.as_str());
            if let Prediction::Boxes { classes, .. } = &blueprint.prediction {
                phrases.set("classes", quoted(classes));
            }
        }
    }
    phrases
}

/// Replaces the invented place and people by general words, for a page whose prose is not ours.
pub(super) fn leave_out(phrases: &mut Phrases) {
    for (symbol, text) in [
        ("org", "the organiser"),
        ("name", "the organiser"),
        ("name_two", "the organiser"),
        ("place", "the field"),
        ("users", "the people in charge"),
    ] {
        phrases.set(symbol, text);
    }
}

/// The story's first sentence, and what follows it.
fn story(phrases: &mut Phrases, text: &str) {
    let (first, rest) = text.split_once(". ").map_or((text, ""), |(first, rest)| (first, rest));
    phrases.set("story_raw", text);
    let mark = if first.ends_with(['.', '!', '?']) { "" } else { "." };
    phrases.set("story_one_raw", format!("{first}{mark}"));
    phrases.set("story_two_raw", rest);
}

fn table(phrases: &mut Phrases, blueprint: &Blueprint, story: &TableScenario, draws: &mut Draws) {
    let explained = |names: Vec<(&String, &String)>| -> Vec<String> {
        names.into_iter().map(|(name, means)| format!("`{name}` ({means})")).collect()
    };
    let nominal = blueprint.targets.iter().find(|target| target.is_nominal());
    let nominal = nominal.and_then(|target| ClassQuestion::meaning(&target.column));
    let means = match blueprint.formulation {
        Formulation::Multiclass => nominal.unwrap_or_default(),
        Formulation::Ranking => story.ranking.as_ref().map_or("", |ranking| &ranking.means),
        Formulation::Regression | Formulation::Quantiles => story.number.means.as_str(),
        _ => story.binary.means.as_str(),
    };
    phrases.set("means", means);
    if let Some(ranking) = &story.ranking {
        phrases.set("query", format!("`{}`", ranking.query));
    }
    if let Some(target) = blueprint.targets.first() {
        phrases.set("classes", quoted(&target.classes));
        phrases.set("class_count", target.classes.len().to_string());
    }
    let mut labels =
        explained(story.labels.iter().map(|label| (&label.name, &label.means)).collect());
    draws.shuffle(&mut labels);
    phrases.set("labels", labels.join(", "));
    let targets = explained(story.targets.iter().map(|one| (&one.name, &one.means)).collect());
    phrases.set("targets", targets.join(", "));
}

fn series(phrases: &mut Phrases, story: &SeriesScenario) {
    phrases.set("means", story.target.means.as_str());
    phrases.set("series", format!("`{}`", story.series.name));
    phrases.set("step", format!("`{}`", story.step));
    phrases.set("season", format!("`{}`", story.season));
    phrases.set("period_steps", story.period.to_string());
}
