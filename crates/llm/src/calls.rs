//! The record of calls, `calls.jsonl`: one line before a try and one after it.
//!
//! A try is reserved before anything is sent, and settled by its answer. A reservation that a killed
//! process left open counts in full when the file is opened again, so a budget holds over any number
//! of kills. Lines go to the operating system one by one; a power failure may lose the last ones.

use crate::budget::MoneyAccount;
use crate::chat::{ChatError, Finish, Purpose, Request, Usage};
use crate::price::{MicroUsd, Price, PriceList};
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::sync::{Mutex, MutexGuard, PoisonError};

const VERSION: u32 = 1;

/// One line of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum CallLine {
    /// The first line of every file.
    Header {
        /// Version of the file's format.
        version: u32,
    },
    /// A try is about to be sent.
    Reserved {
        /// Number of the try in this file.
        call: u64,
        /// The request's content address.
        key: String,
        /// What it is for.
        purpose: Purpose,
        /// The provider's name of the model.
        model: String,
        /// 0-based try of this request.
        attempt: u32,
        /// The most that it can cost, `null` if the price is unknown.
        most_micro: Option<MicroUsd>,
    },
    /// A try has ended.
    Settled {
        /// Number of the try in this file.
        call: u64,
        /// How an answer ended, or what went wrong. `lost`: the process ended first.
        outcome: String,
        /// The model that answered.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answered_by: Option<String>,
        /// Tokens of an answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
        /// What is booked, `null` if the price is unknown.
        cost_micro: Option<MicroUsd>,
        /// From the sending of the request to the end of the answer.
        milliseconds: u64,
        /// The provider's name of the request.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request_id: Option<String>,
    },
    /// A request was answered from the cache.
    Cached {
        /// The request's content address.
        key: String,
        /// What it is for.
        purpose: Purpose,
        /// The provider's name of the model.
        model: String,
    },
}

/// How a try ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TryOutcome {
    /// The provider answered, and its usage is billed.
    Answered {
        /// Why the answer ended.
        finish: Finish,
        /// Its tokens. An estimated usage is booked with all that was reserved.
        usage: Usage,
        /// The model that answered.
        answered_by: String,
    },
    /// Without an answer, and the provider did not bill it.
    Unbilled(String),
    /// Without an answer, and the provider may have billed all that was reserved.
    MaybeBilled(String),
}

/// Sums over a record of calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CallTotals {
    /// Tries that were sent.
    pub tries: u64,
    /// Answers received.
    pub answers: u64,
    /// Answers from the cache.
    pub cached: u64,
    /// Tokens of all answers.
    pub usage: Usage,
    /// Money booked; tries of unknown price count as nothing.
    pub spent: MicroUsd,
    /// Tries whose price is unknown.
    pub unpriced: u64,
}

impl CallTotals {
    fn add_answer(&mut self, usage: &Usage) {
        self.answers += 1;
        self.usage.input += usage.input;
        self.usage.cached += usage.cached;
        self.usage.cache_written += usage.cache_written;
        self.usage.output += usage.output;
        self.usage.thinking += usage.thinking;
        self.usage.estimated |= usage.estimated;
    }
}

/// Money that is reserved for one try. It must be settled; if it is not, it counts in full.
#[derive(Debug)]
#[must_use = "a reservation that is not settled counts in full"]
pub struct CallReservation {
    call: u64,
    price: Option<Price>,
    most: Option<MicroUsd>,
}

/// The record of calls of one run. Only one process at a time can open a file.
#[derive(Debug)]
pub struct CallRecord {
    path: Utf8PathBuf,
    prices: PriceList,
    open: Mutex<OpenRecord>,
    /// Calls that wait until one in flight is settled.
    #[cfg(feature = "http")]
    settled: tokio::sync::Notify,
}

#[derive(Debug)]
struct OpenRecord {
    file: fs::File,
    money: MoneyAccount,
    totals: CallTotals,
    next_call: u64,
}

