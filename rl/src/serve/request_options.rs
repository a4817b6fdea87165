//! The parameters that both kinds of completions have in common.

use super::api_error::ApiError;
use super::parameters::Parameters;
use super::processor_options::extras;
use crate::generate::engine::TurnExtras;
use crate::generate::sample::{Grammar, Sampling};
use serde::Deserialize;
use serde_json::json;

/// The parameters of a request besides its prompt.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a parameter of the protocol")]
pub(super) struct RequestOptions {
    /// `model`: the name of the requested model.
    pub(super) model: Option<String>,
    /// `n`: choices per prompt; at least 1.
    pub(super) n: usize,
    /// `temperature`, `top_p`, `top_k` and `min_p`.
    pub(super) sampling: Sampling,
    /// `max_tokens` or `max_completion_tokens`: the most tokens of a choice.
    pub(super) max_tokens: Option<usize>,
    /// What is asked of the generator besides these.
    pub(super) extras: TurnExtras,
    /// `echo`: whether a choice begins with its prompt.
    pub(super) echo: bool,
    /// `seed`; without one, each request has a random stream of its own.
    pub(super) seed: Option<u64>,
    /// `stop`: texts that end a choice.
    pub(super) stop: Vec<String>,
    /// `include_stop_str_in_output`: whether what ended a choice is part of its text.
    pub(super) include_stop: bool,
    /// `skip_special_tokens`: whether sampled control tokens are left out of the text.
    pub(super) skip_special: bool,
    /// `ignore_eos`: whether generation continues after the token that ends a turn.
    pub(super) ignore_eos: bool,
    /// `stream`: whether deltas are sent while they are generated.
    pub(super) stream: bool,
    /// `stream_options.include_usage`: whether a streamed response ends with its token counts.
    pub(super) usage: bool,
    /// `return_token_ids`: whether the response has the ids of prompts and choices.
    pub(super) token_ids: bool,
}

