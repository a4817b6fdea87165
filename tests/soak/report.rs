//! What a soak found: its figures, and what of them is too much.

use crate::progress::SupervisorTally;
use crate::watch::ResourceSample;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use support::trend::{exceeds, slope};

/// A measure that must not grow while the same work goes on.
struct Quantity {
    name: &'static str,
    of: fn(&ResourceSample) -> f64,
    /// How much more it may be at the end than after a tenth of the time.
    growth: f64,
    /// How much it may rise a minute over the second half.
    slope: f64,
}

const MIB: f64 = 1024.0 * 1024.0;

/// Growth leaves room for what comes and goes with the runs of the moment, and for the supervisor's
/// heap, whose pages in use rise with the logarithm of time: episodes differ in size, and now and
/// then many large ones meet. A leak is told by its slope: half a MiB a minute is 2 KiB a step on
/// two cores. What is counted is given back by the end of each episode or run, so that one lost a
/// minute is a leak.
const QUANTITIES: [Quantity; 8] = [
    Quantity {
        name: "memory of the supervisor, MiB",
        of: |sample| sample.supervisor_memory as f64 / MIB,
        growth: 12.0,
        slope: 0.5,
    },
    Quantity {
        name: "memory of the zygote, MiB",
        of: |sample| sample.zygote_memory as f64 / MIB,
        growth: 8.0,
        slope: 0.25,
    },
    Quantity {
        // Mostly that of the scripts of the moment, which differ by hundreds of MiB.
        name: "memory below the supervisor, MiB",
        of: |sample| sample.memory_below as f64 / MIB,
        growth: 512.0,
        slope: 48.0,
    },
    Quantity {
        name: "processes below the supervisor",
        of: |sample| sample.processes_below as f64,
        growth: 4.0,
        slope: 0.5,
    },
    Quantity {
        name: "descriptors of the supervisor",
        of: |sample| sample.supervisor_descriptors as f64,
        growth: 16.0,
        slope: 1.0,
    },
    Quantity {
        name: "descriptors of the zygote",
        of: |sample| sample.zygote_descriptors as f64,
        growth: 8.0,
        slope: 0.5,
    },
    Quantity {
        name: "mounts that the zygote sees",
        of: |sample| sample.zygote_mounts as f64,
        growth: 4.0,
        slope: 0.5,
    },
    Quantity {
        name: "control groups",
        of: |sample| sample.groups as f64,
        growth: 12.0,
        slope: 1.0,
    },
];

/// Minutes from which slopes are judged: before, warming up looks like a leak.
const SLOPES_FROM: f64 = 10.0;
/// Of the mean number of scripts that a thread has run, the share that the slowest must have.
/// Threads wait in line, one script each, so that all should have the same.
const FAIR: f64 = 0.5;
/// The mean from which that is judged: of two or three, one more or less is chance.
const FAIR_FROM: f64 = 8.0;

/// A measure over time.
#[derive(Debug, Serialize)]
pub(crate) struct Growth {
    name: &'static str,
    /// The median around a tenth of the time.
    after_a_tenth: f64,
    /// The median of the last tenth.
    at_the_end: f64,
    /// By least squares over the second half.
    slope_per_minute: f64,
}

/// Parts of a distribution.
#[derive(Debug, Serialize)]
pub(crate) struct Spread {
    p50: f64,
    p95: f64,
    most: f64,
}

impl Spread {
    fn new(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        // NaN if there are none.
        let at = |percent| {
            let last = values.len().saturating_sub(1);
            values.get((last * percent + 50) / 100).copied().unwrap_or(f64::NAN)
        };
        Self { p50: at(50), p95: at(95), most: at(100) }
    }
}

/// How far the threads have come, in scripts run.
#[derive(Debug, Serialize)]
pub(crate) struct Fairness {
    slowest: usize,
    mean: f64,
    fastest: usize,
}

/// What a supervisor played.
#[derive(Debug, Serialize)]
pub(crate) struct PlaySummary {
    minutes: f64,
    episodes: usize,
    steps: usize,
    malformed: usize,
    outcomes: BTreeMap<String, usize>,
    errors: usize,
}

impl PlaySummary {
    pub(crate) fn from_tally(tally: &SupervisorTally, samples: &[ResourceSample]) -> Self {
        Self {
            minutes: samples.last().map_or(0.0, |sample| sample.minutes),
            episodes: tally.closed.len(),
            steps: tally.steps(),
            malformed: tally.malformed,
            outcomes: tally.outcomes.clone(),
            errors: tally.errors.len(),
        }
    }
}

/// The supervisor that was killed, until then.
#[derive(Debug, Serialize)]
pub(crate) struct Soaked {
    tier: String,
    played: PlaySummary,
    growth: Vec<Growth>,
    fairness: Fairness,
    /// Seconds of a script.
    wall: Spread,
    /// Seconds of a step with a script, beyond the script's own.
    wait: Spread,
}