impl CallRecord {
    /// Opens or creates a file. `limit` is for all calls in it, those of earlier runs included.
    ///
    /// # Errors
    /// [`ChatError::Io`], also if another process has the file open; [`ChatError::Recording`].
    ///
    /// # Examples
    /// ```rust
    /// use camino::Utf8Path;
    /// use llm::{CallRecord, PriceList};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let path = Utf8Path::from_path(folder.path()).expect("UTF-8").join("calls.jsonl");
    /// let record = CallRecord::open(&path, PriceList::default(), Some("2.50".parse()?))?;
    /// assert_eq!(record.totals().tries, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open(
        path: &Utf8Path,
        prices: PriceList,
        limit: Option<MicroUsd>,
    ) -> Result<Self, ChatError> {
        let file = fs::OpenOptions::new().create(true).append(true).read(true).open(path)?;
        file.file().try_lock().map_err(|error| {
            io::Error::other(format!("`{path}` is in use by another process ({error})"))
        })?;
        let mut past = PastCalls::read(path, &file)?;
        file.set_len(past.whole_bytes)?;
        let record = Self {
            path: path.to_owned(),
            prices,
            open: Mutex::new(OpenRecord {
                file,
                money: MoneyAccount::default(),
                totals: CallTotals::default(),
                next_call: past.next_call,
            }),
            #[cfg(feature = "http")]
            settled: tokio::sync::Notify::new(),
        };
        {
            let mut open = record.lock();
            if past.whole_bytes == 0 {
                open.append(&CallLine::Header { version: VERSION })?;
            }
            for (call, most) in std::mem::take(&mut past.unsettled) {
                open.append(&CallLine::Settled {
                    call,
                    outcome: "lost".to_owned(),
                    answered_by: None,
                    usage: None,
                    cost_micro: most,
                    milliseconds: 0,
                    request_id: None,
                })?;
                past.totals.spent.0 += most.unwrap_or_default().0;
            }
            open.money = MoneyAccount::new(limit, past.totals.spent);
            open.totals = past.totals;
        }
        Ok(record)
    }

    fn lock(&self) -> MutexGuard<'_, OpenRecord> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where the file is.
    pub fn path(&self) -> &Utf8Path {
        &self.path
    }

    /// Sums over all calls in the file.
    pub fn totals(&self) -> CallTotals {
        let open = self.lock();
        CallTotals { spent: open.money.spent(), ..open.totals }
    }

    /// Reserves the most that the 0-based try `attempt` of a request can cost. `free` is for models
    /// without a price, on one's own machines. `None` if the budget has no room for it as long as
    /// calls in flight have theirs reserved: once one of them is settled, it can be asked again.
    ///
    /// # Errors
    /// [`ChatError::Budget`] if it could exceed the budget with no call in flight, or if there is a
    /// budget and the price is unknown; [`ChatError::Io`].
    pub fn reserve(
        &self,
        request: &Request,
        purpose: &Purpose,
        attempt: u32,
        free: bool,
    ) -> Result<Option<CallReservation>, ChatError> {
        let model = &request.model;
        let price = if free { Some(Price::FREE) } else { self.prices.price(model) };
        let most =
            price.map(|price| price.most(request.most_input_tokens(), request.max_tokens.into()));
        let mut open = self.lock();
        if most.is_none() && open.money.limit().is_some() {
            let reason = format!(
                "the price of `{model}` is unknown; add to the list of prices, in US dollars per \
                 million tokens:\n[[price]]\nmodel = \"{model}\"\ninput = \"…\"\noutput = \"…\""
            );
            return Err(ChatError::Budget { reason });
        }
        let cost = most.unwrap_or_default();
        if let Err(error) = open.money.reserve(cost) {
            return if open.money.may_fit_later(cost) { Ok(None) } else { Err(error) };
        }
        let call = open.next_call;
        open.next_call += 1;
        let line = CallLine::Reserved {
            call,
            key: request.key(),
            purpose: purpose.clone(),
            model: model.clone(),
            attempt,
            most_micro: most,
        };
        if let Err(error) = open.append(&line) {
            // Nothing was sent.
            open.money.settle(cost, MicroUsd(0));
            return Err(error);
        }
        open.totals.tries += 1;
        open.totals.unpriced += u64::from(most.is_none());
        Ok(Some(CallReservation { call, price, most }))
    }

    /// Waits until a call in flight is settled. One that is settled before the future is first
    /// polled, or enabled, is missed.
    #[cfg(feature = "http")]
    pub(crate) fn settlement(&self) -> tokio::sync::futures::Notified<'_> {
        self.settled.notified()
    }

    /// Books how a try ended.
    ///
    /// # Errors
    /// [`ChatError::Io`]; the reservation then counts in full when the file is opened again.
    #[expect(clippy::needless_pass_by_value, reason = "a reservation is settled once")]
    pub fn settle(
        &self,
        reservation: CallReservation,
        outcome: TryOutcome,
        milliseconds: u64,
        request_id: Option<String>,
    ) -> Result<(), ChatError> {
        let CallReservation { call, price, most } = reservation;
        let (outcome, usage, answered_by, cost_micro) = match outcome {
            TryOutcome::Answered { finish, usage, answered_by } => {
                let counted = price.map(|price| price.cost(&usage));
                let cost = if usage.estimated { most } else { counted };
                (finish.name().to_owned(), Some(usage), Some(answered_by), cost)
            }
            TryOutcome::Unbilled(outcome) => (outcome, None, None, price.map(|_| MicroUsd(0))),
            TryOutcome::MaybeBilled(outcome) => (outcome, None, None, most),
        };
        let mut open = self.lock();
        if let Some(usage) = &usage {
            open.totals.add_answer(usage);
        }
        let cost = cost_micro.unwrap_or_default();
        if let Some(reason) = open.money.settle(most.unwrap_or_default(), cost) {
            tracing::error!(call, "{reason}");
        }
        #[cfg(feature = "http")]
        self.settled.notify_waiters();
        open.append(&CallLine::Settled {
            call,
            outcome,
            answered_by,
            usage,
            cost_micro,
            milliseconds,
            request_id,
        })
    }

    /// Counts an answer from the cache.
    ///
    /// # Errors
    /// [`ChatError::Io`].
    pub fn cached(&self, request: &Request, purpose: &Purpose) -> Result<(), ChatError> {
        let mut open = self.lock();
        open.totals.cached += 1;
        open.append(&CallLine::Cached {
            key: request.key(),
            purpose: purpose.clone(),
            model: request.model.clone(),
        })
    }
}

