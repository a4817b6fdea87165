//! Questions and answers of the strategist: a puppet that answers with the built-in's own story
//! and terms gets the built-in's blueprint.

use super::*;
use crate::roles::briefs::BriefSet;
use crate::roles::{Brief, RoleFeedback, RoleName, RoleRefusal, strategist};
use crate::spec::blueprint::Blueprint;
use crate::spec::layout::Layout;
use crate::spec::mix::Cell;
use crate::spec::scenario::{SceneScenario, SeriesScenario, Story, TableScenario};
use llm::AnswerSchema;
use proptest::prelude::*;

/// The blueprint of a brief whose story and rules come out of answers.
fn by_answers(
    brief: &Brief<'_>,
    story: &str,
    rule: impl Fn(usize) -> String,
) -> Result<Blueprint, RoleRefusal> {
    let story = parse_story(story, brief)?;
    strategist::strategise_with(brief, &story, &mut |request| {
        parse_terms(&rule(request.blueprint.targets.len()), request)
    })
}

#[test]
fn puppet_gets_the_built_in_blueprint_of_every_kind_of_task() {
    for cell in Cell::all() {
        let set = BriefSet::new(&cell.to_string(), 12);
        for brief in set.briefs() {
            let builtin = strategist::strategise(&brief).unwrap();
            let story = puppet::story_answer(&brief);
            let rule = |target| puppet::rule_answer(&builtin, target);
            let answered = by_answers(&brief, &story, rule).unwrap();
            assert_eq!(answered, builtin, "{cell}");
            // Equal texts are equal numbers, negative zeros included.
            let text = |blueprint| serde_json::to_string(blueprint).unwrap();
            assert_eq!(text(&answered), text(&builtin), "{cell}");
        }
    }
}

#[test]
fn story_of_its_own_changes_pages_and_nothing_that_is_drawn() {
    for cell in ["tabular/binary", "image/multilabel", "time_series/forecasting", "image/detection"]
    {
        let set = BriefSet::new(cell, 2);
        for brief in set.briefs() {
            let builtin = strategist::strategise(&brief).unwrap();
            let title = brief.scenario.story.title();
            let story = puppet::story_answer(&brief).replacen(title, "A heading of its own", 1);
            let rule = |target| puppet::rule_answer(&builtin, target);
            let mut own = by_answers(&brief, &story, rule).unwrap();
            assert_eq!(own.title, "A heading of its own");
            let written = serde_json::to_value(&own).unwrap();
            assert_eq!(serde_json::from_value::<Blueprint>(written).unwrap(), own);
            let scenario = own.scenario_among(&[]).unwrap().into_owned();
            assert_eq!((scenario.key(), &scenario.domain), (&*own.scenario, &own.domain));
            assert_eq!(scenario.story.title(), "A heading of its own");
            (own.title, own.story) = (builtin.title.clone(), None);
            assert_eq!(own, builtin);
        }
    }
}

#[test]
fn blueprint_without_a_story_of_its_own_does_not_write_the_field() {
    let set = BriefSet::new("tabular/binary", 1);
    let blueprint = strategist::strategise(&set.briefs().next().unwrap()).unwrap();
    let written = serde_json::to_value(&blueprint).unwrap();
    assert!(written.get("story").is_none());
    assert!(blueprint.scenario_among(&[]).is_err());
}

#[test]
fn schema_of_every_answer_can_be_narrowed() {
    for schema in [
        AnswerSchema::from_type::<TableScenario>("story"),
        AnswerSchema::from_type::<SeriesScenario>("story"),
        AnswerSchema::from_type::<SceneScenario>("story"),
        AnswerSchema::from_type::<rule::RuleAnswer>("rule"),
    ] {
        let schema = schema.unwrap().json;
        assert!(schema["properties"].get("key").is_none());
        if let Some(numbers) = schema["properties"].get("numbers") {
            let text = numbers.to_string();
            assert!(text.contains("`name low high shape decimals`"), "{text}");
        }
    }
}

