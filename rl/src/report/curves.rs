//! Learning curves and key figures of a run, from its `metrics.jsonl`.

use super::ReportError;
use crate::run::metrics::parse_line;
use camino::Utf8Path;
use fs_err as fs;
use serde_json::Value;
use web::chart::{Curve, LineChart};

/// Where the time of a GRPO step goes: names, and keys in `metrics.jsonl`.
const PHASES: [(&str, &str); 9] = [
    ("prefill", "prefill_seconds"),
    ("decode", "decode_seconds"),
    ("waiting for scripts", "waiting_seconds"),
    ("checks and scores", "scoring_seconds"),
    ("forward and backward", "forward_backward_seconds"),
    ("optimizer", "optimizer_seconds"),
    ("validation", "validation_seconds"),
    ("checkpoint", "saving_seconds"),
    ("the rest", "other_seconds"),
];

/// The lines of a run's `metrics.jsonl`.
pub(super) fn lines(run: &Utf8Path) -> Result<Vec<Value>, ReportError> {
    let path = run.join("metrics.jsonl");
    let text = fs::read_to_string(&path)?;
    let line = |line: &str| {
        parse_line(line).map_err(|source| ReportError::Json { path: path.clone(), source })
    };
    text.lines().map(line).collect()
}

/// A curve of one number over steps; `pointer` is a JSON pointer into a line.
fn curve(name: &str, lines: &[Value], pointer: &str) -> Curve {
    let point =
        |line: &Value| Some((line.get("step")?.as_f64()?, line.pointer(pointer)?.as_f64()?));
    Curve { name: name.to_owned(), points: lines.iter().filter_map(point).collect() }
}

fn chart(title: &str, x_label: &str, y_range: Option<(f64, f64)>, curves: Vec<Curve>) -> LineChart {
    LineChart { title: title.to_owned(), x_label: x_label.to_owned(), curves, y_range }
}

pub(super) fn imitation_charts(lines: &[Value]) -> Vec<LineChart> {
    let loss = curve("loss", lines, "/loss");
    let held_out = curve("held-out examples", lines, "/eval_loss");
    let curves = [loss, held_out].into_iter().filter(|curve| !curve.points.is_empty()).collect();
    vec![chart("Imitation: loss per token (nats)", "SFT update", None, curves)]
}

pub(super) fn reinforcement_charts(lines: &[Value]) -> Vec<LineChart> {
    let share = Some((0.0, 1.0));
    let tiers = ["median", "bronze", "silver", "gold"];
    let one = |name: &str, pointer: &str| vec![curve(name, lines, pointer)];
    let both = |pointer: &str| {
        vec![
            curve("training tasks", lines, pointer),
            curve("held-out tasks", lines, &format!("/validation{pointer}")),
        ]
    };
    let each = |names: &[(&str, &str)]| {
        names.iter().map(|(name, key)| curve(name, lines, &format!("/{key}"))).collect::<Vec<_>>()
    };
    let of =
        |below: &str| tiers.map(|tier| curve(tier, lines, &format!("{below}/{tier}"))).to_vec();
    let mut memory = each(&[("process", "resident_bytes"), ("device", "device_bytes")]);
    for point in memory.iter_mut().flat_map(|curve| &mut curve.points) {
        point.1 /= f64::from(1 << 20);
    }
    let endings = [
        ("trained on", "trained"),
        ("no advantage", "zero_advantage"),
        ("time limit", "masked_time_limit"),
        ("length or turns", "masked_length"),
        ("dropped", "dropped"),
    ];
    let charts = [
        ("Reward", None, both("/reward")),
        ("Valid submissions", share, both("/valid")),
        ("Held-out tasks: share that reaches a tier", share, of("/validation")),
        ("Training tasks: share that reaches a tier", share, of("")),
        ("Entropy per token (nats)", None, one("entropy", "/entropy")),
        (
            "Groups with different rewards",
            share,
            each(&[
                ("share", "mixed_groups"),
                ("expected by the curriculum", "expected_mixed_groups"),
            ]),
        ),
        ("Curriculum: effective number of tasks", None, one("tasks", "/effective_tasks")),
        ("Curriculum: share of draws at the floor", share, one("share", "/floor_draws")),
        (
            "Sampler against trainer: largest gap of log-probabilities",
            None,
            one("gap", "/log_prob_gap"),
        ),
        ("Gradient norm", None, one("norm", "/gradient_norm")),
        ("KL divergence to the reference model (nats per token)", None, one("kl", "/kl")),
        ("Tokens per episode", None, both("/tokens")),
        ("Turns per episode", None, both("/turns")),
        ("What became of the episodes", None, each(&endings)),
        ("Time per step (s)", None, each(&PHASES)),
        ("Sampled tokens per second", None, one("tokens", "/tokens_per_second")),
        ("Memory (MiB)", None, memory),
    ];
    charts
        .into_iter()
        // Numbers that a run does not have, such as the KL divergence without a reference model.
        .map(|(title, range, mut curves)| {
            curves.retain(|curve| !curve.points.is_empty());
            chart(title, "GRPO update", range, curves)
        })
        .filter(|chart| !chart.curves.is_empty())
        .collect()
}

/// How far a run of `rl train` has come, and where its best policy is.
pub(super) fn facts(run: &Utf8Path, lines: &[Value]) -> Vec<(String, String)> {
    let mut facts = Vec::new();
    let mut fact = |name: &str, value: String| facts.push((name.to_owned(), value));
    if let Some(step) = lines.last().and_then(|line| line.get("step")) {
        fact("updates", step.to_string());
    }
    let held_out = curve("", lines, "/validation/reward").points;
    let mut best: Option<(f64, f64)> = None;
    for &(step, reward) in &held_out {
        if best.is_none_or(|(_, highest)| reward > highest) {
            best = Some((step, reward));
        }
    }
    if let (Some((_, first)), Some((_, last)), Some((step, reward))) =
        (held_out.first(), held_out.last(), best)
    {
        fact("held-out reward at the start, at the end", format!("{first:.3}, {last:.3}"));
        fact("best held-out reward", format!("{reward:.3} after update {step}"));
    }
    let link = run.join("checkpoints/best");
    if let Ok(target) = link.read_link_utf8() {
        fact("best checkpoint", run.join("checkpoints").join(target).into_string());
    }
    let total =
        |name: &str| -> f64 { lines.iter().filter_map(|line| line.get(name)?.as_f64()).sum() };
    fact("episodes played", format!("{:.0}", total("played")));
    fact("episodes lost to faults of ours", format!("{:.0}", total("dropped")));
    let (rollout, update) = (total("rollout_seconds"), total("update_seconds"));
    fact("time in rollouts, in updates", format!("{rollout:.0} s, {update:.0} s"));
    let all = total("step_seconds");
    if all > 0.0 {
        let share =
            |(name, key): &(&str, &str)| format!("{name} {:.1} %", 100.0 * total(key) / all);
        fact("of all time", PHASES.iter().map(share).collect::<Vec<_>>().join(", "));
    }
    facts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_skip_steps_without_the_number() {
        let lines: Vec<Value> = [
            serde_json::json!({"step": 0, "validation": {"reward": 0.2}}),
            serde_json::json!({"step": 1, "reward": 0.5}),
            serde_json::json!({"step": 2, "reward": 0.6, "validation": {"reward": 0.4}}),
        ]
        .to_vec();
        assert_eq!(curve("a", &lines, "/reward").points, [(1.0, 0.5), (2.0, 0.6)]);
        assert_eq!(curve("b", &lines, "/validation/reward").points, [(0.0, 0.2), (2.0, 0.4)]);
    }
}
