//! The story of a task: the question, and the answer.
//!
//! An answer is JSON with the fields of [`TableScenario`], [`SeriesScenario`] or
//! [`SceneScenario`], whichever the brief's own story is. The brief fixes what rows come with: the
//! medium of items, a network, the kind of a scene. The key of the story stays the brief's.

use super::prompt::{SYSTEM, fill, in_words, refused_before};
use super::{Facets, Question};
use crate::media::MediumKind;
use crate::numeric::draws::Draws;
use crate::roles::{Brief, RoleFeedback, RoleRefusal};
use crate::spec::config::Preset;
use crate::spec::dna::Dna;
use crate::spec::scenario::{
    self, ChallengeScenario, SceneScenario, SeriesScenario, Story, TableScenario,
};
use llm::AnswerSchema;
use llm::schema;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tasks::task::{Formulation, Modality};

const STORY: &str = include_str!("prompts/story.md");
const TABLE_FIELDS: &str = include_str!("prompts/fields_table.md");
const SERIES_FIELDS: &str = include_str!("prompts/fields_series.md");
const SCENE_FIELDS: &str = include_str!("prompts/fields_scene.md");

/// Asks for a story in the brief's domain for the brief's kind of task. `feedback` is why an
/// earlier story was refused ([`is_about_story`]).
///
/// # Panics
/// If no embedded story of another domain can be shown as an example, which a test rules out.
pub fn story_question(
    brief: &Brief<'_>,
    facets: Facets,
    feedback: Option<&RoleFeedback>,
) -> Question {
    let (fields, needs, schema) = match &brief.scenario.story {
        Story::Table(story) => {
            let least = least_numbers(story);
            let fields = fill(TABLE_FIELDS, &[("numbers", &format!("{least} to 12"))]);
            (fields, table_needs(brief, story), schema::<TableScenario>())
        }
        Story::Series(_) => (SERIES_FIELDS.to_owned(), String::new(), schema::<SeriesScenario>()),
        Story::Scene(story) => (scene_fields(story), String::new(), schema::<SceneScenario>()),
        Story::Challenge(_) => (String::new(), String::new(), schema::<ChallengeScenario>()),
    };
    let cell = brief.slot.cell;
    let values: [(&str, &str); 14] = [
        ("data", &data(brief)),
        ("question", question(cell.formulation)),
        ("domain", &brief.scenario.domain.replace('_', " ")),
        ("metric", metrics(cell.formulation)),
        ("rows", &rows(brief)),
        ("split", split(brief)),
        ("dna", &dna(&Dna::of(brief.seed))),
        ("place", facets.place),
        ("season", facets.season),
        ("actor", facets.actor),
        ("fields", &fields),
        ("needs", &needs),
        ("example", &answer(&example(brief))),
        ("feedback", &refused_before(feedback)),
    ];
    Question {
        name: "story",
        system: SYSTEM.to_owned(),
        prompt: fill(STORY, &values),
        schema: Some(schema),
        temperature: 1.0,
        max_tokens: 3000,
        max_bytes: 64 << 10,
    }
}

/// Whether a refusal is about the story, so that it belongs into [`story_question`]. Of the
/// strategist's refusals, the others belong into [`rule_question`](super::rule_question).
pub fn is_about_story(feedback: &RoleFeedback) -> bool {
    let codes =
        ["story_schema", "story_names", "story_text", "evaluation_only", "scenario", "no_rule"];
    codes.contains(&feedback.code)
}

