//! What a planner answers, read strictly: it is text of somebody else's.

use super::check::{ErrorClass, Rejection};
use super::proposal::Proposal;
use serde::de::DeserializeOwned;

/// Characters of an answer that an error quotes.
const QUOTED: usize = 200;

/// Reads the one object of JSON in an answer: the whole answer, or its only fenced block.
///
/// # Errors
/// A rejection of the class `PLANNER` that can be given back to whoever answered.
///
/// # Examples
/// ```rust
/// use posttrain::ft::{Diagnosis, read_answer};
///
/// let text = "```json\n{\"summary\": \"s\", \"gaps\": [], \"reason\": \"r\", \"next\": \"n\"}\n```";
/// let diagnosis: Diagnosis = read_answer(text)?;
/// assert_eq!(diagnosis.next, "n");
/// assert!(read_answer::<Diagnosis>("I would try more data.").is_err());
/// # Ok::<(), posttrain::ft::Rejection>(())
/// ```
pub fn read_answer<T: DeserializeOwned>(text: &str) -> Result<T, Rejection> {
    let wrong = |why: String| Rejection::new(ErrorClass::Planner, why);
    let object = match block(text, "json") {
        Some(inside) => inside.map_err(wrong)?,
        None => text.trim(),
    };
    serde_json::from_str(object).map_err(|error| {
        let begin: String = object.chars().take(QUOTED).collect();
        let why = if object.starts_with('{') { "" } else { "there is prose around it or instead; " };
        wrong(format!("the answer must be one object of JSON and nothing else: {why}{error}; it begins with `{begin}`"))
    })
}

/// Reads the one fenced block of a language in an answer: a script or settings.
///
/// # Errors
/// A rejection of the class `PLANNER` if there is none, more than one, or one without an end.
pub fn read_block(text: &str, language: &str) -> Result<String, Rejection> {
    let wrong = |why: String| Rejection::new(ErrorClass::Planner, why);
    match block(text, language) {
        Some(Ok(inside)) => Ok(inside.to_owned() + "\n"),
        Some(Err(why)) => Err(wrong(why)),
        None => {
            Err(wrong(format!("the answer must have one block that begins with ```{language}")))
        }
    }
}

/// What stands in the only fenced block; `None` without one.
fn block<'a>(text: &'a str, language: &str) -> Option<Result<&'a str, String>> {
    let opening = format!("```{language}\n");
    let (_, rest) = text.split_once(&opening)?;
    let Some((inside, after)) = rest.split_once("\n```") else {
        return Some(Err(format!("the block of {language} has no end; the answer was cut off")));
    };
    if after.contains("```") {
        return Some(Err("the answer must have one block and no other".to_owned()));
    }
    Some(Ok(inside.trim_end()))
}

/// Refuses a proposal that does what an earlier one did, in whatever words.
///
/// # Errors
/// A rejection of the class `PLANNER` that names the earlier one by its number.
pub fn refuse_repeated<'a>(
    proposal: &Proposal,
    earlier: impl IntoIterator<Item = (u32, &'a Proposal)>,
) -> Result<(), Rejection> {
    match earlier.into_iter().find(|(_, other)| proposal.repeats(other)) {
        None => Ok(()),
        Some((number, _)) => Err(Rejection::new(
            ErrorClass::Planner,
            format!(
                "this was tried as experiment {number}; change data or settings, or say another source"
            ),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::super::proposal::tests::proposal;
    use super::*;
    use serde_json::json;

    fn refused(text: &str) -> String {
        let rejection = read_answer::<Proposal>(text).unwrap_err();
        assert_eq!(rejection.class, ErrorClass::Planner);
        rejection.message
    }

    #[test]
    fn answers_that_are_prose_cut_or_have_other_fields_are_refused_with_a_reason() {
        let text = serde_json::to_string(&proposal()).unwrap();
        assert_eq!(read_answer::<Proposal>(&text).unwrap(), proposal());
        assert_eq!(read_answer::<Proposal>(&format!("```json\n{text}\n```")).unwrap(), proposal());
        assert!(refused("Let us try more data.").contains("there is prose"));
        assert!(refused(&format!("Here it is: {text}")).contains("there is prose"));
        assert!(refused(&text[..text.len() / 2]).contains("EOF"));
        assert!(refused(&format!("```json\n{}", &text[..40])).contains("cut off"));
        assert!(
            refused(&format!("```json\n{text}\n```\n```json\n{text}\n```")).contains("one block")
        );
        let mut more = serde_json::to_value(proposal()).unwrap();
        more["confidence"] = json!(0.9);
        assert!(refused(&more.to_string()).contains("unknown field `confidence`"));
    }

    #[test]
    fn block_of_a_language_is_read_alone() {
        let text = "First I read.\n```python\nprint(1)\n```\n";
        assert_eq!(read_block(text, "python").unwrap(), "print(1)\n");
        assert!(read_block(text, "toml").unwrap_err().message.contains("```toml"));
        assert!(read_block("```toml\nepochs = 3", "toml").unwrap_err().message.contains("cut off"));
    }

    #[test]
    fn same_proposal_twice_is_refused_by_the_number_of_the_first() {
        let first = proposal();
        let mut second = proposal();
        second.reason = "in other words".into();
        let found = refuse_repeated(&second, [(3, &first)]).unwrap_err();
        assert!(found.message.contains("experiment 3"), "{found}");
        second.data.target_samples += 1;
        assert_eq!(refuse_repeated(&second, [(3, &first)]), Ok(()));
    }
}
