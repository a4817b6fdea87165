//! What a judge answers.

use llm::schema::parse;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Longest reason that is kept, in characters.
const REASON: usize = 500;

/// What a judge says of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Opinion {
    pub(super) keep: bool,
    pub(super) why: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Opinions {
    turns: BTreeMap<String, Opinion>,
}

/// Reads an answer that must name every turn that was asked about, and no other; else what is wrong with
/// it, for the judge.
pub(super) fn read(answer: &str, asked: &[u32]) -> Result<BTreeMap<u32, Opinion>, String> {
    let Opinions { turns } = parse(answer).map_err(|error| {
        format!(
            "The answer cannot be read: {error}. Answer with one JSON object like {{\"turns\": \
             {{\"3\": {{\"keep\": true, \"why\": \"...\"}}}}}}."
        )
    })?;
    let mut opinions = BTreeMap::new();
    for (key, opinion) in turns {
        let number = key.parse::<u32>().ok().filter(|number| number.to_string() == key);
        let Some(number) = number.filter(|number| asked.contains(number)) else {
            return Err(format!(
                "The answer names turn `{}`, which was not asked about.",
                cut(&key)
            ));
        };
        if opinion.why.trim().is_empty() {
            return Err(format!("The answer says nothing under `why` of turn {number}."));
        }
        let why = cut(opinion.why.trim());
        opinions.insert(number, Opinion { why, ..opinion });
    }
    let missing: Vec<String> = asked
        .iter()
        .filter(|number| !opinions.contains_key(number))
        .map(ToString::to_string)
        .collect();
    if missing.is_empty() {
        return Ok(opinions);
    }
    Err(format!("The answer says nothing of these turns: {}.", missing.join(", ")))
}

fn cut(text: &str) -> String {
    text.chars().take(REASON).collect()
}

/// Answers that are broken, each in a way of its own, where turns 3 and 4 were asked about; with a part of
/// what the judge is told.
#[cfg(test)]
pub(super) const BROKEN: [(&str, &str); 32] = [
    ("", "no JSON object"),
    ("I keep both turns.", "no JSON object"),
    ("keep, drop", "no JSON object"),
    ("```json\n```", "no JSON object"),
    ("[true, false]", "no JSON object"),
    (r#"["turns"]"#, "no JSON object"),
    (r#"{"turns": {"3": {"keep": true, "why": "a"}"#, "no JSON object"),
    (r#"{"turns": {"3": {"keep": true, "why": "a}}"#, "no JSON object"),
    ("{}", "missing field `turns`"),
    (r#"{"turn": {"3": {"keep": true, "why": "a"}}}"#, "unknown field `turn`"),
    (r#"{"3": {"keep": true, "why": "a"}, "4": {"keep": true, "why": "b"}}"#, "unknown field `3`"),
    (r#"{"turns": [{"keep": true, "why": "a"}, {"keep": true, "why": "b"}]}"#, "expected a map"),
    (r#"{"turns": "3"}"#, "expected a map"),
    (r#"{"turns": null}"#, "expected a map"),
    (r#"{"turns": {}}"#, "nothing of these turns: 3, 4"),
    (r#"{"turns": {"3": {"keep": true, "why": "a"}}}"#, "nothing of these turns: 4"),
    (
        r#"{"turns": {"3": {"keep": true, "why": "a"}, "4": {"keep": true, "why": "b"}, "5": {"keep": true, "why": "c"}}}"#,
        "names turn `5`",
    ),
    (r#"{"turns": {"03": {"keep": true, "why": "a"}}}"#, "names turn `03`"),
    (r#"{"turns": {"turn 3": {"keep": true, "why": "a"}}}"#, "names turn `turn 3`"),
    (r#"{"turns": {"-3": {"keep": true, "why": "a"}}}"#, "names turn `-3`"),
    (r#"{"turns": {"3.0": {"keep": true, "why": "a"}}}"#, "names turn `3.0`"),
    (r#"{"turns": {"3": true, "4": false}}"#, "invalid type"),
    (r#"{"turns": {"3": "keep", "4": "drop"}}"#, "invalid type"),
    (r#"{"turns": {"3": {"keep": "true", "why": "a"}}}"#, "expected a boolean"),
    (r#"{"turns": {"3": {"keep": 1, "why": "a"}}}"#, "expected a boolean"),
    (r#"{"turns": {"3": {"keep": null, "why": "a"}}}"#, "expected a boolean"),
    (r#"{"turns": {"3": {"why": "a"}}}"#, "missing field `keep`"),
    (r#"{"turns": {"3": {"keep": true}}}"#, "missing field `why`"),
    (r#"{"turns": {"3": {"keep": true, "why": " "}}}"#, "nothing under `why` of turn 3"),
    (r#"{"turns": {"3": {"keep": true, "why": "a", "sure": 0.9}}}"#, "unknown field `sure`"),
    (
        r#"{"turns": {"3": {"keep": true, "why": "a"}, "3": {"keep": false, "why": "b"}}}"#,
        "`3` occurs twice",
    ),
    ("{'turns': {'3': {'keep': true, 'why': 'a'}}}", "line 1 column"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_broken_answer_is_refused_with_what_is_wrong() {
        for (answer, part) in BROKEN {
            let problem = read(answer, &[3, 4]).unwrap_err();
            assert!(problem.contains(part), "{answer}: {problem}");
        }
    }

    #[test]
    fn whole_answer_is_read_in_any_wrapping() {
        let object = r#"{"turns": {"4": {"keep": false, "why": " Guesses. "}, "3": {"keep": true, "why": "{"}}}"#;
        for answer in [
            object.to_owned(),
            format!("```json\n{object}\n```"),
            format!("<think>{{\"turns\": {{}}}}</think>Here:\n{object}\nThat is all."),
        ] {
            let opinions = read(&answer, &[3, 4]).unwrap();
            assert_eq!(opinions[&4], Opinion { keep: false, why: "Guesses.".to_owned() });
            assert!(opinions[&3].keep);
        }
        let long =
            format!(r#"{{"turns": {{"3": {{"keep": true, "why": "{}"}}}}}}"#, "ä".repeat(900));
        assert_eq!(read(&long, &[3]).unwrap()[&3].why.chars().count(), REASON);
    }

    proptest! {
        #[test]
        fn no_answer_makes_the_reader_panic(text in "[{}\":a-z0-9, \\[\\]turnskeepwhy]{0,80}") {
            let _ = read(&text, &[3, 4]);
        }
    }
}
