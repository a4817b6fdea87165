//! The technical writer as a chat model: what it is asked, and what its answer is.

use super::Question;
use super::prompt::shortened;
use crate::data::assets::Assets;
use crate::page::{self, Prose, RefusedProse};
use crate::roles::{RoleFeedback, RoleRefusal};
use crate::spec::blueprint::Blueprint;
use crate::spec::scenario::Scenario;
use llm::AnswerSchema;
use std::fmt::Write as _;

const SYSTEM: &str = "\
You are the technical writer of a data science competition. You write the prose of its description \
page in plain, lively English. Tables, scoring rules, the form of a submission and the list of files \
are added by us, so you leave them out.";

const TASK: &str = "\
Write the prose of the description page of the competition below.

- `title`: a heading of at most 80 characters.
- `overview`: at most 120 words in plain paragraphs. Say who asks and why, what a row is, and what is \
to be predicted. You may invent a place and an organisation that fit the story.
- `columns`: every column of the list exactly once, by its name without backquotes, with one sentence \
of at most 40 words on what it holds.
- `target`: one sentence of at most 50 words on what the target is.

Rules:
- Use the numbers of the facts or none. Write no dates.
- Put names of columns into backquotes. Name no column that the task does not have.
- Guess nothing about which columns matter or how they act together.
- Mention no metric, no other competition, and nothing of how the data were made for this task.
- No headings, lists, tables, links, tags or code. No orders to the reader beyond what is to be \
predicted.

Facts:
";

/// The question for the prose of a task's page. Its text depends on the arguments alone.
///
/// # Panics
/// Never: a test narrows the schema of [`Prose`].
pub(super) fn question(
    blueprint: &Blueprint,
    scenario: &Scenario,
    assets: &Assets,
    feedback: Option<&RoleFeedback>,
) -> Question {
    let mut prompt = format!("{TASK}{}", page::facts(blueprint, scenario, assets));
    if let Some(RoleFeedback { code, detail, .. }) = feedback {
        let detail = shortened(detail);
        let _ = write!(prompt, "\nAn earlier page was refused ({code}): {detail}\nAvoid this.\n");
    }
    let schema = AnswerSchema::from_type::<Prose>("prose").expect("a test narrows this schema");
    Question {
        name: "prose",
        system: SYSTEM.to_owned(),
        prompt,
        schema: Some(schema),
        temperature: 0.7,
        max_tokens: 1500,
        max_bytes: 8 << 10,
    }
}

/// The prose of an answer, checked against the facts of its task.
///
/// # Errors
/// [`RoleRefusal`] with the code `page_schema` if the answer is not of the form that was asked for,
/// or with a code of [`page::check`].
pub(super) fn parse(
    answer: &str,
    blueprint: &Blueprint,
    scenario: &Scenario,
    assets: &Assets,
) -> Result<Prose, RoleRefusal> {
    let prose: Prose = llm::schema::parse(answer)
        .map_err(|error| RoleRefusal { code: "page_schema", detail: error.to_string() })?;
    page::check(&prose, blueprint, scenario, assets)?;
    Ok(prose)
}

impl From<RefusedProse> for RoleRefusal {
    fn from(RefusedProse { code, detail }: RefusedProse) -> Self {
        Self { code, detail }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::rendered_task::RenderedTask;
    use crate::roles::RoleName;
    use crate::roles::model::prompt::MAX_FEEDBACK;
    use crate::spec::mix::Cell;
    use crate::verify;

    fn ask(task: &RenderedTask, feedback: Option<&RoleFeedback>) -> Question {
        question(&task.blueprint, &task.scenario, &task.assets, feedback)
    }

    fn read(task: &RenderedTask, answer: &str) -> Result<Prose, RoleRefusal> {
        parse(answer, &task.blueprint, &task.scenario, &task.assets)
    }

    #[test]
    fn question_holds_the_facts_and_nothing_of_the_rule() {
        for cell in Cell::all() {
            for index in 0..2 {
                let task = RenderedTask::new(cell, index);
                let asked = ask(&task, None);
                assert_eq!(asked, ask(&task, None));
                verify::rule_is_not_on_page(&asked.prompt, &task.blueprint).unwrap();
                let names = asked.prompt.lines().filter_map(|line| line.strip_prefix("  - `"));
                let names: Vec<&str> = names.filter_map(|line| line.split('`').next()).collect();
                assert!(names.is_sorted(), "{cell}: {names:?}");
                let train = task.assets.train.get_column_names();
                let all = train.iter().all(|name| names.contains(&name.as_str()));
                assert!(all, "{cell}: {names:?}");
            }
        }
    }

    #[test]
    fn question_of_a_refused_page_says_why() {
        let task = RenderedTask::new("tabular/binary".parse().unwrap(), 0);
        let feedback = RoleFeedback {
            role: RoleName::Writer,
            code: "page_number",
            detail: format!("leave 9.05 out{}", " again".repeat(1000)),
        };
        let prompt = ask(&task, Some(&feedback)).prompt;
        assert!(prompt.contains("An earlier page was refused (page_number): leave 9.05 out"));
        assert!(prompt.len() < ask(&task, None).prompt.len() + MAX_FEEDBACK + 100);
        insta::assert_snapshot!(ask(&task, None).prompt);
    }

    #[test]
    fn answer_is_prose_or_a_refusal_with_a_code() {
        let task = RenderedTask::new("image/detection".parse().unwrap(), 0);
        let column = task.blueprint.file_column().unwrap();
        let answer = |overview: &str| {
            format!(
                "Here you are:\n```json\n{{\"title\": \"A page\", \"overview\": \"{overview}\", \
                 \"columns\": [{{\"name\": \"{column}\", \"text\": \"It names the picture.\"}}], \
                 \"target\": \"Boxes around what is wanted.\"}}\n```"
            )
        };
        assert_eq!(read(&task, &answer("Find them.")).unwrap().title, "A page");
        let code = |answer: &str| read(&task, answer).unwrap_err().code;
        assert_eq!(code("I would rather not."), "page_schema");
        assert_eq!(code("{\"title\": \"A page\"}"), "page_schema");
        assert_eq!(code(&answer("Look at 4711.")), "page_number");
    }
}
