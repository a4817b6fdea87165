//! The form that a choice must have: `response_format`, `structured_outputs`, and a `tool_choice`
//! that forces a call; as a grammar in the library's dialect of Lark.

use super::api_error::ApiError;
use super::parameters::Parameters;
use llguidance::regex_to_lark;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// The form of a choice, after its reasoning.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum OutputForm {
    /// A JSON value of this schema.
    Json(Map<String, Value>),
    /// A text that the regular expression matches as a whole.
    Regex(String),
    /// One of these texts.
    Choice(Vec<String>),
    /// Calls of these functions.
    Calls {
        /// The functions that can be called.
        functions: Vec<FunctionForm>,
        /// Whether there may be several calls.
        several: bool,
    },
}

/// A function that can be called.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FunctionForm {
    pub(super) name: String,
    /// The schema of its arguments, an object.
    pub(super) parameters: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ResponseFormat {
    Text,
    JsonObject,
    JsonSchema { json_schema: JsonSchemaFormat },
}

/// `name`, `description` and `strict` do not change what is generated: schemas are always kept.
#[derive(Deserialize)]
struct JsonSchemaFormat {
    schema: Map<String, Value>,
}

/// vLLM's `structured_outputs`: one of these.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum StructuredOutputs {
    Json(SchemaInput),
    JsonObject(bool),
    Regex(String),
    Choice(Vec<String>),
}

/// A schema, or a string that holds one.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a JSON schema: an object, or a string that holds one")]
enum SchemaInput {
    Object(Map<String, Value>),
    Text(String),
}

impl OutputForm {
    /// Reads `response_format` and `structured_outputs`, with the name of the parameter that sets
    /// the form.
    ///
    /// # Errors
    /// An [`ApiError`] if both set it, or one is invalid.
    pub(super) fn take(
        parameters: &mut Parameters,
    ) -> Result<Option<(Self, &'static str)>, ApiError> {
        let format = match parameters.take("response_format")? {
            None | Some(ResponseFormat::Text) => None,
            Some(ResponseFormat::JsonObject) => Some(Self::object()),
            Some(ResponseFormat::JsonSchema { json_schema }) => {
                Some(Self::Json(json_schema.schema))
            }
        };
        let name = "structured_outputs";
        let structured = match parameters.take(name)? {
            None | Some(StructuredOutputs::JsonObject(false)) => None,
            Some(StructuredOutputs::JsonObject(true)) => Some(Self::object()),
            Some(StructuredOutputs::Regex(regex)) => Some(Self::Regex(regex)),
            Some(StructuredOutputs::Choice(texts)) if texts.is_empty() => {
                return Err(ApiError::invalid(name, "`choice` is empty; list at least one text"));
            }
            Some(StructuredOutputs::Choice(texts)) => Some(Self::Choice(texts)),
            Some(StructuredOutputs::Json(SchemaInput::Object(schema))) => Some(Self::Json(schema)),
            Some(StructuredOutputs::Json(SchemaInput::Text(text))) => {
                let schema = serde_json::from_str(&text).map_err(|error| {
                    ApiError::invalid(name, format!("`json` is not a JSON schema: {error}"))
                })?;
                Some(Self::Json(schema))
            }
        };
        match (format, structured) {
            (Some(_), Some(_)) => {
                let message = "`response_format` sets a form already; leave one of them out";
                Err(ApiError::invalid(name, message))
            }
            (format, None) => Ok(format.map(|form| (form, "response_format"))),
            (None, form) => Ok(form.map(|form| (form, name))),
        }
    }

    /// Any JSON object.
    fn object() -> Self {
        Self::Json(Map::from_iter([("type".to_owned(), json!("object"))]))
    }

    /// The grammar. `reasoning` as for [`TurnParser`](super::turn_parser::TurnParser): whether
    /// reasoning comes first, and whether the prompt has opened it.
    pub(super) fn grammar(&self, reasoning: Option<bool>) -> String {
        let start = match reasoning {
            None => "start: output\n",
            Some(false) => "start: (\"<think>\" thought BLANK?)? output\n",
            Some(true) => "start: thought BLANK? output\n",
        };
        let mut grammar = start.to_owned();
        if reasoning.is_some() {
            grammar += "thought[suffix=\"</think>\"]: /(?s:.*)/\n";
        }
        if reasoning.is_some() || matches!(self, Self::Calls { several: true, .. }) {
            grammar += "BLANK: /[ \\n]{1,8}/\n";
        }
        grammar + &self.output()
    }