/// The story of an answer.
///
/// # Errors
/// [`RoleRefusal`] with one of these codes:
///
/// | code | reason |
/// | --- | --- |
/// | `story_schema` | not the fields that are asked for, a number of things or a bound out of limits, or not what the kind of task needs |
/// | `story_names` | a name or a word that cannot be one, or that occurs twice |
/// | `story_text` | a sentence that cannot stand in a page |
/// | `evaluation_only` | a text that points at a competition on which agents are judged |
pub fn parse_story(answer: &str, brief: &Brief<'_>) -> Result<Story, RoleRefusal> {
    let story = match &brief.scenario.story {
        Story::Table(own) => {
            let story: TableScenario = read(answer)?;
            check_table(&story, own, brief.slot.cell.formulation).map_err(misfit)?;
            Story::Table(Box::new(story))
        }
        Story::Series(_) => Story::Series(Box::new(read(answer)?)),
        Story::Scene(own) => {
            let story: SceneScenario = read(answer)?;
            if story.formulation != own.formulation {
                return Err(misfit(format!(
                    "`formulation` is `{}` in this task",
                    in_words(&own.formulation)
                )));
            }
            Story::Scene(Box::new(story))
        }
        Story::Challenge(_) => Story::Challenge(Box::new(read(answer)?)),
    };
    story.check().map_err(|error| RoleRefusal { code: error.code(), detail: error.to_string() })?;
    if !story.serves(brief.slot.cell) {
        return Err(misfit(format!("the story does not suit `{}`", brief.slot.cell)));
    }
    Ok(story)
}

/// A story as the JSON of an answer.
///
/// # Panics
/// Never: a story is made of texts, numbers and lists.
pub(super) fn answer(story: &Story) -> String {
    fn pretty(story: &impl Serialize) -> String {
        serde_json::to_string_pretty(story).expect("texts, numbers and lists are JSON")
    }
    match story {
        Story::Table(story) => pretty(story),
        Story::Series(story) => pretty(story),
        Story::Scene(story) => pretty(story),
        Story::Challenge(story) => pretty(story),
    }
}

fn schema<T: JsonSchema>() -> AnswerSchema {
    AnswerSchema::from_type::<T>("story").expect("a test narrows the schema of every story")
}

fn read<T: DeserializeOwned>(answer: &str) -> Result<T, RoleRefusal> {
    schema::parse(answer).map_err(|error| misfit(error.to_string()))
}

fn misfit(detail: String) -> RoleRefusal {
    RoleRefusal { code: "story_schema", detail }
}

/// What the kind of task needs is there, and rows come with what the brief's own story has.
fn check_table(
    story: &TableScenario,
    own: &TableScenario,
    formulation: Formulation,
) -> Result<(), String> {
    match (&story.item, &own.item) {
        (None, Some(item)) => {
            return Err(format!("`item` is needed, with the medium `{}`", name(item.medium)));
        }
        (Some(_), None) => return Err("`item` is null in this task".to_owned()),
        (Some(item), Some(own)) if item.medium != own.medium => {
            return Err(format!("`item.medium` is `{}` in this task", name(own.medium)));
        }
        _ => {}
    }
    match (&story.network, &own.network) {
        (None, Some(_)) => return Err("`network` is needed in this task".to_owned()),
        (Some(_), None) => return Err("`network` is null in this task".to_owned()),
        _ => {}
    }
    match formulation {
        Formulation::Multilabel if story.labels.is_empty() => {
            Err("`labels` are needed in this task".to_owned())
        }
        Formulation::MultiTarget if story.targets.is_empty() => {
            Err("`targets` are needed in this task".to_owned())
        }
        Formulation::Ranking if story.ranking.is_none() => {
            Err("`ranking` is needed in this task".to_owned())
        }
        _ => Ok(()),
    }
}

/// The name of a medium in an answer.
fn name(medium: MediumKind) -> String {
    in_words(&medium).replace(' ', "_")
}

fn least_numbers(story: &TableScenario) -> usize {
    match (&story.item, &story.network) {
        (Some(_), _) => 4,
        (None, Some(_)) => 6,
        (None, None) => 7,
    }
}

