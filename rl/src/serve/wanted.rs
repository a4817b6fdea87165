//! How answers are to be made: what both kinds of completions have in common.

use super::parameters::Parameters;
use super::refusal::Refusal;
use crate::generate::sample::Sampling;
use serde::Deserialize;
use serde_json::json;

/// What a request wants, besides its prompt.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "the protocol's own switches")]
pub(super) struct Wanted {
    /// The name of the model that is asked for.
    pub(super) model: Option<String>,
    /// The number of answers per prompt; at least 1.
    pub(super) copies: usize,
    /// How tokens are drawn.
    pub(super) sampling: Sampling,
    /// The most tokens of an answer.
    pub(super) max_tokens: Option<usize>,
    /// Where draws come from; a fresh stream where there is none.
    pub(super) seed: Option<u64>,
    /// Texts that end an answer and are no part of it.
    pub(super) stops: Vec<String>,
    /// Whether the end of a turn ends nothing.
    pub(super) ignore_eos: bool,
    /// Whether the answer comes as it is made.
    pub(super) stream: bool,
    /// Whether a streamed answer ends with its counts.
    pub(super) usage: bool,
    /// Whether prompt and answer also come as ids.
    pub(super) token_ids: bool,
}

/// One text or several.
#[derive(Deserialize)]
#[serde(untagged, expecting = "it is neither a text nor a list of texts")]
enum Stop {
    One(String),
    Several(Vec<String>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StreamOptions {
    #[serde(default)]
    include_usage: bool,
    /// Pads chunks against eavesdroppers at OpenAI; nothing is padded here.
    #[serde(default)]
    #[expect(dead_code, reason = "understood, and of no effect")]
    include_obfuscation: bool,
}

impl Wanted {
    pub(super) fn take(parameters: &mut Parameters) -> Result<Self, Refusal> {
        let defaults = Sampling::default();
        let top_k = parameters.take::<i64>("top_k")?.unwrap_or(0);
        let sampling = Sampling {
            temperature: parameters.take("temperature")?.unwrap_or(defaults.temperature),
            top_p: parameters.take("top_p")?.unwrap_or(defaults.top_p),
            // Minus one is another way to keep all.
            top_k: if top_k == -1 {
                0
            } else {
                usize::try_from(top_k).map_err(|_| {
                    Refusal::invalid("top_k", format!("`top_k` is {top_k}; it must be at least 0"))
                })?
            },
            min_p: parameters.take("min_p")?.unwrap_or(defaults.min_p),
        };
        sampling.check().map_err(|error| Refusal::malformed(error.to_string()))?;
        let copies = parameters.take("n")?.unwrap_or(1);
        if copies == 0 {
            return Err(Refusal::invalid("n", "`n` is 0; it must be at least 1"));
        }
        parameters.neutral("best_of", &[json!(1), json!(copies)])?;
        for name in ["frequency_penalty", "presence_penalty"] {
            parameters.neutral(name, &[json!(0), json!(0.0)])?;
        }
        parameters.neutral("repetition_penalty", &[json!(1), json!(1.0)])?;
        parameters.neutral("logit_bias", &[json!({})])?;
        let stops = match parameters.take("stop")? {
            None => Vec::new(),
            Some(Stop::One(stop)) => vec![stop],
            Some(Stop::Several(stops)) => stops,
        };
        if stops.iter().any(String::is_empty) {
            return Err(Refusal::invalid("stop", "an empty text in `stop` would end every answer"));
        }
        let stream = parameters.take("stream")?.unwrap_or(false);
        let options: Option<StreamOptions> = parameters.take("stream_options")?;
        if options.is_some() && !stream {
            let message = "`stream_options` say nothing without `stream`";
            return Err(Refusal::invalid("stream_options", message));
        }
        Ok(Self {
            model: parameters.take("model")?,
            copies,
            sampling,
            max_tokens: max_tokens(parameters)?,
            seed: parameters.take::<i64>("seed")?.map(i64::cast_unsigned),
            stops,
            ignore_eos: parameters.take("ignore_eos")?.unwrap_or(false),
            stream,
            usage: options.is_some_and(|options| options.include_usage),
            token_ids: parameters.take("return_token_ids")?.unwrap_or(false),
        })
    }
}

/// The limit, under either of its names.
fn max_tokens(parameters: &mut Parameters) -> Result<Option<usize>, Refusal> {
    let mut found = None;
    for name in ["max_tokens", "max_completion_tokens"] {
        let Some(limit) = parameters.take::<usize>(name)? else { continue };
        if limit == 0 {
            return Err(Refusal::invalid(name, format!("`{name}` is 0; it must be at least 1")));
        }
        if found.is_some_and(|found| found != limit) {
            let message = "`max_tokens` and `max_completion_tokens` differ; give one of them";
            return Err(Refusal::invalid(name, message));
        }
        found = Some(limit);
    }
    Ok(found)
}