#[test]
fn story_that_does_not_fit_is_refused_with_its_code() {
    let cases = [
        ("tabular/binary", "no JSON", "", "story_schema", "no JSON object"),
        ("tabular/binary", "\"title\"", "\"heading\"", "story_schema", "unknown field `heading`"),
        ("tabular/binary", "\"item\": null", "\"item\": 3", "story_schema", "invalid type"),
        (
            "image/binary",
            "\"medium\": \"",
            "\"medium\": \"recording\", \"x\": \"",
            "story_schema",
            "x",
        ),
        ("tabular/binary", "\"story\": \"", "\"story\": \"See <b>. ", "story_text", "not an ASCII"),
        ("tabular/binary", "\"row\": \"", "\"row\": \"taxi fares of ", "evaluation_only", "taxi"),
        ("tabular/binary", " u ", " q ", "story_schema", "name low high u|b|s|c decimals"),
        ("time_series/forecasting", "\"period\": ", "\"period\": 9", "story_schema", "4 to 12"),
    ];
    for (cell, from, to, code, said) in cases {
        let set = BriefSet::new(cell, 1);
        let brief = set.briefs().next().unwrap();
        let answer = match to {
            "" => from.to_owned(),
            _ => puppet::story_answer(&brief).replacen(from, to, 1),
        };
        let refusal = parse_story(&answer, &brief).unwrap_err();
        assert!(refusal.code == code && refusal.detail.contains(said), "{code}: {refusal:?}");
    }
}

#[test]
fn story_without_what_the_question_needs_is_refused() {
    let cases = [
        ("tabular/multilabel", "labels", serde_json::json!([]), "`labels` are needed"),
        ("tabular/multi_target", "targets", serde_json::json!([]), "`targets` are needed"),
        ("tabular/ranking", "ranking", serde_json::Value::Null, "`ranking` is needed"),
        ("image/binary", "item", serde_json::Value::Null, "`item` is needed, with the medium"),
        ("graph/multiclass", "network", serde_json::Value::Null, "`network` is needed"),
        ("image/detection", "formulation", "segmentation".into(), "`formulation` is `detection`"),
        ("image/detection", "classes", serde_json::json!([]), "1 to 3 are needed"),
    ];
    for (cell, field, value, said) in cases {
        let set = BriefSet::new(cell, 1);
        let brief = set.briefs().next().unwrap();
        let mut answer: serde_json::Value =
            serde_json::from_str(&puppet::story_answer(&brief)).unwrap();
        answer[field] = value;
        let refusal = parse_story(&answer.to_string(), &brief).unwrap_err();
        assert_eq!(refusal.code, "story_schema", "{refusal:?}");
        assert!(refusal.detail.contains(said), "{refusal:?}");
    }
}

#[test]
fn item_of_another_medium_is_refused() {
    let set = BriefSet::new("audio/binary", 1);
    let brief = set.briefs().next().unwrap();
    let mut answer = puppet::story_answer(&brief);
    for medium in ["recording", "soundscape"] {
        answer = answer.replacen(&format!("\"{medium}\""), "\"surface\"", 1);
    }
    let refusal = parse_story(&answer, &brief).unwrap_err();
    assert_eq!(refusal.code, "story_schema");
    assert!(refusal.detail.contains("`item.medium` is `"), "{refusal:?}");
}

