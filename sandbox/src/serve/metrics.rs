//! What a server counts, and `GET /metrics`: the same in Prometheus' text format.
//!
//! Names follow Prometheus' conventions: base units, `_total` for what only grows. Nothing here
//! depends on a task's answers, and no label has values that clients choose.

use super::server::ServerState;
use crate::env::CloseReason;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};
use fs_err as fs;
use jail::exec::Outcome;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeLabelSet, EncodeMetric as _, prometheus_text,
};
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// All values of a label, so that each series is there from the start, at zero.
const OUTCOMES: [EpisodeOutcome; 9] = [
    EpisodeOutcome::Graded,
    EpisodeOutcome::Left(CloseReason::Reset),
    EpisodeOutcome::Left(CloseReason::Left),
    EpisodeOutcome::Left(CloseReason::Vanished),
    EpisodeOutcome::Left(CloseReason::Idle),
    EpisodeOutcome::Left(CloseReason::Overdue),
    EpisodeOutcome::Left(CloseReason::TooLarge),
    EpisodeOutcome::Left(CloseReason::Drained),
    EpisodeOutcome::Left(CloseReason::Fault),
];
const REFUSALS: [Refusal; 6] = [
    Refusal::Full,
    Refusal::Busy,
    Refusal::Draining,
    Refusal::Token,
    Refusal::EpisodesPerTask,
    Refusal::Records,
];

/// How an episode ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EpisodeOutcome {
    /// It was played to its end and graded.
    Graded,
    /// It ended before that.
    Left(CloseReason),
}

