//! What a failed try means, and how long to wait before the next one.

use crate::capabilities::{Capabilities, SchemaMode, WireProtocol};
use crate::chat::ChatError;
use crate::endpoint::Endpoint;
use crate::wire::ApiFailure;
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use reqwest::header::HeaderMap;
use std::time::{Duration, SystemTime};

/// When to stop waiting for an answer.
///
/// | field | meaning | default |
/// | --- | --- | --- |
/// | `connect` | until a connection stands | 5 s |
/// | `first_byte` | until the head of the answer | 120 s |
/// | `idle` | without a byte of the answer | 60 s |
/// | `all` | for one try | 600 s |
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// Until a connection stands.
    pub connect: Duration,
    /// Until the head of the answer.
    pub first_byte: Duration,
    /// Without a byte of the answer.
    pub idle: Duration,
    /// For one try.
    pub all: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            first_byte: Duration::from_mins(2),
            idle: Duration::from_mins(1),
            all: Duration::from_mins(10),
        }
    }
}

/// When to try again. The wait before the `n`-th repetition (from 0) is `min(base 2^n, most)` less
/// up to a quarter, unless the server names a time.
///
/// | field | meaning | default |
/// | --- | --- | --- |
/// | `tries` | most tries of one call | 8 |
/// | `waiting` | most time that one call waits between tries | 180 s |
/// | `base` | first wait | 500 ms |
/// | `most` | longest wait | 8 s |
/// | `longest_named` | a longer time named by the server pauses the endpoint | 60 s |
/// | `longest_pause` | a longer one ends the call | 15 min |
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Most tries of one call.
    pub tries: u32,
    /// Most time that one call waits between tries; pauses of the endpoint do not count.
    pub waiting: Duration,
    /// First wait.
    pub base: Duration,
    /// Longest wait.
    pub most: Duration,
    /// A longer time named by the server pauses the endpoint.
    pub longest_named: Duration,
    /// A longer time named by the server ends the call.
    pub longest_pause: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            // A server that refuses every fifth call at random loses 3 of a million calls.
            tries: 8,
            waiting: Duration::from_mins(3),
            base: Duration::from_millis(500),
            most: Duration::from_secs(8),
            longest_named: Duration::from_mins(1),
            longest_pause: Duration::from_mins(15),
        }
    }
}

/// The waits of one call. They depend on the call's key alone.
#[derive(Debug)]
pub(crate) struct Backoff {
    policy: RetryPolicy,
    draws: ChaCha8Rng,
    repetitions: u32,
    waited: Duration,
}

impl Backoff {
    pub(crate) fn new(policy: RetryPolicy, request_key: &str) -> Self {
        let seed = blake3::derive_key("llm retry jitter", request_key.as_bytes());
        Self { policy, draws: ChaCha8Rng::from_seed(seed), repetitions: 0, waited: Duration::ZERO }
    }

    /// The wait before the next try, `None` if there is none. `named` is the time that the server
    /// asks for.
    pub(crate) fn next(&mut self, named: Option<Duration>) -> Option<Duration> {
        let u: f64 = self.draws.random();
        if self.repetitions + 1 >= self.policy.tries {
            return None;
        }
        let own = self.policy.base.saturating_mul(1 << self.repetitions.min(20));
        let own = own.min(self.policy.most).mul_f64(1.0 - 0.25 * u);
        let wait = named.filter(|named| !named.is_zero()).unwrap_or(own);
        self.repetitions += 1;
        self.waited += wait;
        (self.waited <= self.policy.waiting).then_some(wait)
    }
}

/// Why a try failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TryFault {
    /// No connection, so that nothing was sent.
    Unreachable(String),
    /// The answer is missing, cut, too late or malformed. It may have been billed.
    Broken { what: String, malformed: bool },
    /// The server answers with an error.
    Failed {
        failure: Box<ApiFailure>,
        /// What the headers say about trying again.
        advice: Advice,
        /// Inside a stream that had begun, so that it may have been billed.
        begun: bool,
    },
}

impl TryFault {
    /// Whether the provider may have billed the try.
    pub(crate) fn may_be_billed(&self) -> bool {
        matches!(self, Self::Broken { .. } | Self::Failed { begun: true, .. })
    }

