//! Agreement with transformers: the same conversations give the same text and ids.

use crate::transformers::reference;
use camino::Utf8Path;
use fs_err as fs;
use minijinja::Value;
use rl::model::{Qwen3, Qwen3Config, save_folder};
use rl::text::template::{
    ChatMessage, ChatRole, ChatTemplate, ChatTemplateOptions, FunctionCall, ToolCall,
};
use rl::text::tokenizer::{Pieces, Tokenizer};
use serde::Serialize;
use tasks::stream::Stream;
use tch::{Device, Kind};

const QWEN2_5: &str = include_str!("../reference/qwen2_5.jinja");
const THINKING: &str = include_str!("../reference/thinking.jinja");

#[derive(Serialize)]
struct TemplateCase {
    messages: Vec<ChatMessage>,
    tools: Vec<Value>,
    thinking: Option<bool>,
}

fn say(role: ChatRole, content: &str) -> ChatMessage {
    ChatMessage::new(role, content)
}

fn call(arguments: &str, name: &str) -> ToolCall {
    let arguments = serde_json::from_str(arguments).unwrap();
    let function = FunctionCall { name: name.into(), arguments };
    ToolCall { id: Some("call_1".into()), r#type: "function", function }
}

fn tools() -> Vec<Value> {
    let text = r#"[
        {"type": "function", "function": {"name": "python", "description": "Runs <code> & \"prints\", naïvely.",
            "parameters": {"type": "object", "properties": {"z": {"type": "string"}, "a": {"minimum": 1e-6, "maximum": 2.0}},
                           "required": ["z"]}}},
        {"type": "function", "function": {"name": "score", "parameters": {}}}]"#;
    serde_json::from_str(text).unwrap()
}

fn cases() -> Vec<TemplateCase> {
    use ChatRole::{Assistant, System, Tool, User};
    let talk = vec![
        say(System, "You fit models.\n "),
        say(User, "Predict  column 12.\n\n\tNo café, 3.14 <b>x</b>\r\n"),
        say(Assistant, "<think>\nhm\n</think>\n<code>\nprint(1)\n</code>"),
        say(Tool, "\n1\n"),
    ];
    let mut calls = vec![say(User, "\nHow good is it?")];
    calls.push(ChatMessage {
        content: None,
        reasoning_content: Some("First look.\n".into()),
        tool_calls: vec![
            call(r#"{"z": "print('ü')\n", "a": 0.5, "fast": true}"#, "python"),
            call("{}", "score"),
        ],
        ..say(Assistant, "")
    });
    calls.extend([
        say(Tool, "ü"),
        say(Tool, "0.71"),
        say(Assistant, "Fair."),
        say(User, "And now?"),
    ]);
    let case = |messages: &[ChatMessage], tools, thinking| TemplateCase {
        messages: messages.to_vec(),
        tools,
        thinking,
    };
    vec![
        case(&talk[..2], vec![], None),
        case(&talk[..2], tools(), Some(false)),
        case(&talk[1..2], tools(), Some(true)),
        case(&talk, vec![], None),
        case(&talk, tools(), None),
        case(&calls[1..2], tools(), None),
        case(&calls[..2], tools(), None),
        case(&calls[..3], tools(), None),
        case(&calls[..4], vec![], Some(false)),
        case(&calls, tools(), None),
    ]
}

#[test]
fn our_layouts_read_the_same_in_transformers() {
    let dir = tempfile::tempdir().unwrap();
    let dir = Utf8Path::from_path(dir.path()).unwrap();
    let texts: Vec<String> = (0..30)
        .map(|i| {
            format!(
                "user\nPredict column {i} of the table.\n<code>\nprint({i} * 7)\n</code> naïve café"
            )
        })
        .collect();
    let trained = Tokenizer::train(&texts, 420, Pieces::Lines).unwrap();
    let size = trained.vocab_size().try_into().unwrap();
    let model =
        Qwen3::random(&Qwen3Config::tiny(size, 1, 2), Kind::Float, Device::Cpu, Stream::root(1));
    let cases = cases();
    let folders = ["built-in", "thinking", "qwen2.5"].map(|name| dir.join(name));
    for folder in &folders {
        fs::create_dir(folder).unwrap();
        trained.save(folder).unwrap();
        save_folder(&model, folder).unwrap();
        let conversations = serde_json::to_string(&cases).unwrap();
        fs::write(folder.join("conversations.json"), conversations).unwrap();
    }
    fs::write(folders[1].join("chat_template.jinja"), THINKING).unwrap();
    // That of Qwen2.5 lies in the settings of the tokenizer.
    let path = folders[2].join("tokenizer_config.json");
    let mut settings: serde_json::Value =
        serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    settings["chat_template"] = QWEN2_5.into();
    fs::write(path, settings.to_string()).unwrap();
    let names = folders.each_ref().map(|folder| folder.as_str());
    reference(&[&["tokens"][..], &names].concat());

    for folder in folders {
        let answers = fs::read(folder.join("answers.json")).unwrap();
        let theirs: Vec<serde_json::Value> = serde_json::from_slice(&answers).unwrap();
        assert_eq!(theirs.len(), cases.len());
        let tokenizer = Tokenizer::open(&folder).unwrap();
        let template = ChatTemplate::new(&tokenizer).unwrap();
        for (index, (case, theirs)) in cases.iter().zip(theirs).enumerate() {
            let options =
                ChatTemplateOptions { tools: case.tools.clone(), thinking: case.thinking };
            let ours = template.apply(&case.messages, &options).unwrap();
            assert_eq!(theirs["text"], tokenizer.decode(&ours).unwrap(), "{folder}, {index}");
            assert_eq!(theirs["ids"], serde_json::json!(ours), "{folder}, {index}");
        }

        // Pieces that are never rendered as a whole make up the same conversation.
        let mut pieces = template.prompt("You fit models.", "Predict column 12.").unwrap();
        pieces.extend(template.answer("<code>\nprint(1)\n</code>").unwrap());
        pieces.extend(template.observation("1\n").unwrap());
        let whole = [
            say(ChatRole::System, "You fit models."),
            say(ChatRole::User, "Predict column 12."),
            say(ChatRole::Assistant, "<code>\nprint(1)\n</code>"),
            say(ChatRole::Tool, "1\n"),
        ];
        assert_eq!(pieces, template.apply(&whole, &ChatTemplateOptions::default()).unwrap());
    }
}
