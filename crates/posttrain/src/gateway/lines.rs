//! `gateway.jsonl`: what an agent asked chat models for, a line before a request is sent and one after
//! its answer. It has no content.
//!
//! ```text
//! {"version":1,"request":1,"used_ms":4100,"time":"…","event":"began","model":"openai:m","most_tokens":900,"most_micro":null}
//! {"version":1,"request":1,"used_ms":4912,"time":"…","event":"ended","model":"openai:m","status":200,"outcome":"stop",
//!  "usage":{"input":9,"cached":0,"cache_written":0,"output":5,"thinking":0},"cost_micro":null,"milliseconds":812}
//! {"version":1,"request":2,"used_ms":5000,"time":"…","event":"refused","model":"other","status":403,"code":"model"}
//! ```
//!
//! A request that began and has no end was in flight when the program was killed. It counts with all that
//! it might have taken, so that caps hold over any number of kills.

use crate::versioned_lines::read_versioned;
use camino::Utf8Path;
use llm::{MicroUsd, Usage};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;

/// The version of lines.
const VERSION: u32 = 1;

/// A line of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GatewayLine {
    version: u32,
    /// The number of the request, from 1.
    pub request: u64,
    /// Milliseconds of the agent's budget that were used.
    pub used_ms: u64,
    /// The time of day, for people.
    pub time: String,
    /// What happened.
    #[serde(flatten)]
    pub event: GatewayEvent,
}

/// What happened to a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum GatewayEvent {
    /// It is about to be sent.
    Began {
        /// The model, as the run names it.
        model: String,
        /// Tokens that it takes at most.
        most_tokens: u64,
        /// What it costs at most; none if the price is unknown.
        most_micro: Option<MicroUsd>,
    },
    /// It has ended.
    Ended {
        /// The model, as the run names it.
        model: String,
        /// What the agent was answered with; none if the program was killed before.
        status: Option<u16>,
        /// How an answer ended (`stop`, `length`, `refusal`, `filter`, `tools`), or what went wrong:
        /// `unreachable`, `cut`, `malformed`, `status_429`, `not_recorded`, `lost`.
        outcome: String,
        /// Its tokens.
        usage: Usage,
        /// What it cost; none if the price is unknown.
        cost_micro: Option<MicroUsd>,
        /// From the sending of the request to the end of its answer.
        milliseconds: u64,
        /// The model that answered, in the provider's words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answered_by: Option<String>,
        /// The provider's name of the request.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request_id: Option<String>,
        /// Whether it is in the recording, where one is made.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        recorded: Option<bool>,
    },
    /// It was not sent.
    Refused {
        /// The model that was asked for, as far as that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        /// What the agent was answered with.
        status: u16,
        /// Why: `token`, `host`, `over`, `size`, `form`, `model`, `protocol`, `feature`, `tokens`, `cost`.
        code: String,
    },
}

impl GatewayLine {
    /// Whether it says how a request ended.
    pub fn is_end(&self) -> bool {
        matches!(self.event, GatewayEvent::Ended { .. })
    }

    pub(super) fn new(request: u64, used_ms: u64, time: String, event: GatewayEvent) -> Self {
        Self { version: VERSION, request, used_ms, time, event }
    }
}

/// Sums over a file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct GatewayTotals {
    /// Requests that were sent.
    pub requests: u64,
    /// Requests that were refused.
    pub refused: u64,
    /// Tokens read, those of the provider's cache included.
    pub input: u64,
    /// Tokens written, thoughts included.
    pub output: u64,
    /// Whether some of the tokens are estimates, because a provider did not count them.
    pub estimated: bool,
    /// What the requests cost whose price is known.
    pub cost_micro: MicroUsd,
    /// Requests that took tokens at an unknown price.
    pub unpriced: u64,
}