    /// Its name in the record of calls.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Unreachable(_) => "unreachable".to_owned(),
            Self::Broken { malformed: true, .. } => "malformed".to_owned(),
            Self::Broken { .. } => "cut".to_owned(),
            Self::Failed { failure, .. } => format!("status_{}", failure.status),
        }
    }

    /// Completes "it failed because ...".
    pub(crate) fn reason(&self) -> String {
        match self {
            Self::Unreachable(what) | Self::Broken { what, .. } => what.clone(),
            Self::Failed { failure, .. } => {
                format!("the server answered with status {}: {}", failure.status, failure.message)
            }
        }
    }
}

/// What the headers of an error say about trying again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Advice {
    /// Of `x-should-retry`.
    pub(crate) should_retry: Option<bool>,
    /// Of `retry-after-ms` or `Retry-After`.
    pub(crate) after: Option<Duration>,
}

impl Advice {
    /// From the headers of an error that arrived at `now`.
    pub(crate) fn from_headers(headers: &HeaderMap, now: SystemTime) -> Self {
        let text =
            |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
        let seconds = |text: &str| {
            let seconds: f64 = text.parse().ok()?;
            Duration::try_from_secs_f64(seconds).ok()
        };
        let milliseconds = text("retry-after-ms").and_then(seconds).map(|time| time / 1000);
        let after = text("retry-after").and_then(|text| {
            let date = || httpdate::parse_http_date(text).ok()?.duration_since(now).ok();
            seconds(text).or_else(date)
        });
        Self {
            should_retry: text("x-should-retry").and_then(|text| text.parse().ok()),
            after: milliseconds.or(after),
        }
    }
}

/// How long the headers of an answer ask to hold further calls, because none or no tokens remain.
pub(crate) fn hold(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: String| {
        headers.get(name).and_then(|value| value.to_str().ok()).map(|text| text.trim().to_owned())
    };
    let is_zero = |text: &String| text.parse() == Ok(0_u64);
    let openai = ["requests", "tokens"].map(|what| {
        text(format!("x-ratelimit-remaining-{what}")).filter(is_zero)?;
        reset_duration(&text(format!("x-ratelimit-reset-{what}"))?)
    });
    let anthropic = ["requests", "tokens", "input-tokens", "output-tokens"].map(|what| {
        text(format!("anthropic-ratelimit-{what}-remaining")).filter(is_zero)?;
        let reset = text(format!("anthropic-ratelimit-{what}-reset"))?;
        humantime::parse_rfc3339(&reset).ok()?.duration_since(now).ok()
    });
    openai.into_iter().chain(anthropic).flatten().max()
}

/// A duration such as `20ms`, `8.64s` or `1h6m0s`.
fn reset_duration(text: &str) -> Option<Duration> {
    let mut total = Duration::ZERO;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, after) = rest.split_at(digits);
        let unit_end = after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len());
        let (unit, after) = after.split_at(unit_end);
        let unit = match unit {
            "ms" => 0.001,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            "d" => 86_400.0,
            _ => return None,
        };
        let number: f64 = number.parse().ok()?;
        total += Duration::try_from_secs_f64(number * unit).ok()?;
        rest = after;
    }
    Some(total)
}

/// What to do about a failed try.
#[derive(Debug)]
pub(crate) enum NextStep {
    /// Wait and try again.
    Retry(Option<Duration>),
    /// Try again at once with fewer capabilities.
    Heal(Capabilities),
    /// Give up.
    GiveUp(ChatError),
}

/// What to do about `fault`, met at `endpoint` with what is left of its capabilities.
pub(crate) fn next_step(
    fault: &TryFault,
    capabilities: Capabilities,
    endpoint: &Endpoint,
) -> NextStep {
    let TryFault::Failed { failure, advice, .. } = fault else {
        return NextStep::Retry(None);
    };
    let said = failure.message.clone();
    let status = failure.status;
    let name = || endpoint.name.clone();
    if is_quota(failure) {
        return NextStep::GiveUp(ChatError::Quota { endpoint: name(), said });
    }
    match status {
        401 | 403 => {
            let hint = endpoint.key_hint.clone();
            return NextStep::GiveUp(ChatError::Unauthorised {
                endpoint: name(),
                status,
                said,
                hint,
            });
        }
        400 | 413 | 422 if is_context(failure) => {
            return NextStep::GiveUp(ChatError::ContextTooLong { said });
        }
        400 if matches!(failure.code.as_str(), "content_filter" | "content_policy_violation") => {
            return NextStep::GiveUp(ChatError::Refused { category: Some(failure.code.clone()) });
        }
        400 | 422 => {
            if let Some(healed) = heal(failure, endpoint, capabilities) {
                return NextStep::Heal(healed);
            }
        }
        _ => {}
    }
    let usual = matches!(status, 408 | 409 | 429) || status >= 500;
    if advice.should_retry.unwrap_or(usual) {
        NextStep::Retry(advice.after)
    } else {
        NextStep::GiveUp(ChatError::Rejected { status, said })
    }
}

