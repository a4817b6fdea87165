//! Episodes for tests.

use agents::grammar::python_turn;
use agents::trajectory::Trajectory;
use serde_json::{Value, json};

/// An episode of which only this is known.
#[derive(Clone, Copy)]
pub(super) struct Played<'a> {
    pub(super) task: &'a str,
    pub(super) prompt: &'a str,
    /// Each with whether it finishes.
    pub(super) scripts: &'a [(&'a str, bool)],
    pub(super) is_valid: bool,
    pub(super) reward: f64,
}

impl Played<'_> {
    pub(super) fn trajectory(&self) -> Trajectory {
        let mut segments = vec![
            json!({"source": "prompt", "text": "Solve the task."}),
            json!({"source": "prompt", "text": self.prompt}),
        ];
        let mut turns = Vec::new();
        for (code, is_finished) in self.scripts {
            segments.push(json!({"source": "model", "text": python_turn("Try.", code)}));
            segments.push(json!({"source": "environment", "text": "It ran."}));
            let outcome = if *is_finished {
                json!({"outcome": "finished"})
            } else {
                json!({"outcome": "raised", "exception": "KeyError"})
            };
            turns.push(
                json!({"tool": "python", "has_thought": true, "outcome": outcome, "seconds": 0.1}),
            );
        }
        let grade = if self.is_valid { json!({"score": 0.5, "tier": null}) } else { Value::Null };
        serde_json::from_value(json!({
            "version": 2, "task": self.task, "agent": "agent", "attempt": 0, "feedback": "tier",
            "segments": segments, "turns": turns, "ending": "budget", "timed_out": false,
            "outcome": {"mle": {"grade": grade, "refusal": null}},
            "reward": {"format": 0.0, "execution": self.reward, "tier": 0.0},
        }))
        .unwrap()
    }
}

pub(super) fn trajectories(played: &[Played<'_>]) -> Vec<Trajectory> {
    played.iter().map(Played::trajectory).collect()
}

/// An episode on a task with a valid submission, and no script.
pub(super) fn rewarded(task: &str, reward: f64) -> Trajectory {
    Played { task, prompt: "", scripts: &[], is_valid: true, reward }.trajectory()
}

/// Demonstrations of three approaches on two prompts; one begins with a script that fails.
pub(super) fn demonstrations() -> Vec<Trajectory> {
    let play =
        |task, prompt, scripts, reward| Played { task, prompt, scripts, is_valid: true, reward };
    trajectories(&[
        play("t1", "p1", &[("m = Ridge(1)\nx = rank(x)", true)], 0.4),
        play("t1", "p1", &[("m = Forest()", false), ("m = Forest(1)\nm.fit(x)", true)], 0.6),
        play("t2", "p2", &[("s.to_csv('submission.csv')", true)], 0.3),
    ])
}

/// A policy that does as its demonstrations do, on a prompt that they have and on another.
pub(super) fn imitator() -> Vec<Trajectory> {
    let play =
        |task, prompt, scripts, reward| Played { task, prompt, scripts, is_valid: true, reward };
    trajectories(&[
        play("t1", "p1", &[("m = Ridge(1)\nx = rank(x)", true)], 0.4),
        // Not byte for byte the same, and yet without a line that is new.
        play("t3", "p3", &[("m = Ridge(1)\n\n  x = rank(x)", true)], 0.2),
    ])
}

/// A policy that combines what no demonstration combines.
pub(super) fn engineer() -> Vec<Trajectory> {
    let play = |task, prompt, scripts, is_valid, reward| Played {
        task,
        prompt,
        scripts,
        is_valid,
        reward,
    };
    trajectories(&[
        play(
            "t1",
            "p1",
            &[("m = Forest()", false), ("m = Ridge(2)\nx = Forest(x)", true)],
            true,
            0.8,
        ),
        play("t3", "p3", &[("m = Ridge(1)\nx = Forest(1)", true)], false, 0.1),
        play("t3", "p3", &[("m = Forest(1)", false)], false, 0.1),
    ])
}
