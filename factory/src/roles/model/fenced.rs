//! A file of code in the answer of a chat model.

use crate::roles::RoleRefusal;
use std::borrow::Cow;
use tasks::text::printable;

/// The code of an answer: what stands in its only code fence, or all of it if there is no fence.
///
/// # Errors
/// [`RoleRefusal`] with the code `answer_form`: several fences, no code, more than `most` bytes, or
/// characters that do not show.
pub(super) fn file(answer: &str, most: usize) -> Result<String, RoleRefusal> {
    let refuse = |detail: String| Err(RoleRefusal { code: "answer_form", detail });
    let answer = answer.replace("\r\n", "\n");
    let code = match *answer.split("```").collect::<Vec<_>>() {
        [code] => code,
        [_, fenced, _] => {
            // What follows the fence on its line is the name of the language.
            fenced.split_once('\n').map_or("", |(_, code)| code)
        }
        [_, _] => return refuse("the code fence is not closed; send the whole file".to_owned()),
        _ => return refuse("there are several code fences; send one file in one fence".to_owned()),
    };
    let code = format!("{}\n", code.trim());
    if code.trim().is_empty() {
        return refuse("there is no code; send one file in one code fence".to_owned());
    }
    if code.len() > most {
        let detail = format!("the file has {} bytes; at most {most} are accepted", code.len());
        return refuse(detail);
    }
    if let Cow::Owned(_) = printable(&code) {
        let detail = "the file holds control characters or marks of writing direction; use plain \
                      text and escapes";
        return refuse(detail.to_owned());
    }
    Ok(code)
}