/// What this task needs of the fields that others leave empty.
fn table_needs(brief: &Brief<'_>, own: &TableScenario) -> String {
    let mut needs = vec![
        match brief.slot.cell.formulation {
            Formulation::Binary | Formulation::Matching => "`binary` is predicted",
            Formulation::Multiclass => "`graded` is predicted",
            Formulation::Regression | Formulation::Quantiles => "`number` is predicted",
            Formulation::Multilabel => "`labels` are predicted and must not be empty",
            Formulation::MultiTarget => "`targets` are predicted and must not be empty",
            _ => "`ranking` is predicted and must not be null",
        }
        .to_owned(),
    ];
    match &own.item {
        None => needs.push("`item` is null".to_owned()),
        Some(item) => {
            let carried: Vec<&str> =
                item.medium.statistics().iter().map(|known| known.means).collect();
            needs.push(format!(
                "`item` has the medium `{}`; `column` names the column of the items, `shows` says \
                 in a phrase what an item is and how it came about. We draw the items; what tells \
                 them apart is: {}",
                name(item.medium),
                carried.join("; ")
            ));
            needs.push(if item.vocabulary.is_empty() {
                "`item.vocabulary` is an empty list".to_owned()
            } else {
                "`item.vocabulary` has 6 to 10 nouns of the trade, of lower-case letters, that the \
                 texts are about"
                    .to_owned()
            });
            if item.medium == MediumKind::Dossier {
                needs.push("`item.genre` names the trade and the kind of papers".to_owned());
            }
            if item.medium == MediumKind::Pair {
                let column = "a name without `_a` or `_b`, which we add for the two texts";
                needs.push(format!("`item.column` is {column}"));
            }
        }
    }
    needs.push(match &own.network {
        None => "`network` is null".to_owned(),
        Some(_) => "`network` has `shows`: what a link between two rows stands for".to_owned(),
    });
    format!("\nIn this task:\n\n- {}.\n", needs.join(".\n- "))
}

fn scene_fields(story: &SceneScenario) -> String {
    let (truth, classes) = match story.formulation {
        Formulation::Detection => (
            "the boxes are drawn around",
            "1 to 3 classes of things with boxes, in the form of names; things differ in the \
             pattern of their stripes and in size",
        ),
        Formulation::Reconstruction => {
            ("the clean picture shows; the given one is blurred and damaged", "an empty list")
        }
        _ => (
            "the mask marks; marked regions have another texture than those that look alike",
            "an empty list",
        ),
    };
    let formulation = format!("`{}`", in_words(&story.formulation));
    let values = [("formulation", formulation.as_str()), ("truth", truth), ("classes", classes)];
    let fields = fill(SCENE_FIELDS, &values);
    format!("{}.\n", fields.trim_end())
}

/// The embedded story of another domain that is shown as an example.
fn example(brief: &Brief<'_>) -> Story {
    let stories = scenario::all().expect("tests read the embedded stories");
    let others: Vec<Story> = stories
        .into_iter()
        .filter(|other| other.domain != brief.scenario.domain && other.serves(brief.slot.cell))
        .map(|other| other.story)
        .collect();
    assert!(!others.is_empty(), "every kind of task has stories in several domains");
    Draws::new(brief.origin.stream("example")).pick(&others).clone()
}

fn data(brief: &Brief<'_>) -> String {
    let story = match &brief.scenario.story {
        Story::Series(_) => return "several series over time, in one table".to_owned(),
        Story::Scene(_) => return "pictures".to_owned(),
        Story::Challenge(story) if story.formulation == Formulation::Retrieval => {
            return "measurements of known individuals".to_owned();
        }
        Story::Challenge(story) if story.formulation == Formulation::Recommendation => {
            return "what people chose before, and a few facts about them".to_owned();
        }
        Story::Challenge(story) if story.formulation == Formulation::Positions => {
            return "sequences of symbols, and a few facts about each of them".to_owned();
        }
        Story::Challenge(_) => return "a text per row".to_owned(),
        Story::Table(story) => story,
    };
    if story.network.is_some() {
        return "a table whose rows are the nodes of one network".to_owned();
    }
    let item = match story.item.as_ref().map(|item| item.medium) {
        None => return "a table of number and word columns".to_owned(),
        Some(
            MediumKind::Surface | MediumKind::Objects | MediumKind::Scenery | MediumKind::Picture,
        ) => "a picture",
        Some(MediumKind::Clip) => "a short clip",
        Some(MediumKind::Recording | MediumKind::Soundscape | MediumKind::Sound) => "a recording",
        Some(MediumKind::Report | MediumKind::Text) => "a text",
        Some(MediumKind::Dossier) => "a document of some pages",
        Some(MediumKind::Pair) => "a pair of texts",
        Some(MediumKind::Network) => "a graph",
    };
    match (brief.slot.cell.modality, brief.slot.cell.formulation) {
        (Modality::Multimodal, _) => format!("{item} per row, and a table"),
        (_, Formulation::Ranking) => format!("{item} per row, and a few columns"),
        _ => format!("{item} per row"),
    }
}

