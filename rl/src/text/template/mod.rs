//! Conversations as token ids, in the layout of the checkpoint's own chat template.
//!
//! ```text
//! <|im_start|>system\n…<|im_end|>\n<|im_start|>user\n…<|im_end|>\n<|im_start|>assistant\n   prompt
//! …<|im_end|>                                                                              model
//! \n<|im_start|>user\n<tool_response>\n…\n</tool_response><|im_end|>\n<|im_start|>assistant\n  environment
//! …<|im_end|>                                                                              model
//! ```
//! A trajectory's ids are the concatenation of these pieces. What the model sampled stays the ids
//! that it sampled: encoding its text again could give others, and training would then push on
//! tokens that nobody chose. The text of every other piece is what the template renders, as
//! transformers renders it (`jinja`); control tokens of the template become control ids, those in
//! the content of messages never do (`guard`).

mod guard;
mod jinja;
mod layout;
mod message;

pub use layout::{ChatTemplateOptions, JINJA, Template, TemplateError};
pub use message::{ChatMessage, ChatRole, FunctionCall, ToolCall};