/// Credit or a spending limit is used up. Providers say so with several statuses.
fn is_quota(failure: &ApiFailure) -> bool {
    let names = ["insufficient_quota", "billing_hard_limit_reached", "billing_error"];
    let message = failure.message.to_ascii_lowercase();
    let words = ["credit balance", "spend limit", "spending limit", "api usage limits"];
    failure.status == 402
        || names.iter().any(|name| failure.code == *name || failure.kind == *name)
        || matches!(failure.status, 400 | 403 | 429) && words.iter().any(|w| message.contains(w))
}

fn is_context(failure: &ApiFailure) -> bool {
    let message = failure.message.to_ascii_lowercase();
    let words = ["maximum context length", "prompt is too long", "context window", "context size"];
    failure.code == "context_length_exceeded"
        || failure.kind == "request_too_large"
        || failure.kind == "exceed_context_size_error"
        || words.iter().any(|words| message.contains(words))
}

/// The capabilities without the one that an error names, `None` if it names none that is left.
fn heal(failure: &ApiFailure, endpoint: &Endpoint, now: Capabilities) -> Option<Capabilities> {
    let names = |parameter: &str| {
        if failure.parameter.is_empty() {
            has_word(&failure.message, parameter)
        } else {
            failure.parameter.split('.').next() == Some(parameter)
        }
    };
    let any = |parameters: &[&str]| parameters.iter().any(|parameter| names(parameter));
    if now.temperature && any(&["temperature", "top_p"]) {
        return Some(Capabilities { temperature: false, ..now });
    }
    let limit = if now.old_max_tokens { "max_tokens" } else { "max_completion_tokens" };
    // It changes once: an error about the number itself must not change it back and forth.
    let may_change = endpoint.protocol == WireProtocol::OpenAi
        && now.old_max_tokens == endpoint.capabilities.old_max_tokens;
    if may_change && names(limit) {
        return Some(Capabilities { old_max_tokens: !now.old_max_tokens, ..now });
    }
    if now.stream_usage && names("stream_options") {
        return Some(Capabilities { stream_usage: false, ..now });
    }
    if now.stream && names("stream") {
        return Some(Capabilities { stream: false, stream_usage: false, ..now });
    }
    if now.seed && names("seed") {
        return Some(Capabilities { seed: false, ..now });
    }
    if now.effort && any(&["reasoning_effort", "effort"]) {
        return Some(Capabilities { effort: false, ..now });
    }
    let schema = match now.schema {
        SchemaMode::Tool => any(&["tools", "tool_choice"]),
        _ => any(&["response_format", "json_schema", "output_config", "output_format"]),
    };
    let looser = now.schema.looser().filter(|_| schema)?;
    Some(Capabilities { schema: looser, ..now })
}