/// Why a client did not get what it asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// All sessions are in use.
    Full,
    /// No slot was free within the answer limit.
    Busy,
    /// The server is shutting down.
    Draining,
    /// The token is missing or wrong.
    Token,
    /// The client has begun as many episodes of the task as it may.
    EpisodesPerTask,
    /// The folder of records is full.
    Records,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OutcomeLabel {
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReasonLabel {
    reason: &'static str,
}

/// The counts of a server.
#[derive(Debug)]
pub(super) struct ServeMetrics {
    registry: Registry,
    episodes_open: Gauge,
    episodes: Family<OutcomeLabel, Counter>,
    steps: Counter,
    scripts: Family<OutcomeLabel, Counter>,
    script_seconds: Histogram,
    slot_wait_seconds: Histogram,
    refused: Family<ReasonLabel, Counter>,
    sessions_open: Gauge,
    slots_busy: Gauge,
    draining: Gauge,
}

/// An open episode, which counts until it ends. One that is dropped has ended by a fault.
#[derive(Debug)]
pub(super) struct OpenEpisode {
    open: Gauge,
    ended: Family<OutcomeLabel, Counter>,
    outcome: EpisodeOutcome,
}

impl EpisodeOutcome {
    fn label(self) -> OutcomeLabel {
        let outcome = match self {
            Self::Graded | Self::Left(CloseReason::Closed) => "graded",
            Self::Left(CloseReason::Reset) => "reset",
            Self::Left(CloseReason::Left) => "left",
            Self::Left(CloseReason::Vanished) => "vanished",
            Self::Left(CloseReason::Idle) => "idle",
            Self::Left(CloseReason::Overdue) => "overdue",
            Self::Left(CloseReason::TooLarge) => "too_large",
            Self::Left(CloseReason::Drained) => "drained",
            Self::Left(CloseReason::Fault) => "fault",
        };
        OutcomeLabel { outcome }
    }
}

impl Refusal {
    fn label(self) -> ReasonLabel {
        let reason = match self {
            Self::Full => "full",
            Self::Busy => "busy",
            Self::Draining => "draining",
            Self::Token => "token",
            Self::EpisodesPerTask => "episodes_per_task",
            Self::Records => "records",
        };
        ReasonLabel { reason }
    }
}

impl OpenEpisode {
    /// The episode has ended like this.
    pub(super) fn end(mut self, outcome: EpisodeOutcome) {
        self.outcome = outcome;
    }
}

impl Drop for OpenEpisode {
    fn drop(&mut self) {
        self.open.dec();
        self.ended.get_or_create(&self.outcome.label()).inc();
    }
}

fn script_label(outcome: &Outcome) -> OutcomeLabel {
    let outcome = match outcome {
        Outcome::Finished => "finished",
        Outcome::Raised { .. } => "raised",
        Outcome::Exited { .. } => "exited",
        Outcome::TimedOut => "timed_out",
        Outcome::OutOfMemory => "out_of_memory",
        Outcome::DiskLimit => "disk_limit",
        Outcome::OutputLimit => "output_limit",
        Outcome::Killed { .. } => "killed",
    };
    OutcomeLabel { outcome }
}

impl ServeMetrics {
    /// Counts of a server with so many tasks, sessions and slots at most.
    pub(super) fn new(tasks: usize, sessions: usize, slots: usize) -> Self {
        let metrics = Self {
            registry: Registry::default(),
            episodes_open: Gauge::default(),
            episodes: Family::default(),
            steps: Counter::default(),
            scripts: Family::default(),
            // 10 ms to 655 s, and 1 ms to 65 s.
            script_seconds: Histogram::new(exponential_buckets(0.01, 2.0, 17)),
            slot_wait_seconds: Histogram::new(exponential_buckets(0.001, 4.0, 9)),
            refused: Family::default(),
            sessions_open: Gauge::default(),
            slots_busy: Gauge::default(),
            draining: Gauge::default(),
        };
        for outcome in OUTCOMES {
            let _ = metrics.episodes.get_or_create(&outcome.label());
        }
        for refusal in REFUSALS {
            let _ = metrics.refused.get_or_create(&refusal.label());
        }
        metrics.registered(tasks, sessions, slots)
    }

    fn registered(mut self, tasks: usize, sessions: usize, slots: usize) -> Self {
        let registry = &mut self.registry;
        let open = self.episodes_open.clone();
        registry.register("sandbox_episodes_open", "Episodes in progress", open);
        let episodes = self.episodes.clone();
        registry.register("sandbox_episodes", "Episodes that have ended, by how", episodes);
        registry.register(
            "sandbox_steps",
            "Steps of episodes that were answered",
            self.steps.clone(),
        );
        let scripts = self.scripts.clone();
        registry.register("sandbox_scripts", "Scripts that have run, by how they ended", scripts);
        let seconds = self.script_seconds.clone();
        registry.register("sandbox_script_seconds", "Wall time of scripts", seconds);
        let waits = self.slot_wait_seconds.clone();
        registry.register("sandbox_slot_wait_seconds", "Waits of scripts for a free slot", waits);
        let refused = self.refused.clone();
        registry.register("sandbox_refused", "Requests that were refused, by reason", refused);
        let used = self.sessions_open.clone();
        registry.register("sandbox_sessions_open", "Sessions in use", used);
        let busy = self.slots_busy.clone();
        registry.register("sandbox_slots_busy", "Slots in which a script is running", busy);
        let draining = self.draining.clone();
        registry.register("sandbox_draining", "1 while the server is shutting down", draining);
        for (name, help, value) in [
            ("sandbox_sessions_limit", "Sessions at a time (--max-episodes)", sessions),
            ("sandbox_slots", "Scripts that run at a time (--slots)", slots),
            ("sandbox_tasks", "Tasks that are served", tasks),
        ] {
            registry.register(name, help, ConstGauge::new(value as u64));
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        registry.register_collector(Box::new(ProcessStats { started: now.as_secs_f64() }));
        self
    }

    /// Counts an episode that begins.
    pub(super) fn begin_episode(&self) -> OpenEpisode {
        self.episodes_open.inc();
        OpenEpisode {
            open: self.episodes_open.clone(),
            ended: self.episodes.clone(),
            outcome: EpisodeOutcome::Left(CloseReason::Fault),
        }
    }

    /// How many episodes are in progress.
    pub(super) fn episodes_open(&self) -> i64 {
        self.episodes_open.get()
    }

    /// Counts a step, and the script that it ran.
    pub(super) fn count_step(&self, script: Option<(&Outcome, Duration)>) {
        self.steps.inc();
        if let Some((outcome, wall)) = script {
            self.scripts.get_or_create(&script_label(outcome)).inc();
            self.script_seconds.observe(wall.as_secs_f64());
        }
    }

    /// Counts a script's wait for a slot.
    pub(super) fn count_wait(&self, wait: Duration) {
        self.slot_wait_seconds.observe(wait.as_secs_f64());
    }

    /// Counts a refusal.
    pub(super) fn refuse(&self, refusal: Refusal) {
        self.refused.get_or_create(&refusal.label()).inc();
    }

    /// All of it as text.
    fn text(&self) -> Result<String, fmt::Error> {
        let mut text = String::new();
        prometheus_text::encode(&mut text, &self.registry)?;
        Ok(text)
    }
}

/// Answers `GET /metrics`.
pub(super) async fn metrics(State(shared): State<Arc<ServerState>>) -> Response {
    let metrics = &shared.metrics;
    let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    metrics.sessions_open.set(count(shared.sessions.count()));
    let busy = shared.slots.saturating_sub(shared.places.available_permits());
    metrics.slots_busy.set(count(busy));
    metrics.draining.set(i64::from(shared.is_draining()));
    match metrics.text() {
        Ok(text) => ([(CONTENT_TYPE, prometheus_text::CONTENT_TYPE)], text).into_response(),
        Err(error) => {
            tracing::error!(%error, "the metrics could not be written");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

/// What this process holds, by the names that Prometheus' own clients use. Read when asked for.
/// Scripts run in processes of their own and are not in it.
#[derive(Debug)]
struct ProcessStats {
    /// In seconds since 1970.
    started: f64,
}

/// The number that follows `name` in `/proc/self/status`.
fn status(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Seconds of processor time of this process, from `/proc/self/stat`.
fn processor_seconds() -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The second field is a name that may contain anything. `utime` and `stime` are 14 and 15.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let ticks = fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?;
    Some(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
}

impl Collector for ProcessStats {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let open = fs::read_dir("/proc/self/fd").ok().map(|entries| entries.count() as u64);
        for (name, help, value) in [
            (
                "process_resident_memory_bytes",
                "Resident memory of the server's process",
                status(&text, "VmRSS:").map(|size| size * 1024),
            ),
            ("process_threads", "Threads of the server's process", status(&text, "Threads:")),
            ("process_open_fds", "Open file descriptors", open),
        ] {
            let Some(value) = value else { continue };
            let gauge = ConstGauge::new(value);
            gauge.encode(encoder.encode_descriptor(name, help, None, gauge.metric_type())?)?;
        }
        let gauge = ConstGauge::new(self.started);
        let (name, help) = ("process_start_time_seconds", "Start of the server, since 1970");
        gauge.encode(encoder.encode_descriptor(name, help, None, gauge.metric_type())?)?;
        if let Some(seconds) = processor_seconds() {
            let counter = ConstCounter::new(seconds);
            let (name, help) = ("process_cpu_seconds", "Processor time of the server's process");
            counter.encode(encoder.encode_descriptor(
                name,
                help,
                None,
                counter.metric_type(),
            )?)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn episodes_are_open_until_they_end_and_a_lost_one_is_a_fault() {
        let metrics = ServeMetrics::new(3, 8, 2);
        let [first, second, third] = [(); 3].map(|()| metrics.begin_episode());
        assert_eq!(metrics.episodes_open(), 3);
        first.end(EpisodeOutcome::Graded);
        second.end(EpisodeOutcome::Left(CloseReason::Idle));
        drop(third);
        assert_eq!(metrics.episodes_open(), 0);
        let text = metrics.text().unwrap();
        for line in [
            "sandbox_episodes_open 0",
            "sandbox_episodes_total{outcome=\"graded\"} 1",
            "sandbox_episodes_total{outcome=\"idle\"} 1",
            "sandbox_episodes_total{outcome=\"fault\"} 1",
            "sandbox_episodes_total{outcome=\"vanished\"} 0",
            "sandbox_sessions_limit 8",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is missing:\n{text}");
        }
    }

    #[test]
    fn text_has_types_buckets_and_the_process() {
        let metrics = ServeMetrics::new(3, 8, 2);
        metrics.count_step(None);
        metrics.count_step(Some((&Outcome::TimedOut, Duration::from_millis(300))));
        metrics.refuse(Refusal::Full);
        let text = metrics.text().unwrap();
        for line in [
            "# TYPE sandbox_script_seconds histogram",
            "# TYPE sandbox_episodes_total counter",
            "sandbox_steps_total 2",
            "sandbox_scripts_total{outcome=\"timed_out\"} 1",
            "sandbox_script_seconds_count 1",
            "sandbox_script_seconds_bucket{le=\"0.16\"} 0",
            "sandbox_script_seconds_bucket{le=\"0.32\"} 1",
            "sandbox_refused_total{reason=\"full\"} 1",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is missing:\n{text}");
        }
        let memory =
            text.lines().find_map(|line| line.strip_prefix("process_resident_memory_bytes "));
        assert!(memory.unwrap().parse::<f64>().unwrap() > 1e6, "{text}");
        assert!(text.contains("process_cpu_seconds_total "), "{text}");
    }
}
