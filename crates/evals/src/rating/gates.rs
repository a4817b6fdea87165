//! What a corpus that is fit for use is expected to hold.

use super::summary::RatingSummary;
use serde::Serialize;
use tasks::rating::Solver;

/// The name of the group of held-out tasks that are like no training task in a respect, such as
/// `family`.
pub fn held_out_group(respect: &str) -> String {
    format!("held-out {respect}")
}

/// The share of tasks, in [0, 1], on which the careful engineer should win a medal: with less, the
/// corpus is too hard to learn from; with more, it is too easy.
const ENGINEER: (f64, f64) = (0.3, 0.7);

/// One expectation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Gate {
    /// What is expected.
    pub name: &'static str,
    /// Whether it holds; `None` where too little was rated to say.
    pub holds: Option<bool>,
    /// What was found.
    pub found: String,
}

/// The expectations on a corpus, with what was found.
pub(super) fn gates(summary: &RatingSummary) -> Vec<Gate> {
    vec![order(summary), cheap(summary), engineer(summary), specialist(summary), network(summary)]
}

/// Solvers but the network, which is not stronger or weaker than others as such, go further the
/// stronger they are.
fn order(summary: &RatingSummary) -> Gate {
    let ways: Vec<(Solver, f64)> = summary
        .solvers
        .iter()
        .filter(|one| one.solver != Solver::Network && one.tasks > 0)
        .map(|one| (one.solver, one.mean_way()))
        .collect();
    let found: Vec<String> =
        ways.iter().map(|(solver, way)| format!("{solver} {way:.3}")).collect();
    let holds = (ways.len() > 1).then(|| ways.windows(2).all(|pair| pair[0].1 < pair[1].1));
    Gate { name: "solvers strictly ordered by mean way", holds, found: found.join(" < ") }
}

fn cheap(summary: &RatingSummary) -> Gate {
    let cheap = [Solver::Constant, Solver::Exploiter];
    let rated: Vec<_> = cheap.iter().filter_map(|solver| summary.solver(*solver)).collect();
    let found: Vec<String> = rated
        .iter()
        .map(|one| format!("{} {} of {}", one.solver, one.milestones[1], one.tasks))
        .collect();
    let holds = (rated.len() == cheap.len() && rated.iter().all(|one| one.tasks > 0))
        .then(|| rated.iter().all(|one| one.milestones[1] == 0));
    Gate { name: "constant and exploiter win no medal", holds, found: found.join(", ") }
}

fn engineer(summary: &RatingSummary) -> Gate {
    let name = "engineer wins a medal on 30 to 70 %";
    match summary.solver(Solver::Engineer) {
        Some(one) if one.tasks > 0 => {
            let share = one.medal_share();
            let holds = Some(ENGINEER.0 <= share && share <= ENGINEER.1);
            Gate { name, holds, found: format!("{:.1} %", 100.0 * share) }
        }
        _ => Gate { name, holds: None, found: "not rated".to_owned() },
    }
}

fn specialist(summary: &RatingSummary) -> Gate {
    let name = "specialist wins a medal on fewer than half of held-out families";
    let group = summary.groups.get(&held_out_group("family")).into_iter().flatten();
    match group.into_iter().find(|one| one.solver == Solver::Specialist && one.tasks > 0) {
        Some(one) => {
            let found = format!("{} of {}", one.milestones[1], one.tasks);
            Gate { name, holds: Some(one.medal_share() < 0.5), found }
        }
        None => Gate { name, holds: None, found: "no such task was rated".to_owned() },
    }
}

fn network(summary: &RatingSummary) -> Gate {
    let name = "network above engineer on a third of picture, sound and text tasks";
    let of = |pair: &&super::Pair| (pair.solver, pair.other) == (Solver::Network, Solver::Engineer);
    match summary.media_pairs.iter().find(of) {
        Some(pair) if pair.tasks > 0 => {
            let found = format!("{:.1} % of {}", 100.0 * pair.above, pair.tasks);
            Gate { name, holds: Some(pair.above >= 1.0 / 3.0), found }
        }
        _ => Gate { name, holds: None, found: "not rated".to_owned() },
    }
}