    /// The rule `output`, and those that it needs.
    fn output(&self) -> String {
        match self {
            Self::Json(schema) => format!("output: {}\n", schema_rule(schema)),
            Self::Regex(regex) => format!("output: /{}/\n", regex_to_lark(regex, "")),
            Self::Choice(texts) => {
                let texts: Vec<String> = texts.iter().map(|text| literal(text)).collect();
                format!("output: {}\n", texts.join(" | "))
            }
            Self::Calls { functions, several } => {
                let more = if *several { " (BLANK? call)*" } else { "" };
                let bodies: Vec<String> = functions.iter().map(FunctionForm::body).collect();
                format!(
                    "output: call{more}\ncall: \"<tool_call>\\n\" body \"\\n</tool_call>\"\nbody: {}\n",
                    bodies.join(" | ")
                )
            }
        }
    }
}

impl FunctionForm {
    /// A call, in the form in which chat templates of Qwen write it. Arguments are a document of
    /// their own, so that references in their schema are found.
    fn body(&self) -> String {
        let head = format!("{{\"name\": {}, \"arguments\": ", json!(self.name));
        let mut schema = self.parameters.clone();
        schema.entry("type").or_insert_with(|| json!("object"));
        format!("{} {} \"}}\"", literal(&head), schema_rule(&schema))
    }
}

/// A schema as part of a rule. White space may stand wherever JSON allows it, but not without end:
/// small models would write nothing else.
fn schema_rule(schema: &Map<String, Value>) -> String {
    let mut schema = schema.clone();
    let options = || json!({"whitespace_pattern": "[ \\n\\t]{1,32}"});
    schema.entry("x-guidance").or_insert_with(options);
    format!("%json {}", Value::Object(schema))
}

