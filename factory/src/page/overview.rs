//! The built-in prose on the task and its background: who asks, what for, what is wanted.

use super::phrases::Phrases;
use super::style::{PageLength, PageStyle, ParagraphForm};
use crate::numeric::draws::Draws;
use crate::spec::blueprint::{Blueprint, Target};
use crate::spec::scenario::Scenario;
use tasks::stream::Stream;
use tasks::task::Formulation;

/// A heading without marks, and the text below it.
pub(super) type HeadedText = (String, String);

/// A subject of the prose: the symbol of its sentences, and that of the question it answers.
type Subject = (&'static str, &'static str);

const OPENING: Subject = ("opening", "q_opening");
const STORY: Subject = ("story", "q_story");
const COLLECTION: Subject = ("collection", "q_collection");
const STAKES: Subject = ("stakes", "q_stakes");
const USE: Subject = ("use", "q_use");
const ASK: Subject = ("ask", "q_ask");
const CLOSING: Subject = ("closing", "q_closing");

/// The overview, and for long pages the background.
pub(super) fn overview(
    blueprint: &Blueprint,
    scenario: &Scenario,
    style: &PageStyle,
    phrases: &mut Phrases,
    stream: Stream,
) -> (HeadedText, Option<HeadedText>) {
    let mut draws = Draws::new(stream.child("subjects"));
    let (first, second) = subjects(style.length, &mut draws);
    let mut write = |heading: &str, subjects: &[Subject], form: ParagraphForm| {
        let heading = phrases.sentences(heading);
        let texts: Vec<(String, String)> = subjects
            .iter()
            .map(|(symbol, question)| {
                let text = match *symbol {
                    "story" => story(scenario, phrases),
                    "ask" => ask(blueprint, phrases),
                    symbol => phrases.sentences(symbol),
                };
                (question_of(question, form, phrases), text)
            })
            .collect();
        (heading, laid_out(&texts, form, phrases, &mut draws))
    };
    let overview = write("heading_overview", &first, style.form);
    // The background is in paragraphs where the overview is not, and the other way round.
    let form = match style.form {
        ParagraphForm::Prose | ParagraphForm::Dated => ParagraphForm::Bullets,
        _ => ParagraphForm::Prose,
    };
    let background = (!second.is_empty()).then(|| write("heading_background", &second, form));
    (overview, background)
}

/// What the overview and the background are about.
fn subjects(length: PageLength, draws: &mut Draws) -> (Vec<Subject>, Vec<Subject>) {
    let (mut overview, mut background) = match length {
        PageLength::Short => (vec![*draws.pick(&[OPENING, USE, STAKES])], Vec::new()),
        PageLength::Medium => {
            let mut others = vec![OPENING, COLLECTION, STAKES, USE, CLOSING];
            draws.shuffle(&mut others);
            others.truncate(draws.whole(2, 3));
            (others, Vec::new())
        }
        PageLength::Long => {
            let mut others = vec![COLLECTION, STAKES, USE, CLOSING];
            draws.shuffle(&mut others);
            let later = others.split_off(1);
            (vec![OPENING, others[0]], later)
        }
    };
    if length == PageLength::Long {
        background.push(COLLECTION);
    }
    overview.insert(draws.whole(0, overview.len()), STORY);
    overview.insert(draws.whole(0, overview.len()), ASK);
    // Who asks comes first, and the last words last.
    overview.sort_by_key(|subject| match *subject {
        OPENING => 0,
        CLOSING => 2,
        _ => 1,
    });
    background.sort_by_key(|subject| *subject == CLOSING);
    (overview, background)
}

fn story(scenario: &Scenario, phrases: &mut Phrases) -> String {
    let first = phrases.sentences("story_one");
    if scenario.story.text().trim().contains(". ") {
        format!("{first} {}", phrases.sentences("story_two"))
    } else {
        first
    }
}

/// What is to be predicted.
fn ask(blueprint: &Blueprint, phrases: &mut Phrases) -> String {
    let nominal = blueprint.targets.iter().any(Target::is_nominal);
    let (ask, warning) = match blueprint.formulation {
        Formulation::Binary | Formulation::Matching => ("ask_binary", None),
        Formulation::Multiclass if nominal && blueprint.labels_in_names() => ("ask_named", None),
        Formulation::Multiclass if nominal => ("ask_nominal", None),
        Formulation::Multiclass => ("ask_multiclass", None),
        Formulation::Multilabel => ("ask_multilabel", None),
        Formulation::MultiTarget => ("ask_multi_target", None),
        Formulation::Quantiles => ("ask_quantiles", Some("warn_quantiles")),
        Formulation::Ranking => ("ask_ranking", None),
        Formulation::Regression => ("ask_regression", None),
        Formulation::Forecasting => ("ask_forecasting", None),
        Formulation::Segmentation => ("ask_segmentation", Some("warn_segmentation")),
        Formulation::Detection => ("ask_detection", Some("warn_detection")),
        Formulation::Reconstruction => ("ask_reconstruction", None),
        Formulation::Normalisation => ("ask_normalisation", Some("warn_normalisation")),
        Formulation::Extraction => ("ask_extraction", Some("warn_extraction")),
        Formulation::Retrieval => ("ask_retrieval", Some("warn_retrieval")),
        Formulation::Recommendation => ("ask_recommendation", Some("warn_recommendation")),
        Formulation::Positions => ("ask_positions", Some("warn_positions")),
    };
    let ask = phrases.sentences(ask);
    match warning {
        Some(warning) => format!("{ask} {}", phrases.sentences(warning)),
        None => ask,
    }
}

/// The question before a text, where the form has questions.
fn question_of(symbol: &str, form: ParagraphForm, phrases: &mut Phrases) -> String {
    match form {
        ParagraphForm::Questions => phrases.sentences(symbol),
        _ => String::new(),
    }
}

/// Texts, each with its question, in a form.
fn laid_out(
    texts: &[(String, String)],
    form: ParagraphForm,
    phrases: &mut Phrases,
    draws: &mut Draws,
) -> String {
    let lines = |mark: &dyn Fn(usize) -> String| {
        let line = |(at, (_, text)): (usize, &(String, String))| format!("{}{text}", mark(at));
        texts.iter().enumerate().map(line).collect::<Vec<_>>().join("\n")
    };
    match form {
        ParagraphForm::Prose => paragraphs(texts, draws),
        ParagraphForm::Dated => {
            format!("{}\n\n{}", phrases.text("dateline"), paragraphs(texts, draws))
        }
        ParagraphForm::Bullets => {
            format!("{}\n\n{}", phrases.sentences("points_lead"), lines(&|_| "- ".to_owned()))
        }
        ParagraphForm::Numbered => {
            let list = lines(&|at| format!("{}. ", at + 1));
            format!("{}\n\n{list}", phrases.sentences("points_lead"))
        }
        ParagraphForm::Questions => {
            let pair = |(question, text): &(String, String)| format!("**{question}** {text}");
            texts.iter().map(pair).collect::<Vec<_>>().join("\n\n")
        }
    }
}

/// Texts in paragraphs of one to three.
fn paragraphs(texts: &[(String, String)], draws: &mut Draws) -> String {
    let mut paragraphs = String::new();
    let mut left = draws.whole(1, 3);
    for (at, (_, text)) in texts.iter().enumerate() {
        if at > 0 {
            paragraphs.push_str(if left == 0 { "\n\n" } else { " " });
        }
        if left == 0 {
            left = draws.whole(1, 3);
        }
        left -= 1;
        paragraphs.push_str(text);
    }
    paragraphs
}
