//! The chat layout of Qwen3, built piece by piece and never taken apart again.
//!
//! ```text
//! <|im_start|>system\n…<|im_end|>\n<|im_start|>user\n…<|im_end|>\n<|im_start|>assistant\n   prompt
//! …<|im_end|>                                                                              model
//! \n<|im_start|>user\n<tool_response>\n…\n</tool_response><|im_end|>\n<|im_start|>assistant\n  environment
//! …<|im_end|>                                                                              model
//! ```
//! A trajectory's ids are the concatenation of these pieces. What the model sampled stays the ids
//! that it sampled: encoding its text again could give others, and training would then push on
//! tokens that nobody chose.

use crate::tokenizer::{Tokenizer, TokenizerError};

/// The same layout for tools that render conversations from text.
pub const JINJA: &str = "{%- for message in messages -%}\
{{- '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' -}}\
{%- endfor -%}\
{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\\n' -}}{%- endif -%}";

/// Lays out conversations in the ids of one vocabulary.
#[derive(Debug, Clone, Copy)]
pub struct Template<'t> {
    tokenizer: &'t Tokenizer,
}

impl<'t> Template<'t> {
    /// A layout over `tokenizer`.
    pub fn new(tokenizer: &'t Tokenizer) -> Self {
        Self { tokenizer }
    }

    /// `<|im_start|>role\ncontent<|im_end|>\n`
    fn turn(self, ids: &mut Vec<i64>, role: &str, content: &str) -> Result<(), TokenizerError> {
        let control = self.tokenizer.control();
        ids.push(control.start_of_turn);
        ids.extend(self.tokenizer.encode(&format!("{role}\n{content}"))?);
        ids.push(control.end_of_turn);
        ids.extend(self.tokenizer.encode("\n")?);
        Ok(())
    }

    /// `<|im_start|>assistant\n`
    fn invitation(self, ids: &mut Vec<i64>) -> Result<(), TokenizerError> {
        ids.push(self.tokenizer.control().start_of_turn);
        ids.extend(self.tokenizer.encode("assistant\n")?);
        Ok(())
    }

    /// What stands before the model's first turn.
    ///
    /// # Errors
    /// [`TokenizerError`] if the text cannot be encoded.
    pub fn prompt(self, system: &str, user: &str) -> Result<Vec<i64>, TokenizerError> {
        let mut ids = Vec::new();
        if !system.is_empty() {
            self.turn(&mut ids, "system", system)?;
        }
        self.turn(&mut ids, "user", user)?;
        self.invitation(&mut ids)?;
        Ok(ids)
    }

    /// What stands between two turns of the model: `reply` as the user's message.
    ///
    /// # Errors
    /// [`TokenizerError`] if the text cannot be encoded.
    pub fn reply(self, reply: &str) -> Result<Vec<i64>, TokenizerError> {
        let mut ids = self.tokenizer.encode("\n")?;
        self.turn(&mut ids, "user", reply)?;
        self.invitation(&mut ids)?;
        Ok(ids)
    }

    /// A turn written by someone else, as the model would have sampled it: for imitation.
    ///
    /// # Errors
    /// [`TokenizerError`] if the text cannot be encoded.
    pub fn answer(self, text: &str) -> Result<Vec<i64>, TokenizerError> {
        let mut ids = self.tokenizer.encode(text)?;
        ids.push(self.tokenizer.control().end_of_turn);
        Ok(ids)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pieces_join_into_the_published_layout() {
        let texts: Vec<String> = vec!["system user assistant tool".into(); 3];
        let tokenizer = Tokenizer::train(&texts, 300).unwrap();
        let template = Template::new(&tokenizer);
        let mut ids = template.prompt("Be brief.", "Solve it.").unwrap();
        ids.extend(template.answer("<think>hm</think>").unwrap());
        ids.extend(template.reply("<tool_response>\n0.5\n</tool_response>").unwrap());
        ids.extend(template.answer("<answer>submission</answer>").unwrap());
        insta::assert_snapshot!(tokenizer.decode(&ids).unwrap(), @r"
        <|im_start|>system
        Be brief.<|im_end|>
        <|im_start|>user
        Solve it.<|im_end|>
        <|im_start|>assistant
        <think>hm</think><|im_end|>
        <|im_start|>user
        <tool_response>
        0.5
        </tool_response><|im_end|>
        <|im_start|>assistant
        <answer>submission</answer><|im_end|>
        ");
    }
}
