//! The account of a run and its file: every request is reserved and written down before it is sent, and
//! settled when it has ended.

use super::account::{Account, CapReached, Caps, Most};
use super::lines::{GatewayEvent, GatewayLine, lost, read_gateway_lines};
use super::moment::RunClock;
use agents::synced_lines::SyncedLines;
use camino::Utf8Path;
use llm::{MicroUsd, Price, Usage};
use std::collections::BTreeMap;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime};

/// Requests of a run, at most: each is two lines.
const REQUESTS: u64 = 200_000;
/// Refused requests that are written down; more are answered alike.
const REFUSED: u64 = 1_000;
/// Characters of a model's name that an agent makes up.
const NAME: usize = 200;

/// Why a request may not be sent.
#[derive(Debug)]
pub(super) enum NotBegun {
    /// A cap has no room for it.
    Cap(CapReached),
    /// The file takes no more.
    Full,
    /// It could not be written down.
    Io(io::Error),
}

/// A request that was written down and is not settled yet.
#[derive(Debug)]
pub(super) struct OpenRequest {
    number: u64,
    model: String,
    price: Option<Price>,
    most: Most,
    began: Instant,
}

/// How a request ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ending {
    pub(super) status: u16,
    pub(super) outcome: String,
    pub(super) usage: Usage,
    /// Whether the provider may have billed all that was reserved.
    pub(super) is_unsure: bool,
    pub(super) answered_by: Option<String>,
    pub(super) request_id: Option<String>,
    pub(super) recorded: Option<bool>,
}

/// The book of a run.
#[derive(Debug)]
pub(super) struct Book {
    inner: Mutex<Inner>,
    clock: RunClock,
}

#[derive(Debug)]
struct Inner {
    file: SyncedLines,
    account: Account,
    /// The number of the last request.
    last: u64,
    sent: u64,
    refused: u64,
}