impl OpenRecord {
    fn append(&mut self, line: &CallLine) -> Result<(), ChatError> {
        let mut text = serde_json::to_vec(line).map_err(io::Error::from)?;
        text.push(b'\n');
        // One write, so that a killed process leaves at most one torn line, the last.
        Ok(self.file.write_all(&text)?)
    }
}

/// What a file holds when it is opened.
#[derive(Default)]
struct PastCalls {
    /// Without a torn last line.
    whole_bytes: u64,
    next_call: u64,
    unsettled: BTreeMap<u64, Option<MicroUsd>>,
    totals: CallTotals,
}

impl PastCalls {
    fn read(path: &Utf8Path, file: &fs::File) -> Result<Self, ChatError> {
        let mut past = Self::default();
        let mut reader = BufReader::new(file);
        let mut text = Vec::new();
        for line in 1.. {
            text.clear();
            reader.read_until(b'\n', &mut text)?;
            if text.last() != Some(&b'\n') {
                // Empty at the end. A torn reservation was never sent, and a torn settlement leaves
                // its reservation open.
                break;
            }
            let malformed = |source| ChatError::Recording { path: path.to_string(), line, source };
            let event = serde_json::from_slice(&text).map_err(malformed)?;
            if line == 1 && event != (CallLine::Header { version: VERSION }) {
                let text = format!("`{path}` is not a record of calls of version {VERSION}");
                return Err(ChatError::Io(io::Error::new(io::ErrorKind::InvalidData, text)));
            }
            past.add(&event);
            past.whole_bytes += text.len() as u64;
        }
        Ok(past)
    }

