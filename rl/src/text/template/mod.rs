//! Conversations as token ids, rendered by the checkpoint's own chat template.
//!
//! ```text
//! <|im_start|>system\n…<|im_end|>\n<|im_start|>user\n…<|im_end|>\n<|im_start|>assistant\n   prompt
//! …<|im_end|>                                                                              model
//! \n<|im_start|>user\n<tool_response>\n…\n</tool_response><|im_end|>\n<|im_start|>assistant\n  environment
//! …<|im_end|>                                                                              model
//! ```
//! Advice of people is a message of the user after an observation, a piece of its own; the invitation to
//! the model then stands behind the last piece of advice instead.
//!
//! The ids of a trajectory are the concatenation of these pieces. Sampled ids are kept: encoding
//! the sampled text again could give other ids, and training would then use tokens that were not
//! sampled. The text of the other pieces is rendered by the template as transformers renders it
//! (`jinja`). Control tokens of the template become control ids; those in the content of messages
//! never do (`guard`).

mod guard;
mod jinja;
mod layout;
mod message;
mod response;

pub(crate) use layout::opening;
pub use layout::{ChatTemplate, ChatTemplateOptions, JINJA, TemplateError};
pub use message::{ChatMessage, ChatRole, FunctionCall, ToolCall};
pub(crate) use response::{RESPONSE_TEMPLATE, response_template, tool_call_format};