/// A text as a literal of a grammar, which is written like a string of JSON.
fn literal(text: &str) -> String {
    json!(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::super::grammars::Grammars;
    use super::*;
    use crate::generate::sample::Grammar;
    use crate::text::tokenizer::{Pieces, Tokenizer};
    use std::sync::{Arc, LazyLock};
    use tch::{Kind, Tensor};

    static TOKENIZER: LazyLock<Arc<Tokenizer>> = LazyLock::new(|| {
        let texts = vec!["{\"name\": \"score\", \"arguments\": {}}\n".into(); 3];
        Arc::new(Tokenizer::train(&texts, 350, Pieces::Lines).unwrap())
    });

    fn size() -> i64 {
        // As where a model pads its vocabulary.
        i64::try_from(TOKENIZER.vocab_size()).unwrap() + 5
    }

    fn compiled(form: &OutputForm, reasoning: Option<bool>) -> Result<Grammar, String> {
        let ending = [TOKENIZER.control().end_of_turn];
        let grammars = Grammars::new(Arc::clone(&TOKENIZER), size(), &ending)?;
        grammars.compile(form.grammar(reasoning))
    }

    /// The ids that the grammar allows next.
    fn allowed(grammar: &mut Grammar) -> Vec<i64> {
        let mut row = Tensor::zeros([size()], (Kind::Float, tch::Device::Cpu));
        grammar.mask(&mut row).unwrap();
        (0..size()).filter(|&id| row.double_value(&[id]) == 0.0).collect()
    }

    /// Whether a turn of exactly this text is possible, one byte of it at a time.
    fn accepts(form: &OutputForm, reasoning: Option<bool>, text: &str) -> bool {
        let mut grammar = compiled(form, reasoning).unwrap();
        // Forced text has one tokenization, so tokens are taken where they fit.
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            let fitting = allowed(&mut grammar).into_iter().filter(|&id| {
                let bytes = TOKENIZER.bytes(id).unwrap_or_default();
                !TOKENIZER.is_control(id) && !bytes.is_empty() && rest.starts_with(&bytes)
            });
            let longest = fitting.max_by_key(|&id| TOKENIZER.bytes(id).unwrap().len());
            let Some(id) = longest else { return false };
            grammar.accept(id).unwrap();
            rest = &rest[TOKENIZER.bytes(id).unwrap().len()..];
        }
        allowed(&mut grammar).contains(&TOKENIZER.control().end_of_turn)
    }

    fn schema(value: Value) -> OutputForm {
        serde_json::from_value(value).map(OutputForm::Json).unwrap()
    }

    #[test]
    fn json_of_the_schema_is_possible_and_nothing_else() {
        let form = schema(json!({"type": "object", "properties": {"b": {"type": "integer"},
            "a": {"enum": ["x", "ü"]}}, "required": ["b", "a"], "additionalProperties": false}));
        for (text, expected) in [
            ("{\"b\":12,\"a\":\"ü\"}", true),
            ("{\n  \"b\": -1,\n  \"a\": \"x\"\n}", true),
            // Keys come in the order of the schema.
            ("{\"a\":\"x\",\"b\":1}", false),
            ("{\"b\":1.5,\"a\":\"x\"}", false),
            ("{\"b\":1,\"a\":\"x\"", false),
            ("{\"b\":1,\"a\":\"x\"} ", false),
            (" [", false),
        ] {
            assert_eq!(accepts(&form, None, text), expected, "{text}");
        }
        assert!(accepts(&OutputForm::object(), None, "{\"k\": [1, null, {\"x\": \"y\"}]}"));
        assert!(!accepts(&OutputForm::object(), None, "[1]"));
    }

    #[test]
    fn complete_text_is_followed_by_the_end_of_the_turn_alone() {
        let form = OutputForm::Choice(vec!["yes".into(), "no".into()]);
        let mut grammar = compiled(&form, None).unwrap();
        for &byte in b"no" {
            let id = TOKENIZER.encode(&char::from(byte).to_string()).unwrap()[0];
            if allowed(&mut grammar).contains(&id) {
                grammar.accept(id).unwrap();
            }
        }
        let end = TOKENIZER.control().end_of_turn;
        assert_eq!(allowed(&mut grammar), [end]);
        grammar.accept(end).unwrap();
        assert_eq!(allowed(&mut grammar), [end]);
    }

    #[test]
    fn reasoning_may_come_before_the_form_where_it_is_split_off() {
        let form = OutputForm::Regex("[0-9]{2}".into());
        assert!(accepts(&form, None, "42") && !accepts(&form, None, "<think>a</think>42"));
        assert!(accepts(&form, Some(false), "<think>a < b\n</think>\n\n42"));
        assert!(accepts(&form, Some(false), "42") && !accepts(&form, Some(false), "<think>42"));
        assert!(accepts(&form, Some(true), "hm 7</think>42") && !accepts(&form, Some(true), "42"));
    }

    #[test]
    fn calls_have_the_form_that_the_parser_reads() {
        let function = |name: &str, parameters: Value| FunctionForm {
            name: name.into(),
            parameters: serde_json::from_value(parameters).unwrap(),
        };
        let functions = vec![
            function("score", json!({})),
            function(
                "say \"it\"",
                json!({"type": "object", "properties": {"n": {"$ref": "#/$defs/n"}},
                    "required": ["n"], "additionalProperties": false,
                    "$defs": {"n": {"type": "integer"}}}),
            ),
        ];
        let call = |body: &str| format!("<tool_call>\n{body}\n</tool_call>");
        let score = call("{\"name\": \"score\", \"arguments\": {\"a\": 1}}");
        let say = call("{\"name\": \"say \\\"it\\\"\", \"arguments\": {\"n\": 3}}");
        let single = OutputForm::Calls { functions: functions.clone(), several: false };
        let several = OutputForm::Calls { functions, several: true };
        for text in [&score, &say] {
            assert!(accepts(&single, None, text) && accepts(&several, None, text), "{text}");
        }
        let both = format!("{score}\n{say}");
        assert!(accepts(&several, None, &both) && !accepts(&single, None, &both));
        for text in [
            call("{\"name\": \"other\", \"arguments\": {}}"),
            call("{\"name\": \"score\", \"arguments\": []}"),
            call("{\"name\": \"say \\\"it\\\"\", \"arguments\": {\"n\": \"3\"}}"),
            "text".into(),
        ] {
            assert!(!accepts(&several, None, &text), "{text}");
        }
    }

    #[test]
    fn unsupported_schemas_are_refused_with_a_reason() {
        let error = compiled(&schema(json!({"if": {}})), None).unwrap_err();
        assert!(error.contains("Unimplemented keys: [\"if\"]"), "{error}");
        assert!(compiled(&OutputForm::Regex("[".into()), None).is_err());
    }
}
