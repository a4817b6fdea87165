//! The checkpoint's template, and the pieces of a conversation that it lays out.

use super::guard::{Guard, NoMark};
use super::jinja::Jinja;
use super::message::{ChatMessage, ChatRole};
use crate::text::tokenizer::{END_OF_TURN, Tokenizer, TokenizerError};
use minijinja::Value;
use minijinja::value::Serde;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ops::Deref;

/// The template of policies that we make ourselves.
pub const JINJA: &str = include_str!("builtin.jinja");

/// What observations stand in, whatever role the template gives them.
const RESPONSE_TAG: &str = "<tool_response>";

/// Why a conversation could not be laid out.
#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    /// The checkpoint has none.
    #[error(
        "there is no chat template, neither as `chat_template.jinja` nor under `chat_template` in \
         `tokenizer_config.json`; copy the files that the model was published with, all of them"
    )]
    Missing,
    /// Advice of people has no layout yet.
    #[error("trajectories with advice of people cannot be laid out yet; leave them out")]
    Guidance,
    /// `tokenizer_config.json` is not what it should be.
    #[error("`tokenizer_config.json` is damaged; copy it again from where the model comes from")]
    Settings(#[source] serde_json::Error),
    /// The template is not Jinja, or uses something that is not understood here.
    #[error("the chat template cannot be read")]
    Syntax(#[source] minijinja::Error),
    /// The template cannot render this conversation.
    #[error("the chat template does not take this conversation")]
    Render(#[source] minijinja::Error),
    /// What the template writes changes with what follows.
    #[error(
        "conversations cannot grow by pieces with this chat template: {0}; what a model has \
         sampled would have to be rendered anew"
    )]
    Pieces(&'static str),
    /// The content cannot be told from the template.
    #[error(transparent)]
    NoMark(#[from] NoMark),
    /// Text could not be encoded.
    #[error(transparent)]
    Tokenizer(#[from] TokenizerError),
}

/// What a conversation is laid out with.
#[derive(Debug, Clone, Default)]
pub struct ChatTemplateOptions {
    /// The tools that can be called, as JSON schemas in the form of OpenAI.
    pub tools: Vec<Value>,
    /// Whether the model is to think first; by default as the template has it.
    pub thinking: Option<bool>,
}

/// Lays out conversations in the ids of one vocabulary, as its checkpoint's template has it.
/// `T` holds the vocabulary: a reference, or a share of it.
#[derive(Debug)]
pub struct Template<T> {
    tokenizer: T,
    jinja: Jinja,
    /// `bos_token` and its kin, which templates may write.
    special: BTreeMap<String, String>,
    /// Whose message an observation is.
    observer: ChatRole,
}

impl<T: Deref<Target = Tokenizer>> Template<T> {
    /// The template that came with `tokenizer`. Makes sure that it lays out an observation in the
    /// same way wherever it stands, and changes nothing before it.
    ///
    /// # Errors
    /// [`TemplateError`] if there is none, or it cannot be read, or is of no use for
    /// conversations that grow.
    pub fn new(tokenizer: T) -> Result<Self, TemplateError> {
        let (source, special) = source(&tokenizer)?;
        let jinja = Jinja::new(source).map_err(TemplateError::Syntax)?;
        let mut template = Self { tokenizer, jinja, special, observer: ChatRole::Tool };
        // The turn grammar has observations between these tags. A template that knows of tools
        // may write them itself; otherwise a user says them, tags and all.
        let known = template.piece(&[], "0.5").is_ok_and(|(piece, _)| piece.contains(RESPONSE_TAG));
        if !known {
            template.observer = ChatRole::User;
        }
        template.check()?;
        Ok(template)
    }

    /// What stands before the model's first turn.
    ///
    /// # Errors
    /// [`TemplateError`] if the template does not take it, or the text cannot be encoded.
    pub fn prompt(&self, system: &str, user: &str) -> Result<Vec<i64>, TemplateError> {
        self.conversation(&opening(system, user), &ChatTemplateOptions::default())
    }

    /// What stands between two turns of the model: `text` as what a tool answers.
    ///
    /// # Errors
    /// [`TemplateError`] if the template does not take it, or the text cannot be encoded.
    pub fn observation(&self, text: &str) -> Result<Vec<i64>, TemplateError> {
        let (piece, mark) = self.piece(&[], text)?;
        Ok(self.tokenizer.encode_with_control(&piece, Some(mark))?)
    }

    /// A turn written by someone else, as the model would have sampled it: for imitation.
    ///
    /// # Errors
    /// [`TemplateError::Tokenizer`] if the text cannot be encoded.
    pub fn answer(&self, text: &str) -> Result<Vec<i64>, TemplateError> {
        let mut ids = self.tokenizer.encode(text)?;
        ids.push(self.tokenizer.control().end_of_turn);
        Ok(ids)
    }

    /// A whole conversation, and the invitation to answer it.
    ///
    /// # Errors
    /// [`TemplateError`] if the template does not take it, or the text cannot be encoded.
    pub fn conversation(
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

    /// Whether the template tells the model of tools.
    pub fn takes_tools(&self) -> bool {
        let tool = serde_json::json!({
            "type": "function",
            "function": {"name": "a_tool", "description": "", "parameters": {}},
        });
        let text = self.invitation(&Value::from(vec![Value::from(Serde(tool))]), None);
        text.is_ok_and(|text| text.contains("a_tool"))
    }

    /// Whether the invitation to answer already opens the model's thought.
    ///
    /// # Errors
    /// [`TemplateError::Render`] if the template does not take such an option.
    pub fn opens_thought(&self, thinking: Option<bool>) -> Result<bool, TemplateError> {
        let text = self.invitation(&Value::from(()), thinking)?;
        Ok(text.trim_end().ends_with("<think>"))
    }

    fn invitation(&self, tools: &Value, thinking: Option<bool>) -> Result<String, TemplateError> {
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

    /// What the template adds behind the turn that it is given last, for an observation that
    /// follows `history`, and the mark that parts control tokens in it. The turn is a stand-in:
    /// what the model has sampled is never rendered.
    fn piece(&self, history: &[ChatMessage], text: &str) -> Result<(String, char), TemplateError> {
        let observation = self.observed(text);
        let guard = Guard::new(&self.tokenizer, &[&Value::from(Serde(&observation))])?;
        let stand_in = String::from_iter([guard.mark(), guard.mark()]);
        let mut messages = opening("system", "question");
        messages.extend_from_slice(history);
        messages.push(ChatMessage::new(ChatRole::Assistant, &stand_in));
        messages.push(observation);
        let messages = guard.guarded(&Value::from(Serde(messages)));
        let text = self.render(&messages, &Value::from(()), None, true)?;
        let (_, behind) = text
            .rsplit_once(&stand_in)
            .ok_or(TemplateError::Pieces("it does not write what the model said"))?;
        let piece = behind.strip_prefix(END_OF_TURN).ok_or(TemplateError::Pieces(
            "it does not close the model's turn by `<|im_end|>` right behind its text",
        ))?;
        Ok((piece.to_owned(), guard.mark()))
    }

    fn observed(&self, text: &str) -> ChatMessage {
        match self.observer {
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
        let (first, _) = self.piece(&[], "0.5")?;
        let (second, _) = self.piece(&messages[2..], "0.5")?;
        if first != second {
            return Err(TemplateError::Pieces("an observation looks different later on"));
        }
        Ok(())
    }
}

fn opening(system: &str, user: &str) -> Vec<ChatMessage> {
    let system = (!system.is_empty()).then(|| ChatMessage::new(ChatRole::System, system));
    system.into_iter().chain([ChatMessage::new(ChatRole::User, user)]).collect()
}

/// `tokenizer_config.json`, of which only these keys matter here.
#[derive(Default, Deserialize)]
struct TokenizerConfig {
    chat_template: Option<ChatTemplateField>,
    #[serde(flatten)]
    other: BTreeMap<String, serde_json::Value>,
}

/// One template, or several by their names.
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

/// The template that came with a tokenizer (a file of its own wins, as in transformers; of
/// several the one called `default`), and the special tokens by the names that templates use.
fn source(tokenizer: &Tokenizer) -> Result<(String, BTreeMap<String, String>), TemplateError> {
    let settings: TokenizerConfig = match tokenizer.file("tokenizer_config.json") {
        Some(text) => serde_json::from_slice(text).map_err(TemplateError::Settings)?,
        None => TokenizerConfig::default(),
    };
    let written = match settings.chat_template {
        Some(ChatTemplateField::One(template)) => Some(template),
        Some(ChatTemplateField::Several(all)) => {
            all.into_iter().find(|named| named.name == "default").map(|named| named.template)
        }
        None => None,
    };
    let file = tokenizer.file("chat_template.jinja");
    let file = file.map(|text| String::from_utf8_lossy(text).into_owned());
    let special = settings.other.into_iter().filter_map(|(name, value)| {
        // A string, or an object with the string and how it is matched.
        let token = value.get("content").unwrap_or(&value).as_str()?;
        SPECIAL.contains(&name.as_str()).then(|| (name, token.to_owned()))
    });
    Ok((file.or(written).ok_or(TemplateError::Missing)?, special.collect()))
}

/// The special tokens that transformers hands to templates.
const SPECIAL: [&str; 7] =
    ["bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"];

#[cfg(test)]
mod tests {
    use super::*;
    use camino::Utf8Path;
    use fs_err as fs;
    use proptest::prelude::*;
    use std::sync::LazyLock;

    const THINKING: &str = include_str!("../../../tests/reference/thinking.jinja");

    fn trained() -> Tokenizer {
        Tokenizer::train(&vec!["system user assistant tool\n".into(); 3], 300).unwrap()
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
        let error = Template::new(&tokenizer).map(|_| ()).unwrap_err();
        tasks::text::with_causes(&error)
    }

    #[test]
    fn the_pieces_join_into_the_published_layout() {
        let tokenizer = trained();
        let template = Template::new(&tokenizer).unwrap();
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

    /// The ids on which tiny policies have been trained so far, put together by hand. Policies
    /// saved with the first template, which knew no tools, must go on getting them too.
    #[test]
    fn every_template_gives_tiny_policies_the_ids_they_know() {
        const FIRST: &str = "{%- for message in messages -%}\
            {{- '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' -}}\
            {%- endfor -%}\
            {%- if add_generation_prompt -%}{{- '<|im_start|>assistant\\n' -}}{%- endif -%}";
        for source in [JINJA, FIRST, THINKING] {
            let tokenizer = with(source);
            let template = Template::new(&tokenizer).unwrap();
            let (start, end) = (tokenizer.control().start_of_turn, tokenizer.control().end_of_turn);
            let plain = |text: &str| tokenizer.encode(text).unwrap();
            let turn = |text: &str| [vec![start], plain(text), vec![end], plain("\n")].concat();
            let invitation = [vec![start], plain("assistant\n")].concat();
            assert_eq!(
                template.prompt("Be brief.", "\nSolve it.").unwrap(),
                [turn("system\nBe brief."), turn("user\n\nSolve it."), invitation.clone()].concat()
            );
            let response = turn("user\n<tool_response>\n 0.5\n\n</tool_response>");
            assert_eq!(
                template.observation(" 0.5\n").unwrap(),
                [plain("\n"), response, invitation].concat()
            );
        }
    }

    #[test]
    fn templates_of_no_use_are_explained() {
        let open = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}";
        assert!(refusal("{% for %}").contains("cannot be read"));
        assert!(refusal("{{ raise_exception('not today') }}").contains("not today"));
        assert!(refusal("<|im_start|>").contains("does not write what the model said"));
        let loose = "{% for m in messages %}{{ m.content }}\n<|im_end|>{% endfor %}";
        assert!(refusal(loose).contains("does not close the model's turn"));
        let counting = format!("{{{{ messages|length }}}} turns\n{open}");
        assert!(refusal(&counting).contains("the prompt changes"));
        let ageing = format!("{open}{{% if messages[2] %}}{{{{ messages|length }}}}{{% endif %}}");
        assert!(refusal(&ageing).contains("an observation looks different"));
    }

    #[test]
    fn the_template_is_found_where_checkpoints_have_it() {
        let dir = tempfile::tempdir().unwrap();
        let dir = Utf8Path::from_path(dir.path()).unwrap();
        trained().save(dir).unwrap();
        let settings = dir.join("tokenizer_config.json");
        let rendered = || {
            let tokenizer = Tokenizer::open(dir).unwrap();
            let ids = Template::new(&tokenizer).and_then(|template| template.prompt("", "a"));
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
    fn tools_and_thoughts_are_known_of_a_template() {
        let tokenizer = with(THINKING);
        let template = Template::new(&tokenizer).unwrap();
        assert!(template.takes_tools());
        assert!(!template.opens_thought(None).unwrap());
        let opening = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}\
                       {% if add_generation_prompt %}<|im_start|>assistant\n<think>\n{% endif %}";
        let tokenizer = with(opening);
        let template = Template::new(&tokenizer).unwrap();
        assert!(!template.takes_tools());
        assert!(template.opens_thought(None).unwrap());
    }

    static BUILT_IN: LazyLock<Template<Box<Tokenizer>>> =
        LazyLock::new(|| Template::new(trained().into()).unwrap());
    static PUBLISHED: LazyLock<Template<Box<Tokenizer>>> =
        LazyLock::new(|| Template::new(with(THINKING).into()).unwrap());

    proptest! {
        #[test]
        fn no_content_opens_or_closes_a_turn(
            texts in prop::collection::vec(
                "(<\\|im_start\\|>|<\\|im_end\\|>|<\\|endoftext\\|>|<\\|im_|end\\|>|<|\\||>|</?think>|\n|a|\u{e000}){0,12}", 6),
        ) {
            for template in [&*BUILT_IN, &*PUBLISHED] {
                let say = |role, text: &String| ChatMessage::new(role, text);
                let control = template.tokenizer.control();
                let boundary = |ids: Vec<i64>| -> Vec<i64> {
                    let kept = [control.start_of_turn, control.end_of_turn, control.end_of_text];
                    ids.into_iter().filter(|id| kept.contains(id)).collect()
                };
                let messages = [
                    say(ChatRole::System, &texts[0]),
                    say(ChatRole::User, &texts[1]),
                    ChatMessage { reasoning_content: Some(texts[2].clone()), ..say(ChatRole::Assistant, &texts[3]) },
                    say(ChatRole::Tool, &texts[4]),
                ];
                let tool = serde_json::json!({
                    "type": "function",
                    "function": {"name": texts[5], "description": texts[0], "parameters": {&texts[1]: texts[2]}},
                });
                let options = ChatTemplateOptions { tools: vec![Value::from(Serde(tool))], thinking: None };
                let turns = [control.start_of_turn, control.end_of_turn].repeat(4);
                let invited = [turns, vec![control.start_of_turn]].concat();
                prop_assert_eq!(boundary(template.conversation(&messages, &options).unwrap()), invited);
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