impl GatewayTotals {
    /// Over these lines.
    pub fn of<'a>(lines: impl IntoIterator<Item = &'a GatewayLine>) -> Self {
        let mut totals = Self::default();
        let mut open: BTreeMap<u64, (u64, Option<MicroUsd>)> = BTreeMap::new();
        for line in lines {
            match &line.event {
                GatewayEvent::Began { most_tokens, most_micro, .. } => {
                    totals.requests += 1;
                    open.insert(line.request, (*most_tokens, *most_micro));
                }
                GatewayEvent::Ended { usage, cost_micro, .. } => {
                    open.remove(&line.request);
                    totals.add(usage, *cost_micro);
                }
                GatewayEvent::Refused { .. } => totals.refused += 1,
            }
        }
        // In flight, or lost with the program: with all that they may take.
        for (tokens, cost) in open.into_values() {
            totals.add(&lost(tokens), cost);
        }
        totals
    }

    /// Tokens read and written.
    pub fn tokens(&self) -> u64 {
        self.input.saturating_add(self.output)
    }

    /// US dollars; none if the price of any request is unknown.
    pub fn cost(&self) -> Option<f64> {
        (self.unpriced == 0).then(|| self.cost_micro.0 as f64 / 1e6)
    }

    fn add(&mut self, usage: &Usage, cost: Option<MicroUsd>) {
        self.input = self.input.saturating_add(usage.input);
        self.output = self.output.saturating_add(usage.output);
        self.estimated |= usage.estimated;
        match cost {
            Some(MicroUsd(cost)) => self.cost_micro.0 = self.cost_micro.0.saturating_add(cost),
            None => self.unpriced += u64::from(usage.input + usage.output > 0),
        }
    }
}

/// The tokens of a request whose end is not known.
pub(super) fn lost(most_tokens: u64) -> Usage {
    Usage { input: most_tokens, estimated: true, ..Usage::default() }
}

/// The lines of the file at `path`; none if there is no such file. A last line that is torn is passed
/// over.
///
/// # Errors
/// An I/O error naming the file, also if a line of it is none of ours.
pub fn read_gateway_lines(path: &Utf8Path) -> io::Result<Vec<GatewayLine>> {
    read_versioned(path, VERSION, |line: &GatewayLine| line.version)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fs_err as fs;

    fn line(request: u64, event: GatewayEvent) -> GatewayLine {
        GatewayLine::new(request, 7, "t".to_owned(), event)
    }

    fn began(most_tokens: u64, most_micro: Option<u64>) -> GatewayEvent {
        let most_micro = most_micro.map(MicroUsd);
        GatewayEvent::Began { model: "m".to_owned(), most_tokens, most_micro }
    }

    fn ended(input: u64, output: u64, cost: Option<u64>) -> GatewayEvent {
        GatewayEvent::Ended {
            model: "m".to_owned(),
            status: Some(200),
            outcome: "stop".to_owned(),
            usage: Usage { input, output, ..Usage::default() },
            cost_micro: cost.map(MicroUsd),
            milliseconds: 1,
            answered_by: None,
            request_id: None,
            recorded: None,
        }
    }

    #[test]
    fn totals_count_what_has_no_end_in_full() {
        let mut lines = vec![
            line(1, began(100, Some(50))),
            line(1, ended(9, 5, Some(3))),
            line(2, began(70, Some(20))),
        ];
        let totals = GatewayTotals::of(&lines);
        assert_eq!((totals.tokens(), totals.cost_micro), (84, MicroUsd(23)));
        assert!(totals.estimated && totals.cost().is_some());
        lines.push(line(2, ended(1, 1, None)));
        let totals = GatewayTotals::of(&lines);
        assert_eq!((totals.tokens(), totals.cost(), totals.unpriced), (16, None, 1));
        lines.push(line(3, ended(0, 0, None)));
        assert_eq!(GatewayTotals::of(&lines).unpriced, 1, "nothing was taken");
    }

    #[test]
    fn line_round_trips_and_another_version_is_refused() {
        let kept = tempfile::tempdir().unwrap();
        let path = Utf8Path::from_path(kept.path()).unwrap().join("gateway.jsonl");
        let refused = GatewayEvent::Refused { model: None, status: 403, code: "model".to_owned() };
        let lines = [line(1, began(1, None)), line(1, ended(9, 5, Some(3))), line(2, refused)];
        let text: Vec<String> =
            lines.iter().map(|line| serde_json::to_string(line).unwrap() + "\n").collect();
        fs::write(&path, text.concat() + "{\"torn").unwrap();
        assert_eq!(read_gateway_lines(&path).unwrap(), lines);
        fs::write(&path, text[0].replace("\"version\":1", "\"version\":2")).unwrap();
        assert!(read_gateway_lines(&path).unwrap_err().to_string().contains("version 2"));
        assert_eq!(read_gateway_lines(&path.with_file_name("none")).unwrap(), []);
    }
}