impl Book {
    /// Opens the file at `path`, which is made if there is none. Requests that were in flight when the
    /// program was killed are settled with all that they may have taken.
    pub(super) fn open(path: &Utf8Path, caps: Caps, clock: RunClock) -> io::Result<Self> {
        let mut file = SyncedLines::open(path)?;
        let lines = read_gateway_lines(path)?;
        let mut open = BTreeMap::new();
        let (mut used, mut sent, mut refused) = (Most::default(), 0, 0);
        let mut take = |usage: &Usage, cost: Option<MicroUsd>| {
            used.tokens = used.tokens.saturating_add(usage.input).saturating_add(usage.output);
            used.cost.0 = used.cost.0.saturating_add(cost.unwrap_or_default().0);
        };
        for line in &lines {
            match &line.event {
                GatewayEvent::Began { model, most_tokens, most_micro } => {
                    sent += 1;
                    open.insert(line.request, (model.clone(), *most_tokens, *most_micro));
                }
                GatewayEvent::Ended { usage, cost_micro, .. } => {
                    open.remove(&line.request);
                    take(usage, *cost_micro);
                }
                GatewayEvent::Refused { .. } => refused += 1,
            }
        }
        for (number, (model, tokens, cost_micro)) in open {
            let usage = lost(tokens);
            take(&usage, cost_micro);
            let event = GatewayEvent::Ended {
                model,
                status: None,
                outcome: "lost".to_owned(),
                usage,
                cost_micro,
                milliseconds: 0,
                answered_by: None,
                request_id: None,
                recorded: None,
            };
            file.append(&[line(number, &clock, event)])?;
        }
        let last = lines.iter().map(|line| line.request).max().unwrap_or(0);
        let account = Account::new(caps, used);
        Ok(Self { inner: Mutex::new(Inner { file, account, last, sent, refused }), clock })
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A panic between two lines leaves the account as it was.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether agents may ask now.
    pub(super) fn is_open(&self) -> bool {
        self.clock.now().is_running
    }

    /// Sets aside what a request may take, and writes it down. It blocks until the line is on the disk.
    pub(super) fn begin(
        &self,
        model: &str,
        price: Option<Price>,
        (input, output): (u64, u64),
    ) -> Result<OpenRequest, NotBegun> {
        let cost = price.map(|price| price.most(input, output));
        let most = Most { tokens: input.saturating_add(output), cost: cost.unwrap_or_default() };
        let mut inner = self.lock();
        if inner.sent >= REQUESTS {
            return Err(NotBegun::Full);
        }
        inner.account.reserve(most).map_err(NotBegun::Cap)?;
        let number = inner.last + 1;
        let event = GatewayEvent::Began {
            model: model.to_owned(),
            most_tokens: most.tokens,
            most_micro: cost,
        };
        if let Err(error) = inner.file.append(&[line(number, &self.clock, event)]) {
            // Nothing was sent.
            inner.account.settle(most, Most::default());
            return Err(NotBegun::Io(error));
        }
        inner.last = number;
        inner.sent += 1;
        Ok(OpenRequest { number, model: model.to_owned(), price, most, began: Instant::now() })
    }

    /// Books how a request ended. It blocks until the line is on the disk; if it cannot be written, the
    /// request counts with all that was reserved.
    pub(super) fn end(&self, request: OpenRequest, ending: Ending) -> io::Result<()> {
        let OpenRequest { number, model, price, most, began } = request;
        let Ending { status, outcome, usage, is_unsure, answered_by, request_id, recorded } =
            ending;
        let cost_micro = price
            .map(|price| if is_unsure || usage.estimated { most.cost } else { price.cost(&usage) });
        let took = Most {
            tokens: usage.input.saturating_add(usage.output),
            cost: cost_micro.unwrap_or_default(),
        };
        if took.tokens > most.tokens || took.cost > most.cost {
            tracing::warn!(number, ?took, ?most, "a request took more than it could; see its line");
        }
        let milliseconds = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let event = GatewayEvent::Ended {
            model,
            status: Some(status),
            outcome,
            usage,
            cost_micro,
            milliseconds,
            answered_by,
            request_id,
            recorded,
        };
        let mut inner = self.lock();
        inner.file.append(&[line(number, &self.clock, event)])?;
        inner.account.settle(most, took);
        Ok(())
    }

    /// Writes down that a request was refused.
    pub(super) fn refuse(&self, model: Option<&str>, status: u16, code: &str) {
        let mut inner = self.lock();
        if inner.refused >= REFUSED {
            return;
        }
        inner.refused += 1;
        inner.last += 1;
        let model = model.map(|model| model.chars().take(NAME).collect());
        let event = GatewayEvent::Refused { model, status, code: code.to_owned() };
        let line = line(inner.last, &self.clock, event);
        if let Err(error) = inner.file.append(&[line]) {
            tracing::warn!(%error, "a refused request could not be written down");
        }
    }
}

fn line(number: u64, clock: &RunClock, event: GatewayEvent) -> GatewayLine {
    let time = humantime::format_rfc3339_millis(SystemTime::now()).to_string();
    GatewayLine::new(number, clock.now().used_ms, time, event)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::{GatewayTotals, RunMoment};

    const PRICE: Price = Price {
        input: MicroUsd(1_000_000),
        cached: MicroUsd(1_000_000),
        cache_written: MicroUsd(1_000_000),
        output: MicroUsd(10_000_000),
    };

    fn book(path: &Utf8Path, tokens: u64) -> Book {
        let clock = RunClock::new(|| RunMoment { used_ms: 7, is_running: true });
        Book::open(path, Caps { tokens: Some(tokens), cost: None }, clock).unwrap()
    }

    fn answered(usage: Usage) -> Ending {
        Ending {
            status: 200,
            outcome: "stop".to_owned(),
            usage,
            is_unsure: false,
            answered_by: None,
            request_id: None,
            recorded: None,
        }
    }

    #[test]
    fn account_goes_on_from_its_file_and_counts_what_was_lost_in_full() {
        let kept = tempfile::tempdir().unwrap();
        let path = Utf8Path::from_path(kept.path()).unwrap().join("gateway.jsonl");
        let first = book(&path, 1_000);
        let one = first.begin("m", Some(PRICE), (300, 100)).unwrap();
        let usage = Usage { input: 90, output: 10, ..Usage::default() };
        first.end(one, answered(usage)).unwrap();
        first.begin("m", Some(PRICE), (300, 200)).unwrap();
        drop(first);

        let again = book(&path, 1_000);
        let totals = GatewayTotals::of(&read_gateway_lines(&path).unwrap());
        assert_eq!((totals.requests, totals.tokens()), (2, 600));
        // 90 and 10 tokens, then at most 300 and 200.
        assert_eq!(totals.cost_micro, MicroUsd(190 + 2_300));
        let reached = again.begin("m", None, (401, 0)).unwrap_err();
        assert!(matches!(reached, NotBegun::Cap(reached) if reached.left() == 400));
        assert_eq!(again.begin("m", None, (400, 0)).unwrap().number, 3);
    }

    #[test]
    fn unsure_ending_costs_what_was_reserved_and_takes_the_tokens_that_are_known() {
        let kept = tempfile::tempdir().unwrap();
        let path = Utf8Path::from_path(kept.path()).unwrap().join("gateway.jsonl");
        let book = book(&path, 1_000);
        let one = book.begin("m", Some(PRICE), (300, 100)).unwrap();
        let usage = Usage { input: 90, output: 3, estimated: true, ..Usage::default() };
        book.end(one, Ending { is_unsure: true, ..answered(usage) }).unwrap();
        let totals = GatewayTotals::of(&read_gateway_lines(&path).unwrap());
        assert_eq!((totals.tokens(), totals.cost_micro), (93, MicroUsd(1_300)));
        assert!(totals.estimated);
    }

    #[test]
    fn flood_of_refused_requests_is_not_written_down_without_end() {
        let kept = tempfile::tempdir().unwrap();
        let path = Utf8Path::from_path(kept.path()).unwrap().join("gateway.jsonl");
        let book = book(&path, 1);
        book.lock().refused = REFUSED - 1;
        for _ in 0..3 {
            book.refuse(Some(&"x".repeat(9_000)), 403, "model");
        }
        let lines = read_gateway_lines(&path).unwrap();
        assert_eq!(lines.len(), 1);
        assert!(matches!(&lines[0].event, GatewayEvent::Refused { model: Some(model), .. }
            if model.len() == NAME));
    }
}
