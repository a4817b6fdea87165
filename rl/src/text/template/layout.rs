//! The checkpoint's chat template, and the pieces of a conversation that it renders.

use super::guard::{Guard, NoMark};
use super::jinja::Jinja;
use super::message::{ChatMessage, ChatRole};
use crate::text::tokenizer::{END_OF_TURN, Tokenizer, TokenizerError};
use minijinja::Value;
use minijinja::value::Serde;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ops::Deref;

/// The chat template of policies that are made here, such as `tiny`.
pub const JINJA: &str = include_str!("builtin.jinja");

/// The tag around observations, in every role that a template gives them.
const RESPONSE_TAG: &str = "<tool_response>";

/// Why a chat template could not be used, or a conversation not be rendered.
#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    /// The checkpoint has no chat template.
    #[error(
        "there is no chat template, neither as `chat_template.jinja` nor under `chat_template` in \
         `tokenizer_config.json`; copy the files that the model was published with, all of them"
    )]
    Missing,
    /// `tokenizer_config.json` is not valid JSON of its form.
    #[error("`tokenizer_config.json` is damaged; copy it again from where the model comes from")]
    Settings(#[source] serde_json::Error),
    /// The template is not valid Jinja, or uses an unsupported feature.
    #[error("the chat template cannot be read")]
    Syntax(#[source] minijinja::Error),
    /// The template cannot render this conversation.
    #[error("the chat template does not take this conversation")]
    Render(#[source] minijinja::Error),
    /// The rendering of a message depends on later messages.
    #[error(
        "conversations cannot grow by pieces with this chat template: {0}; what a model has \
         sampled would have to be rendered anew"
    )]
    Pieces(&'static str),
    /// Control tokens in the content cannot be marked.
    #[error(transparent)]
    NoMark(#[from] NoMark),
    /// Text could not be encoded.
    #[error(transparent)]
    Tokenizer(#[from] TokenizerError),
}

/// The variables of a chat template besides the messages.
#[derive(Debug, Clone, Default)]
pub struct ChatTemplateOptions {
    /// The tools that can be called, as JSON schemas in the form of OpenAI.
    pub tools: Vec<Value>,
    /// `enable_thinking`, whether the model reasons first; `None` for the template's default.
    pub thinking: Option<bool>,
}

/// Renders conversations by the checkpoint's chat template and encodes them as token ids. `T`
/// holds the tokenizer, by reference or shared.
#[derive(Debug)]
pub struct ChatTemplate<T> {
    tokenizer: T,
    jinja: Jinja,
    /// Special tokens by the names that templates use, such as `bos_token`.
    special: BTreeMap<String, String>,
    /// The role of observations.
    observation_role: ChatRole,
}

impl<T: Deref<Target = Tokenizer>> ChatTemplate<T> {
    /// The chat template that came with `tokenizer`. Checks that an observation is rendered the
    /// same at every position and does not change what comes before it.
    ///
    /// # Errors
    /// [`TemplateError`] if there is no template, it cannot be parsed, or its rendering of a
    /// message depends on later messages.
    pub fn new(tokenizer: T) -> Result<Self, TemplateError> {
        let (source, special) = source(&tokenizer)?;
        let jinja = Jinja::new(source).map_err(TemplateError::Syntax)?;
        let mut template = Self { tokenizer, jinja, special, observation_role: ChatRole::Tool };
        // The turn grammar has observations between these tags. A template that supports tools may
        // write the tags itself; otherwise they are part of a user message.
        let observation = template.observed("0.5");
        let known = template
            .piece(&[], &[observation])
            .is_ok_and(|(piece, _)| piece.contains(RESPONSE_TAG));
        if !known {
            template.observation_role = ChatRole::User;
        }
        template.check()?;
        Ok(template)
    }

    /// The token ids before the model's first turn.
    ///
    /// # Errors
    /// [`TemplateError`] if the template cannot render it, or the text cannot be encoded.
    pub fn prompt(&self, system: &str, user: &str) -> Result<Vec<i64>, TemplateError> {
        self.apply(&opening(system, user), &ChatTemplateOptions::default())
    }

    /// The token ids between two turns of the model: `text` as the response of a tool.
    ///
    /// # Errors
    /// [`TemplateError`] if the template cannot render it, or the text cannot be encoded.
    pub fn observation(&self, text: &str) -> Result<Vec<i64>, TemplateError> {
        self.between(&[self.observed(text)])
    }

    /// The token ids between two turns of the model: these messages, none of them the model's.
    ///
    /// # Errors
    /// [`TemplateError`] if the template cannot render them, or a text cannot be encoded.
    pub fn between(&self, messages: &[ChatMessage]) -> Result<Vec<i64>, TemplateError> {
        let (piece, mark) = self.piece(&[], messages)?;
        Ok(self.tokenizer.encode_with_control(&piece, Some(mark))?)
    }

    /// The token ids between two turns of the model where people advise: those of `text` as the response
    /// of a tool, and those of each piece of advice, a message of the user of its own. The last of them
    /// end with the invitation to the model ([`Self::invitation`]). Joined they are what
    /// [`Self::between`] gives for all messages.
    ///
    /// # Errors
    /// [`TemplateError`] if the template cannot render them, does not write a message by itself, or a
    /// text cannot be encoded.
    pub fn advised_observation(
        &self,
        text: &str,
        advice: &[String],
    ) -> Result<(Vec<i64>, Vec<Vec<i64>>), TemplateError> {
        let mut messages = vec![self.observed(text)];
        messages.extend(advice.iter().map(|advice| ChatMessage::advice(advice)));
        let guard = Guard::new(&self.tokenizer, &[&Value::from(Serde(&messages))])?;
        let (mut known, mut parts) = (String::new(), Vec::with_capacity(messages.len()));
        for count in 1..=messages.len() {
            let is_last = count == messages.len();
            let grown = self.guarded_piece(&guard, &[], &messages[..count], is_last)?;
            let part = grown.strip_prefix(&known).ok_or(TemplateError::Pieces(
                "advice changes what comes before it, so that it is no message of its own",
            ))?;
            parts.push(self.tokenizer.encode_with_control(part, Some(guard.mark()))?);
            known = grown;
        }
        let observation = parts.remove(0);
        Ok((observation, parts))
    }

    /// The token ids that invite the model to its next turn.
    ///
    /// # Errors
    /// [`TemplateError`] if the template changes earlier messages to invite it.
    pub fn invitation(&self) -> Result<Vec<i64>, TemplateError> {
        let messages = Value::from(Serde(opening("system", "question")));
        let [head, invited] =
            [false, true].map(|invite| self.render(&messages, &Value::from(()), None, invite));
        let (head, invited) = (head?, invited?);
        let invitation = invited.strip_prefix(&head);
        let invitation =
            invitation.ok_or(TemplateError::Pieces("the prompt changes when turns follow it"))?;
        Ok(self.tokenizer.encode_with_control(invitation, None)?)
    }

    /// The token ids of a message of the user after an observation, in the place of the invitation that
    /// the observation ends with. Rollouts ask for summaries by it.
    ///
    /// # Errors
    /// As [`Self::advised_observation`].
    pub fn request(&self, text: &str) -> Result<Vec<i64>, TemplateError> {
        let (observed, request) = (self.observed("0.5"), ChatMessage::new(ChatRole::User, text));
        let messages = [observed, request];
        let guard = Guard::new(&self.tokenizer, &[&Value::from(Serde(&messages))])?;
        let observed = self.guarded_piece(&guard, &[], &messages[..1], false)?;
        let both = self.guarded_piece(&guard, &[], &messages, true)?;
        let part = both.strip_prefix(&observed).ok_or(TemplateError::Pieces(
            "a request changes what comes before it, so that it is no message of its own",
        ))?;
        Ok(self.tokenizer.encode_with_control(part, Some(guard.mark()))?)
    }

    /// Whether advice can be laid out as rollouts do: as messages of the user after an observation,
    /// which look the same at every position, change nothing before them, and can stay where the turn
    /// before them is left out.
    ///
    /// # Errors
    /// [`TemplateError`] if not, with the reason.
    pub fn check_advice(&self) -> Result<(), TemplateError> {
        let advice = ["Look at ratios.", "Then end."].map(str::to_owned);
        let replies = [
            self.observed("0.5"),
            ChatMessage::advice(&advice[0]),
            ChatMessage::advice(&advice[1]),
        ];
        let history = [&[ChatMessage::new(ChatRole::Assistant, "turn")][..], &replies].concat();
        if self.piece(&[], &replies)? != self.piece(&history, &replies)? {
            return Err(TemplateError::Pieces("advice looks different later on"));
        }
        let (observation, parts) = self.advised_observation("0.5", &advice)?;
        let joined = [observation, parts.concat()].concat();
        if joined != self.between(&replies)? {
            return Err(TemplateError::Pieces(
                "a message and the one after it share a token, so that advice is no message of its own",
            ));
        }
        let invitation = self.invitation()?;
        if invitation.is_empty()
            || !joined.ends_with(&invitation)
            || !self.observation("0.5")?.ends_with(&invitation)
            || !self.prompt("system", "question")?.ends_with(&invitation)
        {
            return Err(TemplateError::Pieces(
                "it invites the model in more than one way, so that advice cannot stay where the turn \
                 before it is left out",
            ));
        }
        Ok(())
    }

    /// The tokenizer that the template came with.
    pub fn tokenizer(&self) -> &Tokenizer {
        &self.tokenizer
    }

    /// The token ids of a turn that was not sampled, as the model would sample it: the target of
    /// SFT.
    ///
    /// # Errors
    /// [`TemplateError::Tokenizer`] if the text cannot be encoded.
    pub fn answer(&self, text: &str) -> Result<Vec<i64>, TemplateError> {
        let mut ids = self.tokenizer.encode(text)?;
        ids.push(self.tokenizer.control().end_of_turn);
        Ok(ids)
    }

    /// The token ids of a whole conversation with the generation prompt after it, like
    /// `apply_chat_template` in transformers.
    ///
    /// # Errors
    /// [`TemplateError`] if the template cannot render it, or the text cannot be encoded.
    pub fn apply(
        &self,
        messages: &[ChatMessage],
        options: &ChatTemplateOptions,
    ) -> Result<Vec<i64>, TemplateError> {
        let (messages, tools) = (Value::from(Serde(messages)), Value::from(options.tools.clone()));
        let guard = Guard::new(&self.tokenizer, &[&messages, &tools])?;
        let text =
            self.render(&guard.guarded(&messages), &guard.guarded(&tools), options.thinking, true)?;
        Ok(self.tokenizer.encode_with_control(&text, Some(guard.mark()))?)
    }

    /// Whether the template renders tools.
    pub fn supports_tools(&self) -> bool {
        let tool = serde_json::json!({
            "type": "function",
            "function": {"name": "a_tool", "description": "", "parameters": {}},
        });
        let text = self.generation_prompt(&Value::from(vec![Value::from(Serde(tool))]), None);
        text.is_ok_and(|text| text.contains("a_tool"))
    }

    /// Whether the generation prompt ends with the opening tag of reasoning.
    ///
    /// # Errors
    /// [`TemplateError::Render`] if the template does not support the value of `thinking`.
    pub fn opens_reasoning(&self, thinking: Option<bool>) -> Result<bool, TemplateError> {
        let text = self.generation_prompt(&Value::from(()), thinking)?;
        Ok(text.trim_end().ends_with("<think>"))
    }

    fn generation_prompt(
        &self,
        tools: &Value,
        thinking: Option<bool>,
    ) -> Result<String, TemplateError> {
        self.render(&Value::from(Serde(opening("", "question"))), tools, thinking, true)
    }

    fn render(
        &self,
        messages: &Value,
        tools: &Value,
        thinking: Option<bool>,
        invite: bool,
    ) -> Result<String, TemplateError> {
        let tools = if tools.is_true() { tools.clone() } else { Value::from(()) };
        let special = self.special.iter().map(|(name, token)| (name.as_str(), token.into()));
        let thinking = thinking.map(|thinking| ("enable_thinking", thinking.into()));
        let variables = [
            ("messages", messages.clone()),
            ("tools", tools),
            ("documents", Value::from(())),
            ("add_generation_prompt", invite.into()),
        ];
        let variables = Value::from_pairs(special.chain(variables).chain(thinking));
        self.jinja.render(variables).map_err(TemplateError::Render)
    }

    /// The text that the template renders after the last turn of the model, for messages that
    /// follow `history`, and the mark in its control tokens. The turn is a placeholder: sampled
    /// text is never rendered.
    fn piece(
        &self,
        history: &[ChatMessage],
        replies: &[ChatMessage],
    ) -> Result<(String, char), TemplateError> {
        let guard = Guard::new(&self.tokenizer, &[&Value::from(Serde(replies))])?;
        Ok((self.guarded_piece(&guard, history, replies, true)?, guard.mark()))
    }

    /// The same with this guard, and with the invitation to the model or without.
    fn guarded_piece(
        &self,
        guard: &Guard,
        history: &[ChatMessage],
        replies: &[ChatMessage],
        invite: bool,
    ) -> Result<String, TemplateError> {
        let placeholder = String::from_iter([guard.mark(), guard.mark()]);
        let mut messages = opening("system", "question");
        messages.extend_from_slice(history);
        messages.push(ChatMessage::new(ChatRole::Assistant, &placeholder));
        messages.extend_from_slice(replies);
        let messages = guard.guarded(&Value::from(Serde(messages)));
        let text = self.render(&messages, &Value::from(()), None, invite)?;
        let (_, after) = text
            .rsplit_once(&placeholder)
            .ok_or(TemplateError::Pieces("it does not render the text of the model's turn"))?;
        let piece = after.strip_prefix(END_OF_TURN).ok_or(TemplateError::Pieces(
            "it does not close the model's turn by `<|im_end|>` right after its text",
        ))?;
        Ok(piece.to_owned())
    }

    /// An observation as a message: of a tool, or of the user where the template knows no tools.
    pub(crate) fn observed(&self, text: &str) -> ChatMessage {
        match self.observation_role {
            ChatRole::Tool => ChatMessage::new(ChatRole::Tool, text),
            _ => ChatMessage::new(
                ChatRole::User,
                format!("{RESPONSE_TAG}\n{text}\n</tool_response>"),
            ),
        }
    }

    /// Compares renderings of a fixed conversation in several lengths.
    fn check(&self) -> Result<(), TemplateError> {
        let render = |messages: &[ChatMessage], invite| {
            self.render(&Value::from(Serde(messages)), &Value::from(()), None, invite)
        };
        let mut messages = opening("system", "question");
        let head = render(&messages, false)?;
        let invited = render(&messages, true)?;
        messages.extend([ChatMessage::new(ChatRole::Assistant, "turn"), self.observed("0.5")]);
        let grown = render(&messages, true)?;
        if !invited.starts_with(&head) || !grown.starts_with(&head) {
            return Err(TemplateError::Pieces("the prompt changes when turns follow it"));
        }
        let (first, _) = self.piece(&[], &[self.observed("0.5")])?;
        let (second, _) = self.piece(&messages[2..], &[self.observed("0.5")])?;
        if first != second {
            return Err(TemplateError::Pieces("an observation looks different later on"));
        }
        Ok(())
    }
}

/// The messages of a prompt; an empty `system` is none.
pub(crate) fn opening(system: &str, user: &str) -> Vec<ChatMessage> {
    let system = (!system.is_empty()).then(|| ChatMessage::new(ChatRole::System, system));
    system.into_iter().chain([ChatMessage::new(ChatRole::User, user)]).collect()
}

/// The keys of `tokenizer_config.json` that are used.
#[derive(Default, Deserialize)]
struct TokenizerConfig {
    chat_template: Option<ChatTemplateField>,
    #[serde(flatten)]
    other: BTreeMap<String, serde_json::Value>,
}

/// `chat_template`: one template, or several with names.
#[derive(Deserialize)]
#[serde(untagged)]
enum ChatTemplateField {
    One(String),
    Several(Vec<NamedTemplate>),
}

#[derive(Deserialize)]
struct NamedTemplate {
    name: String,
    template: String,
}

/// The chat template that came with a tokenizer, and the special tokens by the names that
/// templates use. As in transformers, a file of its own has precedence, and of several templates
/// the one called `default` is used.
fn source(tokenizer: &Tokenizer) -> Result<(String, BTreeMap<String, String>), TemplateError> {
    let config: TokenizerConfig = match tokenizer.file("tokenizer_config.json") {
        Some(text) => serde_json::from_slice(text).map_err(TemplateError::Settings)?,
        None => TokenizerConfig::default(),
    };
    let field = match config.chat_template {
        Some(ChatTemplateField::One(template)) => Some(template),
        Some(ChatTemplateField::Several(all)) => {
            all.into_iter().find(|named| named.name == "default").map(|named| named.template)
        }
        None => None,
    };
    let file = tokenizer.file("chat_template.jinja");
    let file = file.map(|text| String::from_utf8_lossy(text).into_owned());
    let special = config.other.into_iter().filter_map(|(name, value)| {
        // A string, or an object with the string and how it is matched.
        let token = value.get("content").unwrap_or(&value).as_str()?;
        SPECIAL.contains(&name.as_str()).then(|| (name, token.to_owned()))
    });
    Ok((file.or(field).ok_or(TemplateError::Missing)?, special.collect()))
}

/// The special tokens that transformers passes to templates.
const SPECIAL: [&str; 7] =
    ["bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::tokenizer::Pieces;
    use camino::Utf8Path;
    use fs_err as fs;
    use proptest::prelude::*;
    use std::sync::LazyLock;

    const THINKING: &str = include_str!("../../../tests/reference/thinking.jinja");
    const QWEN2_5: &str = include_str!("../../../tests/reference/qwen2_5.jinja");

    fn trained() -> Tokenizer {
        Tokenizer::train(&vec!["system user assistant tool\n".into(); 3], 300, Pieces::Lines)
            .unwrap()
    }

    /// A tokenizer that came with this template.
    fn with(template: &str) -> Tokenizer {
        let dir = tempfile::tempdir().unwrap();
        let dir = Utf8Path::from_path(dir.path()).unwrap();
        trained().save(dir).unwrap();
        fs::write(dir.join("chat_template.jinja"), template).unwrap();
        Tokenizer::open(dir).unwrap()
    }

    fn refusal(template: &str) -> String {
        let tokenizer = with(template);
        let error = ChatTemplate::new(&tokenizer).map(|_| ()).unwrap_err();
        tasks::text::with_causes(&error)
    }

    #[test]
    fn pieces_joined_give_the_published_layout() {
        let tokenizer = trained();
        let template = ChatTemplate::new(&tokenizer).unwrap();
        let mut ids = template.prompt("Be brief.", "Solve it.").unwrap();
        ids.extend(template.answer("<think>hm</think>").unwrap());
        ids.extend(template.observation("0.5").unwrap());
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

    #[test]
    fn advice_after_an_observation_is_a_message_of_the_user_as_in_a_whole_conversation() {
        for source in [JINJA, THINKING, QWEN2_5] {
            let tokenizer = with(source);
            let template = ChatTemplate::new(&tokenizer).unwrap();
            let advice = ChatMessage::advice("Look at ratios <|im_end|> too.");
            let mut messages = opening("Be brief.", "Solve it.");
            let mut ids = template.prompt("Be brief.", "Solve it.").unwrap();
            for said in ["first", "second"] {
                let replies = [template.observed("0.5"), advice.clone()];
                ids.extend(template.answer(said).unwrap());
                let between = template.between(&replies).unwrap();
                let advice = ["Look at ratios <|im_end|> too.".to_owned()];
                let (observation, parts) = template.advised_observation("0.5", &advice).unwrap();
                assert_eq!([observation, parts.concat()].concat(), between);
                ids.extend(between);
                messages.push(ChatMessage::new(ChatRole::Assistant, said));
                messages.extend(replies);
            }
            let whole = template.apply(&messages, &ChatTemplateOptions::default()).unwrap();
            assert_eq!(tokenizer.decode(&ids).unwrap(), tokenizer.decode(&whole).unwrap());
            assert_eq!(ids, whole);
            let closed = ids.iter().filter(|&&id| id == tokenizer.control().end_of_turn).count();
            assert_eq!(closed, 2 + 2 * 3, "what advice says closes no turn");
            template.check_advice().unwrap();
        }
    }

    /// The ids on which tiny policies have been trained so far, put together by hand. Policies
    /// saved with the first template, which knew no tools, must go on getting them too.
    #[test]
    fn each_template_gives_the_ids_that_tiny_policies_were_trained_on() {
        const FIRST: &str = "{%- for message in messages -%}\
            {{- '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' -}}\
            {%- endfor -%}\
            {%- if add_generation_prompt -%}{{- '<|im_start|>assistant\\n' -}}{%- endif -%}";
        for source in [JINJA, FIRST, THINKING, QWEN2_5] {
            let tokenizer = with(source);
            let template = ChatTemplate::new(&tokenizer).unwrap();
            let (start, end) = (tokenizer.control().start_of_turn, tokenizer.control().end_of_turn);
            let plain = |text: &str| tokenizer.encode(text).unwrap();
            let turn = |text: &str| [vec![start], plain(text), vec![end], plain("\n")].concat();
            let generation_prompt = [vec![start], plain("assistant\n")].concat();
            assert_eq!(
                template.prompt("Be brief.", "\nSolve it.").unwrap(),
                [turn("system\nBe brief."), turn("user\n\nSolve it."), generation_prompt.clone()]
                    .concat()
            );
            let response = turn("user\n<tool_response>\n 0.5\n\n</tool_response>");
            assert_eq!(
                template.observation(" 0.5\n").unwrap(),
                [plain("\n"), response, generation_prompt].concat()
            );
        }
    }

    #[test]
    fn unusable_template_gives_an_error_that_says_why() {
        let open = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}";
        assert!(refusal("{% for %}").contains("cannot be read"));
        assert!(refusal("{{ raise_exception('not today') }}").contains("not today"));
        assert!(refusal("<|im_start|>").contains("does not render the text"));
        let loose = "{% for m in messages %}{{ m.content }}\n<|im_end|>{% endfor %}";
        assert!(refusal(loose).contains("does not close the model's turn"));
        let counting = format!("{{{{ messages|length }}}} turns\n{open}");
        assert!(refusal(&counting).contains("the prompt changes"));
        let ageing = format!("{open}{{% if messages[2] %}}{{{{ messages|length }}}}{{% endif %}}");
        assert!(refusal(&ageing).contains("an observation looks different"));
    }

    #[test]
    fn template_that_cannot_lay_out_advice_is_refused_with_the_reason() {
        let refusal = |source: &str| {
            let tokenizer = with(source);
            let template = ChatTemplate::new(&tokenizer).unwrap();
            tasks::text::with_causes(&template.check_advice().unwrap_err())
        };
        let message = "<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n";
        let invite = "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";
        let user = "{% if m.role == 'user' and loop.previtem is defined and loop.previtem.role == 'user' %}";
        // Two messages of the user in a row: refused by the template, or put into one.
        let strict = format!(
            "{{% for m in messages %}}{user}{{{{ raise_exception('roles must alternate') }}}}{{% endif %}}\
             {message}{{% endfor %}}{invite}"
        );
        assert!(refusal(&strict).contains("roles must alternate"), "{}", refusal(&strict));
        let merging = "{% for m in messages %}\
            {% if m.role == 'user' and loop.previtem is defined and loop.previtem.role == 'user' %}\n{% else %}\
            <|im_start|>{{ m.role }}\n{% endif %}{{ m.content }}\
            {% if m.role == 'user' and loop.nextitem is defined and loop.nextitem.role == 'user' %}{% else %}\
            <|im_end|>\n{% endif %}{% endfor %}";
        let merging = format!("{merging}{invite}");
        assert!(refusal(&merging).contains("no message of its own"), "{}", refusal(&merging));
        // Nothing invites the model, so nothing can be left out before advice.
        let open = format!("{{% for m in messages %}}{message}{{% endfor %}}");
        assert!(refusal(&open).contains("cannot stay"), "{}", refusal(&open));
    }

    #[test]
    fn template_is_found_in_its_file_or_in_the_config() {
        let dir = tempfile::tempdir().unwrap();
        let dir = Utf8Path::from_path(dir.path()).unwrap();
        trained().save(dir).unwrap();
        let settings = dir.join("tokenizer_config.json");
        let rendered = || {
            let tokenizer = Tokenizer::open(dir).unwrap();
            let ids = ChatTemplate::new(&tokenizer).and_then(|template| template.prompt("", "a"));
            ids.map(|ids| tokenizer.decode(&ids).unwrap()).map_err(|error| error.to_string())
        };
        let list = serde_json::json!({
            "bos_token": {"content": "<|endoftext|>", "lstrip": false},
            "add_bos_token": false,
            "chat_template": [
                {"name": "tool_use", "template": "x"},
                {"name": "default", "template": format!("{{{{ bos_token }}}}{JINJA}")},
            ],
        });
        fs::write(&settings, list.to_string()).unwrap();
        let ours = "<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n";
        assert_eq!(rendered().unwrap(), format!("<|endoftext|>{ours}"));
        fs::write(dir.join("chat_template.jinja"), JINJA).unwrap();
        assert_eq!(rendered().unwrap(), ours);

        fs::remove_file(dir.join("chat_template.jinja")).unwrap();
        fs::write(&settings, "{}").unwrap();
        assert!(rendered().unwrap_err().contains("`chat_template.jinja`"));
        fs::write(&settings, "{").unwrap();
        assert!(rendered().unwrap_err().contains("is damaged"));
    }

    #[test]
    fn template_reports_support_of_tools_and_reasoning() {
        let tokenizer = with(THINKING);
        let template = ChatTemplate::new(&tokenizer).unwrap();
        assert!(template.supports_tools());
        assert!(!template.opens_reasoning(None).unwrap());
        let opening = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}\
                       {% if add_generation_prompt %}<|im_start|>assistant\n<think>\n{% endif %}";
        let tokenizer = with(opening);
        let template = ChatTemplate::new(&tokenizer).unwrap();
        assert!(!template.supports_tools());
        assert!(template.opens_reasoning(None).unwrap());
    }

    static BUILT_IN: LazyLock<ChatTemplate<Box<Tokenizer>>> =
        LazyLock::new(|| ChatTemplate::new(trained().into()).unwrap());
    static PUBLISHED: LazyLock<ChatTemplate<Box<Tokenizer>>> =
        LazyLock::new(|| ChatTemplate::new(with(THINKING).into()).unwrap());

    proptest! {
        #[test]
        fn content_never_opens_or_closes_a_turn(
            texts in prop::collection::vec(
                "(<\\|im_start\\|>|<\\|im_end\\|>|<\\|endoftext\\|>|<\\|im_|end\\|>|<|\\||>|</?think>|\n|a|\u{e000}){0,12}", 6),
        ) {
            for template in [&*BUILT_IN, &*PUBLISHED] {
                let message = |role, text: &String| ChatMessage::new(role, text);
                let control = template.tokenizer.control();
                let boundary = |ids: Vec<i64>| -> Vec<i64> {
                    let kept = [control.start_of_turn, control.end_of_turn, control.end_of_text];
                    ids.into_iter().filter(|id| kept.contains(id)).collect()
                };
                let messages = [
                    message(ChatRole::System, &texts[0]),
                    message(ChatRole::User, &texts[1]),
                    ChatMessage { reasoning_content: Some(texts[2].clone()), ..message(ChatRole::Assistant, &texts[3]) },
                    message(ChatRole::Tool, &texts[4]),
                ];
                let tool = serde_json::json!({
                    "type": "function",
                    "function": {"name": texts[5], "description": texts[0], "parameters": {&texts[1]: texts[2]}},
                });
                let options = ChatTemplateOptions { tools: vec![Value::from(Serde(tool))], thinking: None };
                let turns = [control.start_of_turn, control.end_of_turn].repeat(4);
                let invited = [turns, vec![control.start_of_turn]].concat();
                prop_assert_eq!(boundary(template.apply(&messages, &options).unwrap()), invited);
                let piece = [control.start_of_turn, control.end_of_turn, control.start_of_turn];
                prop_assert_eq!(boundary(template.observation(&texts[4]).unwrap()), piece);
            }
            // Where a template changes nothing, nothing but the mark is lost.
            let ids = BUILT_IN.observation(&texts[0]).unwrap();
            let expected = format!(
                "\n<|im_start|>user\n<tool_response>\n{}\n</tool_response><|im_end|>\n<|im_start|>assistant\n",
                texts[0]
            );
            prop_assert_eq!(BUILT_IN.tokenizer.decode(&ids).unwrap(), expected);
        }
    }
}