    fn add(&mut self, event: &CallLine) {
        match event {
            CallLine::Header { .. } => {}
            CallLine::Reserved { call, most_micro, .. } => {
                self.next_call = self.next_call.max(call + 1);
                self.unsettled.insert(*call, *most_micro);
                self.totals.tries += 1;
                self.totals.unpriced += u64::from(most_micro.is_none());
            }
            CallLine::Settled { call, usage, cost_micro, .. } => {
                self.unsettled.remove(call);
                self.totals.spent.0 += cost_micro.unwrap_or_default().0;
                if let Some(usage) = usage {
                    self.totals.add_answer(usage);
                }
            }
            CallLine::Cached { .. } => self.totals.cached += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::{Message, Role};
    use proptest::prelude::*;

    const PRICES: &str = "[[price]]\nmodel = \"m\"\ninput = \"1\"\noutput = \"10\"\n";

    fn request(content: &str, max_tokens: u32) -> Request {
        Request::new("m", vec![Message::new(Role::User, content)], max_tokens)
    }

    fn answered(input: u64, output: u64) -> TryOutcome {
        let usage = Usage { input, output, ..Usage::default() };
        TryOutcome::Answered { finish: Finish::Stop, usage, answered_by: "m".to_owned() }
    }

    struct Folder {
        _dir: tempfile::TempDir,
        path: Utf8PathBuf,
    }

    impl Folder {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let path = Utf8Path::from_path(dir.path()).unwrap().join("calls.jsonl");
            Self { _dir: dir, path }
        }

        fn open(&self, limit: Option<u64>) -> Result<CallRecord, ChatError> {
            let prices = PriceList::from_toml(PRICES).unwrap();
            CallRecord::open(&self.path, prices, limit.map(MicroUsd))
        }
    }

    #[test]
    fn calls_are_booked_and_read_again() {
        let folder = Folder::new();
        let record = folder.open(None).unwrap();
        let purpose = Purpose::default();
        let request = request("a", 100);
        let reserve =
            |attempt| record.reserve(&request, &purpose, attempt, false).unwrap().unwrap();
        record.settle(reserve(0), TryOutcome::Unbilled("status_429".to_owned()), 5, None).unwrap();
        record.settle(reserve(1), answered(20, 30), 70, Some("r-1".to_owned())).unwrap();
        record.cached(&request, &purpose).unwrap();
        let totals = record.totals();
        // 20 x 1 + 30 x 10 millionths.
        assert_eq!(
            (totals.tries, totals.answers, totals.cached, totals.spent),
            (2, 1, 1, MicroUsd(320))
        );
        drop(record);
        assert_eq!(folder.open(None).unwrap().totals(), totals);
    }

    #[test]
    fn reservation_left_open_counts_in_full() {
        let folder = Folder::new();
        let record = folder.open(None).unwrap();
        let reservation =
            record.reserve(&request("a", 100), &Purpose::default(), 0, false).unwrap().unwrap();
        let most = reservation.most.unwrap();
        drop((reservation, record));
        for _ in 0..2 {
            assert_eq!(folder.open(None).unwrap().totals().spent, most);
        }
        let text = fs::read_to_string(&folder.path).unwrap();
        assert_eq!(text.matches("\"lost\"").count(), 1);
    }

    #[test]
    fn estimated_and_cut_calls_count_in_full() {
        let folder = Folder::new();
        let record = folder.open(None).unwrap();
        let most = MicroUsd(2 * (512 + 16 + 1 + 1000));
        let usage = Usage::estimate(3, 3);
        let estimated =
            TryOutcome::Answered { finish: Finish::Stop, usage, answered_by: "m".to_owned() };
        for outcome in [estimated, TryOutcome::MaybeBilled("cut".to_owned())] {
            let call =
                record.reserve(&request("a", 100), &Purpose::default(), 0, false).unwrap().unwrap();
            record.settle(call, outcome, 0, None).unwrap();
        }
        assert_eq!(record.totals().spent, most);
    }

    #[test]
    fn file_cut_at_any_byte_opens_again() {
        let folder = Folder::new();
        let record = folder.open(None).unwrap();
        for _ in 0..2 {
            let call =
                record.reserve(&request("a", 1), &Purpose::default(), 0, false).unwrap().unwrap();
            record.settle(call, answered(1, 1), 0, None).unwrap();
        }
        let spent = record.totals().spent;
        drop(record);
        let whole = fs::read(&folder.path).unwrap();
        for end in 0..whole.len() {
            fs::write(&folder.path, &whole[..end]).unwrap();
            let record = folder.open(None).unwrap();
            assert!(record.totals().tries <= 2);
            drop(record.reserve(&request("b", 1), &Purpose::default(), 0, false).unwrap().unwrap());
            drop(record);
            // The new line does not follow a torn one.
            folder.open(None).unwrap();
        }
        fs::write(&folder.path, &whole).unwrap();
        assert_eq!(folder.open(None).unwrap().totals().spent, spent);
    }

    #[test]
    fn malformed_line_is_named() {
        let folder = Folder::new();
        drop(folder.open(None).unwrap());
        let mut text = fs::read_to_string(&folder.path).unwrap();
        text.push_str("{}\n");
        fs::write(&folder.path, &text).unwrap();
        assert!(matches!(folder.open(None), Err(ChatError::Recording { line: 2, .. })));
        fs::write(&folder.path, "{\"event\":\"header\",\"version\":9}\n").unwrap();
        assert!(matches!(folder.open(None), Err(ChatError::Io(_))));
    }

    #[test]
    fn second_writer_is_refused() {
        let folder = Folder::new();
        let record = folder.open(None).unwrap();
        let error = folder.open(None).unwrap_err();
        assert!(matches!(&error, ChatError::Io(error) if error.to_string().contains("in use")));
        drop(record);
        folder.open(None).unwrap();
    }

    #[test]
    fn budget_unknown_price_is_refused_with_what_to_add() {
        let folder = Folder::new();
        let unknown = Request { model: "other".to_owned(), ..request("a", 1) };
        let record = folder.open(Some(1000)).unwrap();
        let error = record.reserve(&unknown, &Purpose::default(), 0, false).unwrap_err();
        assert!(
            matches!(error, ChatError::Budget { reason } if reason.contains("model = \"other\""))
        );
        drop(record.reserve(&unknown, &Purpose::default(), 0, true).unwrap().unwrap());
        drop(record);
        let record = folder.open(None).unwrap();
        drop(record.reserve(&unknown, &Purpose::default(), 0, false).unwrap().unwrap());
        assert_eq!(record.totals().unpriced, 1);
    }

    #[test]
    fn budget_without_room_waits_for_calls_in_flight_and_for_no_other() {
        let folder = Folder::new();
        // Room for one call at a time.
        let record = folder.open(Some(2_000)).unwrap();
        let reserve = || record.reserve(&request("a", 100), &Purpose::default(), 0, false);
        let first = reserve().unwrap().unwrap();
        assert!(reserve().unwrap().is_none());
        record.settle(first, answered(1, 1), 0, None).unwrap();
        let second = reserve().unwrap().unwrap();
        record.settle(second, answered(1, 60), 0, None).unwrap();
        assert!(matches!(reserve(), Err(ChatError::Budget { .. })));
        assert_eq!(fs::read_to_string(&folder.path).unwrap().matches("\"reserved\"").count(), 2);
    }

    #[test]
    fn usage_above_the_reservation_stops_the_run() {
        let folder = Folder::new();
        let record = folder.open(Some(1_000_000)).unwrap();
        let call =
            record.reserve(&request("a", 10), &Purpose::default(), 0, false).unwrap().unwrap();
        record.settle(call, answered(1, 30), 0, None).unwrap();
        let next = record.reserve(&request("a", 10), &Purpose::default(), 0, false);
        assert!(next.is_ok(), "30 tokens cost less than the reserved input");
        record.settle(next.unwrap().unwrap(), answered(9000, 30), 0, None).unwrap();
        let next = record.reserve(&request("a", 10), &Purpose::default(), 0, false);
        assert!(matches!(next, Err(ChatError::Budget { .. })));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        /// Calls, answers of any usage, and kills with any number of calls in flight.
        #[test]
        fn budget_random_run_with_kills_is_never_exceeded(
            limit in 0u64..200_000,
            calls in prop::collection::vec((0usize..300, 1u32..2000, 0u64..=100, 0usize..3, 0u8..12), 1..60),
        ) {
            let folder = Folder::new();
            let mut record = folder.open(Some(limit)).unwrap();
            let mut flying: Vec<(CallReservation, u64, u64)> = Vec::new();
            let mut billed = 0;
            for (length, max_tokens, percent, settled, kill) in calls {
                let request = request(&"x".repeat(length), max_tokens);
                if let Ok(Some(call)) = record.reserve(&request, &Purpose::default(), 0, false) {
                    let input = request.most_input_tokens() * percent / 100;
                    let output = u64::from(max_tokens) * percent / 100;
                    // The provider bills it, whatever becomes of the answer.
                    billed += input + 10 * output;
                    flying.push((call, input, output));
                }
                prop_assert!(billed <= limit, "{} of {}", billed, limit);
                for _ in 0..settled.min(flying.len()) {
                    let (call, input, output) = flying.remove(0);
                    record.settle(call, answered(input, output), 0, None).unwrap();
                }
                if kill == 0 {
                    flying.clear();
                    drop(record);
                    record = folder.open(Some(limit)).unwrap();
                }
            }
            prop_assert!(record.totals().spent.0 <= limit);
        }
    }
}