#[test]
fn term_outside_of_the_notation_is_refused_with_term_and_place() {
    let set = BriefSet::new("tabular/regression", 1);
    let brief = set.briefs().next().unwrap();
    let refusal = strategist::strategise_with(&brief, &brief.scenario.story, &mut |request| {
        let name = &request.columns.numbers[0].name;
        let terms = format!(r#"{{"terms": ["{name}", "1"], "reason": "r"}}"#);
        parse_terms(&terms, request)
    })
    .unwrap_err();
    assert_eq!(refusal.code, "rule_grammar");
    assert!(refusal.detail.starts_with("term 1, character 1: expected a value"), "{refusal:?}");
}

#[test]
fn every_kind_of_task_has_questions_without_gaps() {
    let feedback = RoleFeedback {
        role: RoleName::Strategist,
        code: "trivial",
        detail: "`load` alone is enough".to_owned(),
    };
    for cell in Cell::all() {
        let set = BriefSet::new(&cell.to_string(), 3);
        for brief in set.briefs() {
            let story = story_question(&brief, Facets::draw(brief.origin), Some(&feedback));
            assert!(story.prompt.contains("(trivial): `load` alone is enough"));
            assert!(!story.prompt.contains("{{") && story.prompt.is_ascii());
            assert!(story.prompt.len() < 16_000, "{cell}: {}", story.prompt.len());
            let mut asked = 0;
            let blueprint =
                strategist::strategise_with(&brief, &brief.scenario.story, &mut |request| {
                    asked += 1;
                    let rule = rule_question(request, Some(&feedback));
                    assert!(rule.prompt.contains("(trivial): `load` alone is enough"));
                    assert!(
                        !rule.prompt.contains("{{") && rule.prompt.is_ascii(),
                        "{}",
                        rule.prompt
                    );
                    Ok::<_, RoleRefusal>(request.drafted())
                })
                .unwrap();
            let scene = matches!(blueprint.layout, Layout::Vision(_));
            assert_eq!(asked, if scene { 0 } else { blueprint.targets.len() }, "{cell}");
        }
    }
}

#[test]
fn examples_of_the_rule_prompt_are_in_the_notation() {
    let examples = include_str!("prompts/rule.md").lines().filter_map(|line| {
        line.strip_prefix("- `")?.strip_suffix('`').filter(|text| text.contains("load"))
    });
    let terms: Vec<crate::spec::rule::Expr> = examples.map(|text| text.parse().unwrap()).collect();
    assert_eq!(terms.len(), 3);
}

#[test]
fn story_prompt_snapshot() {
    let set = BriefSet::new("image/multiclass", 1);
    let brief = set.briefs().next().unwrap();
    let question = story_question(&brief, Facets::draw(brief.origin), None);
    insta::assert_snapshot!(question.prompt);
}

#[test]
fn rule_prompt_snapshot() {
    let set = BriefSet::new("tabular/binary", 1);
    let brief = set.briefs().next().unwrap();
    let mut prompts = Vec::new();
    strategist::strategise_with(&brief, &brief.scenario.story, &mut |request| {
        prompts.push(rule_question(request, None).prompt);
        Ok::<_, RoleRefusal>(request.drafted())
    })
    .unwrap();
    insta::assert_snapshot!(prompts.concat());
}

#[test]
fn story_keeps_its_kind() {
    let set = BriefSet::new("image/segmentation", 1);
    let brief = set.briefs().next().unwrap();
    let story = parse_story(&puppet::story_answer(&brief), &brief).unwrap();
    assert!(matches!(story, Story::Scene(_)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Whatever columns a model declares, rows can be drawn of its story.
    #[test]
    fn story_with_any_columns_is_drawn_from(
        columns in prop::collection::vec((-2000..2000_i32, 3..9000_i32, 0..4_usize, 0..5_usize), 7..9),
        cell in prop::sample::select(vec!["tabular/binary", "tabular/regression", "tabular/ranking"]),
    ) {
        let set = BriefSet::new(cell, 1);
        let brief = set.briefs().next().unwrap();
        let mut answer: serde_json::Value =
            serde_json::from_str(&puppet::story_answer(&brief)).unwrap();
        let numbers = columns.iter().enumerate().map(|(index, (low, width, shape, decimals))| {
            // A skewed column is positive, and counts are whole.
            let low = if *shape == 2 { low.abs() + 1 } else { *low };
            let decimals = if *shape == 3 { 0 } else { *decimals };
            let shape = ["u", "b", "s", "c"][*shape];
            format!("measure_{index} {low} {} {shape} {decimals}", low + width)
        });
        answer["numbers"] = numbers.collect::<Vec<_>>().into();
        // The causes are those of the columns that are gone.
        answer["causes"] = serde_json::json!([]);
        answer["follows"] = serde_json::json!([]);
        let story = match parse_story(&answer.to_string(), &brief) {
            Ok(story) => story,
            Err(refusal) => {
                prop_assert!(refusal.detail.contains("too close together"), "{:?}", refusal);
                return Ok(());
            }
        };
        let drafted = strategist::strategise_with(&brief, &story, &mut |request| {
            Ok::<_, RoleRefusal>(request.drafted())
        });
        match drafted {
            Ok(blueprint) => prop_assert!(blueprint.kind().render(&blueprint, None).is_ok()),
            Err(refusal) => prop_assert_eq!(refusal.code, "no_rule"),
        }
    }
}