/// Whether `text` holds `word` with neither letter, digit nor underscore beside it.
fn has_word(text: &str, word: &str) -> bool {
    let inside = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices(word).any(|(start, _)| {
        !text[..start].ends_with(inside) && !text[start + word.len()..].starts_with(inside)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| {
                (reqwest::header::HeaderName::from_static(name), value.parse().unwrap())
            })
            .collect()
    }

    fn endpoint(capabilities: Capabilities) -> Endpoint {
        let text = "[endpoint.e]\nprotocol = \"openai\"\nbase_url = \"http://localhost:1\"";
        let endpoint = crate::Endpoints::from_toml(text).unwrap().endpoint("e").unwrap();
        Endpoint { capabilities, ..endpoint }
    }

    fn step(status: u16, error: &str) -> NextStep {
        step_with(status, error, Capabilities::openai(), Advice::default())
    }

    fn step_with(status: u16, error: &str, now: Capabilities, advice: Advice) -> NextStep {
        let failure = ApiFailure::from_body(status, &format!(r#"{{"error":{error}}}"#));
        let fault = TryFault::Failed { failure: Box::new(failure), advice, begun: false };
        next_step(&fault, now, &endpoint(now))
    }

    fn healed(error: &str, now: Capabilities) -> Option<Capabilities> {
        match step_with(400, error, now, Advice::default()) {
            NextStep::Heal(capabilities) => Some(capabilities),
            NextStep::GiveUp(ChatError::Rejected { .. }) => None,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn status_decides_about_retry() {
        for status in [408, 409, 429, 500, 502, 503, 504, 529] {
            assert!(
                matches!(step(status, r#"{"message":"m"}"#), NextStep::Retry(None)),
                "{status}"
            );
        }
        for status in [301, 307, 400, 404, 405] {
            let step = step(status, r#"{"message":"m"}"#);
            assert!(matches!(step, NextStep::GiveUp(ChatError::Rejected { .. })), "{status}");
        }
    }

    #[test]
    fn header_overrides_the_status() {
        let now = Capabilities::openai();
        let advice = |should_retry| Advice { should_retry: Some(should_retry), after: None };
        let step = step_with(503, r#"{"message":"m"}"#, now, advice(false));
        assert!(matches!(step, NextStep::GiveUp(ChatError::Rejected { status: 503, .. })));
        assert!(matches!(
            step_with(404, r#"{"message":"m"}"#, now, advice(true)),
            NextStep::Retry(_)
        ));
    }

    #[test]
    fn quota_is_never_retried() {
        for (status, error) in [
            (402, r#"{"message":"m","type":"billing_error"}"#),
            (429, r#"{"message":"m","code":"insufficient_quota"}"#),
            (429, r#"{"message":"You have reached your spend limit."}"#),
            (400, r#"{"message":"Your credit balance is too low to access the API."}"#),
        ] {
            assert!(
                matches!(step(status, error), NextStep::GiveUp(ChatError::Quota { .. })),
                "{error}"
            );
        }
    }

    #[test]
    fn other_errors_have_their_kind() {
        use ChatError::{ContextTooLong, Refused, Unauthorised};
        let long = r#"{"message":"m","code":"context_length_exceeded"}"#;
        assert!(matches!(step(400, long), NextStep::GiveUp(ContextTooLong { .. })));
        let long = r#"{"message":"prompt is too long: 9 tokens > 8 maximum"}"#;
        assert!(matches!(step(400, long), NextStep::GiveUp(ContextTooLong { .. })));
        let filtered = r#"{"message":"m","code":"content_filter"}"#;
        assert!(matches!(step(400, filtered), NextStep::GiveUp(Refused { .. })));
        for status in [401, 403] {
            let step = step(status, r#"{"message":"m"}"#);
            assert!(matches!(step, NextStep::GiveUp(Unauthorised { .. })));
        }
    }

    #[test]
    fn named_parameter_is_healed_once() {
        let all = Capabilities::openai();
        let error = r#"{"message":"Unsupported value: 'temperature' does not support 0.7"}"#;
        let without = Capabilities { temperature: false, ..all };
        assert_eq!(healed(error, all), Some(without));
        assert_eq!(healed(error, without), None);
        let old = Capabilities { old_max_tokens: true, ..all };
        let error = r#"{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","param":"max_tokens"}"#;
        assert_eq!(healed(error, old), Some(all));
        assert_eq!(healed(r#"{"message":"unknown field max_completion_tokens"}"#, all), Some(old));
        let failure =
            ApiFailure::from_body(400, r#"{"error":{"message":"max_tokens is too large"}}"#);
        assert_eq!(heal(&failure, &endpoint(all), old), None, "it changes once");
        let error = r#"{"message":"stream_options is not allowed"}"#;
        assert_eq!(healed(error, all), Some(Capabilities { stream_usage: false, ..all }));
        let error = r#"{"message":"m","param":"response_format.json_schema"}"#;
        assert_eq!(healed(error, all), Some(Capabilities { schema: SchemaMode::Tool, ..all }));
        let text = Capabilities { schema: SchemaMode::Text, ..all };
        assert_eq!(healed(error, text), None);
        assert_eq!(healed(r#"{"message":"the seedling is wrong"}"#, all), None);
    }

    #[test]
    fn retry_after_each_form_is_read() {
        let now = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        for (pairs, seconds) in [
            (&[("retry-after", "7")][..], Some(7.0)),
            (&[("retry-after", "0.5")], Some(0.5)),
            (&[("retry-after-ms", "250"), ("retry-after", "7")], Some(0.25)),
            (&[("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT")], Some(30.0)),
            (&[("retry-after", "Sun, 06 Nov 1994 08:49:07 GMT")], None),
            (&[("retry-after", "-1")], None),
            (&[("retry-after", "soon")], None),
            (&[("retry-after", "NaN")], None),
            (&[("retry-after", "1e300")], None),
            (&[], None),
        ] {
            let advice = Advice::from_headers(&headers(pairs), now);
            assert_eq!(advice.after.map(|time| time.as_secs_f64()), seconds, "{pairs:?}");
        }
        let advice = Advice::from_headers(&headers(&[("x-should-retry", "false")]), now);
        assert_eq!(advice.should_retry, Some(false));
    }

    #[test]
    fn nothing_remaining_holds_until_the_reset() {
        let now = humantime::parse_rfc3339("2026-08-01T00:00:00Z").unwrap();
        for (pairs, seconds) in [
            (
                &[("x-ratelimit-remaining-requests", "0"), ("x-ratelimit-reset-requests", "6m0s")]
                    [..],
                Some(360.0),
            ),
            (
                &[("x-ratelimit-remaining-tokens", "0"), ("x-ratelimit-reset-tokens", "20ms")],
                Some(0.02),
            ),
            (&[("x-ratelimit-remaining-tokens", "1"), ("x-ratelimit-reset-tokens", "20ms")], None),
            (&[("x-ratelimit-remaining-tokens", "0"), ("x-ratelimit-reset-tokens", "later")], None),
            (
                &[
                    ("anthropic-ratelimit-requests-remaining", "0"),
                    ("anthropic-ratelimit-requests-reset", "2026-08-01T00:00:09Z"),
                ],
                Some(9.0),
            ),
            (
                &[
                    ("anthropic-ratelimit-requests-remaining", "0"),
                    ("anthropic-ratelimit-requests-reset", "2025-08-01T00:00:09Z"),
                ],
                None,
            ),
        ] {
            let held = hold(&headers(pairs), now).map(|time| time.as_secs_f64());
            assert_eq!(held, seconds, "{pairs:?}");
        }
        assert_eq!(reset_duration("1h2m3.5s"), Some(Duration::from_millis(3_723_500)));
    }

    #[test]
    fn backoff_waits_grow_within_their_bounds_and_end() {
        let mut backoff = Backoff::new(RetryPolicy::default(), "key");
        let waits: Vec<f64> =
            std::iter::from_fn(|| backoff.next(None)).map(|wait| wait.as_secs_f64()).collect();
        for (wait, full) in waits.iter().zip([0.5, 1.0, 2.0, 4.0, 8.0, 8.0, 8.0]) {
            assert!(*wait <= full && *wait >= 0.75 * full, "{wait} of {full}");
        }
        assert_eq!(waits.len(), 7);
        let mut again = Backoff::new(RetryPolicy::default(), "key");
        assert_eq!(again.next(None).map(|wait| wait.as_secs_f64()), Some(waits[0]));
        let mut other = Backoff::new(RetryPolicy::default(), "other");
        assert_ne!(other.next(None).map(|wait| wait.as_secs_f64()), Some(waits[0]));
    }

    #[test]
    fn backoff_total_wait_is_bounded() {
        let mut backoff = Backoff::new(RetryPolicy::default(), "key");
        let named = Some(Duration::from_secs(50));
        assert_eq!(std::iter::from_fn(|| backoff.next(named)).count(), 3);
    }

    proptest! {
        #[test]
        fn any_header_never_panics(value in "[ -~]{0,30}") {
            let name = |name| headers(&[(name, &value)]);
            let _ = Advice::from_headers(&name("retry-after"), SystemTime::UNIX_EPOCH);
            let _ = Advice::from_headers(&name("retry-after-ms"), SystemTime::UNIX_EPOCH);
            let _ = reset_duration(&value);
        }
    }
}