/// One text or several.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a string or a list of strings")]
enum StopSequences {
    One(String),
    Several(Vec<String>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StreamOptions {
    #[serde(default)]
    include_usage: bool,
    /// Pads chunks against eavesdroppers at OpenAI; no chunk is padded here.
    #[serde(default)]
    #[expect(dead_code, reason = "accepted, and without effect")]
    include_obfuscation: bool,
}

impl RequestOptions {
    /// Reads the parameters. Ids of tokens in them must be below `vocab_size`.
    pub(super) fn take(parameters: &mut Parameters, vocab_size: i64) -> Result<Self, ApiError> {
        let defaults = Sampling::default();
        let top_k = parameters.take::<i64>("top_k")?.unwrap_or(0);
        let sampling = Sampling {
            temperature: parameters.take("temperature")?.unwrap_or(defaults.temperature),
            top_p: parameters.take("top_p")?.unwrap_or(defaults.top_p),
            // In vLLM, -1 keeps all tokens, as 0 does.
            top_k: if top_k == -1 {
                0
            } else {
                usize::try_from(top_k).map_err(|_| {
                    ApiError::invalid("top_k", format!("`top_k` is {top_k}; it must be at least 0"))
                })?
            },
            min_p: parameters.take("min_p")?.unwrap_or(defaults.min_p),
        };
        sampling.check().map_err(|error| ApiError::malformed(error.to_string()))?;
        let n = parameters.take("n")?.unwrap_or(1);
        if n == 0 {
            return Err(ApiError::invalid("n", "`n` is 0; it must be at least 1"));
        }
        parameters.neutral("best_of", &[json!(1), json!(n)])?;
        // Only slow tokenizers of transformers would put spaces there.
        parameters.neutral("spaces_between_special_tokens", &[json!(true), json!(false)])?;
        let stop = match parameters.take("stop")? {
            None => Vec::new(),
            Some(StopSequences::One(text)) => vec![text],
            Some(StopSequences::Several(texts)) => texts,
        };
        if stop.iter().any(String::is_empty) {
            let message = "an empty text in `stop` would end every choice; leave it out";
            return Err(ApiError::invalid("stop", message));
        }
        let stream = parameters.take("stream")?.unwrap_or(false);
        let options: Option<StreamOptions> = parameters.take("stream_options")?;
        if options.is_some() && !stream {
            let message = "`stream_options` needs `stream`; set `stream` or leave it out";
            return Err(ApiError::invalid("stream_options", message));
        }
        Ok(Self {
            model: parameters.take("model")?,
            n,
            sampling,
            max_tokens: max_tokens(parameters)?,
            extras: extras(parameters, vocab_size)?,
            echo: false,
            seed: parameters.take::<i64>("seed")?.map(i64::cast_unsigned),
            stop,
            include_stop: parameters.take("include_stop_str_in_output")?.unwrap_or(false),
            skip_special: parameters.take("skip_special_tokens")?.unwrap_or(true),
            ignore_eos: parameters.take("ignore_eos")?.unwrap_or(false),
            stream,
            usage: options.is_some_and(|options| options.include_usage),
            token_ids: parameters.take("return_token_ids")?.unwrap_or(false),
        })
    }

    /// Lets choices have only the form of a grammar, which `param` of the request asks for.
    ///
    /// # Errors
    /// An [`ApiError`] if other parameters decide when a choice ends.
    pub(super) fn constrain(&mut self, grammar: Grammar, param: &str) -> Result<(), ApiError> {
        for (name, is_set) in
            [("min_tokens", self.extras.processors.min_tokens > 0), ("ignore_eos", self.ignore_eos)]
        {
            if is_set {
                let message = format!("`{param}` decides when a choice ends; leave `{name}` out");
                return Err(ApiError::invalid(name, message));
            }
        }
        self.extras.processors.grammar = Some(grammar);
        Ok(())
    }

    /// The most tokens of a choice; `default` if the request does not say.
    ///
    /// # Errors
    /// An [`ApiError`] if nothing is to be generated and no prompt repeated, or the limit is below
    /// `min_tokens`.
    pub(super) fn limit(&self, default: usize) -> Result<usize, ApiError> {
        let (limit, least) =
            (self.max_tokens.unwrap_or(default), self.extras.processors.min_tokens);
        if limit == 0 && !self.echo {
            let message = "`max_tokens` is 0; it must be at least 1, unless `echo` is set";
            return Err(ApiError::invalid("max_tokens", message));
        }
        if least > limit {
            let message = format!("`min_tokens` is {least}, and a choice has at most {limit}");
            return Err(ApiError::invalid("min_tokens", message));
        }
        Ok(limit)
    }
}

/// The most of the likeliest tokens that can be asked for, as in vLLM.
const TOP: usize = 20;

/// `logprobs` or `top_logprobs`: how many of the likeliest tokens are reported.
pub(super) fn top_count(
    parameters: &mut Parameters,
    name: &str,
) -> Result<Option<usize>, ApiError> {
    let Some(given) = parameters.take::<i64>(name)? else { return Ok(None) };
    let count = usize::try_from(given).ok().filter(|count| *count <= TOP);
    let invalid =
        || ApiError::invalid(name, format!("`{name}` is {given}; it must be between 0 and {TOP}"));
    count.map(Some).ok_or_else(invalid)
}

/// `max_tokens`, under either of its names; `None` if neither is there.
fn max_tokens(parameters: &mut Parameters) -> Result<Option<usize>, ApiError> {
    let mut found = None;
    for name in ["max_tokens", "max_completion_tokens"] {
        let Some(limit) = parameters.take::<usize>(name)? else { continue };
        if found.is_some_and(|found| found != limit) {
            let message = "`max_tokens` and `max_completion_tokens` differ; give one of them";
            return Err(ApiError::invalid(name, message));
        }
        found = Some(limit);
    }
    Ok(found)
}