impl Soaked {
    /// Sums up; what is too much goes to `failures`.
    pub(crate) fn from_tally(
        tally: &SupervisorTally,
        samples: &[ResourceSample],
        failures: &mut Vec<String>,
    ) -> Self {
        let growth =
            QUANTITIES.iter().map(|quantity| growth(quantity, samples, failures)).collect();
        let runs = || tally.threads.values().map(|progress| progress.runs);
        let fairness = Fairness {
            slowest: runs().min().unwrap_or(0),
            mean: runs().sum::<usize>() as f64 / tally.threads.len() as f64,
            fastest: runs().max().unwrap_or(0),
        };
        let Fairness { slowest, mean, .. } = fairness;
        if mean >= FAIR_FROM && (slowest as f64) < FAIR * mean {
            failures
                .push(format!("the slowest thread ran {slowest} scripts, the mean is {mean:.1}"));
        }
        for ending in ["timed out", "ran out of memory", "raised FileNotFoundError"] {
            if !tally.outcomes.contains_key(ending) {
                failures.push(format!("no script {ending}; play for longer"));
            }
        }
        if tally.malformed == 0 {
            failures.push("no turn was malformed; play for longer".to_owned());
        }
        Self {
            tier: tally.ready.as_ref().map_or_else(String::new, |(_, tier)| tier.clone()),
            played: PlaySummary::from_tally(tally, samples),
            growth,
            fairness,
            wall: Spread::new(tally.walls.clone()),
            wait: Spread::new(tally.waits.clone()),
        }
    }
}

fn growth(quantity: &Quantity, samples: &[ResourceSample], failures: &mut Vec<String>) -> Growth {
    let name = quantity.name;
    let minutes = samples.last().map_or(0.0, |sample| sample.minutes);
    let median = |from: f64, to: f64| {
        let part = from * minutes..=to * minutes;
        let within = samples.iter().filter(|sample| part.contains(&sample.minutes));
        Spread::new(within.map(quantity.of).collect()).p50
    };
    let (after_a_tenth, at_the_end) = (median(0.05, 0.15), median(0.9, 1.0));
    let later = samples.iter().filter(|sample| sample.minutes >= minutes / 2.0);
    let slope = slope(&later.map(|s| (s.minutes, (quantity.of)(s))).collect::<Vec<_>>());
    if exceeds(at_the_end - after_a_tenth, quantity.growth) {
        let allowed = quantity.growth;
        failures.push(format!(
            "{name}: from {after_a_tenth:.1} to {at_the_end:.1}, and {allowed} more are allowed"
        ));
    }
    if minutes >= SLOPES_FROM && exceeds(slope, quantity.slope) {
        let allowed = quantity.slope;
        failures.push(format!("{name}: {slope:.3} more a minute, and {allowed} are allowed"));
    }
    Growth { name, after_a_tenth, at_the_end, slope_per_minute: slope }
}

/// The end of the first supervisor.
#[derive(Debug, Serialize)]
pub(crate) struct Kill {
    /// Below it, just before.
    pub(crate) processes: usize,
    pub(crate) seconds_until_gone: f64,
    /// Groups and folders that are the next one's to remove.
    pub(crate) traces_left: usize,
}

/// What came after the soak.
#[derive(Debug, Serialize)]
pub(crate) struct Aftermath {
    pub(crate) kill: Kill,
    pub(crate) records_closed: usize,
    pub(crate) records_unfinished: usize,
    pub(crate) second: PlaySummary,
    pub(crate) records_drained: usize,
    pub(crate) records_replayed: usize,
}

/// All of it.
#[derive(Debug, Serialize)]
pub(crate) struct SoakReport {
    pub(crate) episodes_at_a_time: usize,
    pub(crate) soaked: Soaked,
    pub(crate) aftermath: Aftermath,
    /// Why the soak failed; nothing if it did not.
    pub(crate) failures: Vec<String>,
}

impl fmt::Display for PlaySummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { minutes, episodes, steps, malformed, outcomes, errors } = self;
        write!(
            f,
            "{minutes:.1} minutes, {episodes} episodes, {steps} steps ({malformed} malformed"
        )?;
        outcomes.iter().try_for_each(|(outcome, count)| write!(f, ", {count} {outcome}"))?;
        write!(f, "), {errors} errors")
    }
}

impl fmt::Display for SoakReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { episodes_at_a_time, soaked, aftermath, failures } = self;
        let Soaked { tier, played, growth, fairness, wall, wait } = soaked;
        writeln!(f, "{episodes_at_a_time} episodes at a time, tier {tier}: {played}\n")?;
        writeln!(f, "| measure | after a tenth | at the end | a minute, second half |")?;
        writeln!(f, "| --- | --- | --- | --- |")?;
        for Growth { name, after_a_tenth, at_the_end, slope_per_minute } in growth {
            writeln!(
                f,
                "| {name} | {after_a_tenth:.1} | {at_the_end:.1} | {slope_per_minute:+.2} |"
            )?;
        }
        let Fairness { slowest, mean, fastest } = fairness;
        writeln!(f, "\nscripts by thread: {slowest} to {fastest}, mean {mean:.1}")?;
        let Spread { p50, p95, most } = wall;
        writeln!(f, "a script: p50 {p50:.2} s, p95 {p95:.2} s, at most {most:.2} s")?;
        let Spread { p50, p95, most } = wait;
        writeln!(f, "the wait beyond: p50 {p50:.2} s, p95 {p95:.2} s, at most {most:.2} s")?;
        writeln!(
            f,
            "killed with {} processes below it, which were gone after {:.2} s; {} groups and \
             folders were left to the next; records: {} closed, {} unfinished",
            aftermath.kill.processes,
            aftermath.kill.seconds_until_gone,
            aftermath.kill.traces_left,
            aftermath.records_closed,
            aftermath.records_unfinished,
        )?;
        writeln!(
            f,
            "the next supervisor: {}, {} left in order",
            aftermath.second, aftermath.records_drained
        )?;
        writeln!(f, "records of the first that were played again: {}", aftermath.records_replayed)?;
        failures.iter().try_for_each(|failure| writeln!(f, "\nFAILED: {failure}"))
    }
}