fn question(formulation: Formulation) -> &'static str {
    match formulation {
        Formulation::Binary => "one of two classes per row",
        Formulation::Multiclass => "one of several graded classes per row",
        Formulation::Multilabel => "any number of labels per row",
        Formulation::Regression => "one number per row",
        Formulation::MultiTarget => "several numbers per row",
        Formulation::Quantiles => "three quantiles of one number per row",
        Formulation::Ranking => "the order of the rows of each query",
        Formulation::Forecasting => "the next values of each series",
        Formulation::Matching => "whether the two texts of a row are about the same thing",
        Formulation::Segmentation => "the pixels that belong to something",
        Formulation::Detection => "the boxes around things",
        Formulation::Reconstruction => "the clean picture behind a damaged one",
        Formulation::Normalisation => "what is written, as it is read aloud",
        Formulation::Extraction => "the piece of a text that says what is asked for",
        Formulation::Retrieval => "which known individual a row is of, in up to five guesses",
        Formulation::Recommendation => "what someone chooses next, in up to five guesses",
        Formulation::Positions => "numbers or a class for each position of a sequence",
    }
}

fn metrics(formulation: Formulation) -> &'static str {
    match formulation {
        Formulation::Binary | Formulation::Matching => {
            "one for two classes, such as ROC AUC, log loss or balanced accuracy"
        }
        Formulation::Multiclass => "one for classes, such as accuracy, macro F1 or kappa",
        Formulation::Multilabel => "one for labels, such as mean column-wise AUC or micro F1",
        Formulation::Regression => {
            "one for numbers, such as RMSE or rank correlation; a relative one if the target is \
             positive and its high value is 8 times its low value or more"
        }
        Formulation::MultiTarget => "one for numbers, averaged over the targets, such as MCRMSE",
        Formulation::Quantiles => "the pinball loss, averaged over the quantiles",
        Formulation::Ranking => "one for rankings, such as NDCG or mean reciprocal rank",
        Formulation::Forecasting => "one for numbers, such as RMSE or SMAPE",
        Formulation::Segmentation => "one for masks, such as Dice",
        Formulation::Detection => "mean average precision of boxes",
        Formulation::Reconstruction => "one for pictures, such as PSNR or SSIM",
        Formulation::Normalisation | Formulation::Extraction => {
            "one for texts, such as the share of exact matches"
        }
        Formulation::Retrieval | Formulation::Recommendation => {
            "mean average precision of the guesses"
        }
        Formulation::Positions => "one for numbers or classes, over all positions, such as RMSE",
    }
}

fn rows(brief: &Brief<'_>) -> String {
    let train = match &brief.scenario.story {
        Story::Scene(_) => "80 to 110",
        Story::Challenge(_) => "80 to 200",
        Story::Series(_) => "up to 200, over 4 to 6 of the series",
        Story::Table(_) => "140 to 200",
    };
    let test = match brief.preset {
        Preset::Large => "several hundred",
        Preset::Paper => "a quarter as many",
    };
    format!("{train} to train on, {test} to test on")
}

fn split(brief: &Brief<'_>) -> &'static str {
    match (&brief.scenario.story, brief.slot.cell.formulation) {
        (Story::Series(_), _) => "the last steps of every series are the test rows",
        (_, Formulation::Ranking) => "whole queries, at random",
        _ => "at random",
    }
}

/// The structure of the seed, in words.
fn dna(dna: &Dna) -> String {
    let mut facts = vec![
        format!("{} data", in_words(&dna.modality)),
        format!("asks for {}", dna.asks.replace(['_', '/'], " ")),
        format!("target {}", dna.distribution.replace('_', " ")),
    ];
    facts.extend(dna.cardinality.map(|count| format!("{count} classes or columns")));
    let traits: Vec<String> = dna.traits.iter().map(in_words).collect();
    if !traits.is_empty() {
        facts.push(format!("difficulties: {}", traits.join(", ")));
    }
    facts.join("; ")
}
