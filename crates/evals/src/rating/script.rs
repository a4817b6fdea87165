//! The solvers' scripts, put together from their parts.

use std::time::Duration;
use tasks::rating::Solver;

/// The page, the tables, the form of a submission; writing one.
const TASK: &str = include_str!("../../solvers/task.py");
/// Sequences whose positions have answers, as tables of positions.
const POSITIONS: &str = include_str!("../../solvers/positions.py");
/// Best constants, and predictions tuned to a metric.
const DECISIONS: &str = include_str!("../../solvers/decisions.py");
/// Cheap statistics of items.
const READERS: &str = include_str!("../../solvers/readers.py");
/// Ordinary features of tables and items.
const FEATURES: &str = include_str!("../../solvers/features.py");
/// Models and their cross-validation.
const MODELS: &str = include_str!("../../solvers/models.py");
/// Masks, boxes and clean pictures.
const SCENES: &str = include_str!("../../solvers/scenes.py");

const CONSTANT: &str = include_str!("../../solvers/constant.py");
const EXPLOITER: &str = include_str!("../../solvers/exploiter.py");
const GLANCE: &str = include_str!("../../solvers/glance.py");
const ENGINEER: &str = include_str!("../../solvers/engineer.py");
const STRUCTURE: &str = include_str!("../../solvers/structure.py");
const SPECIALIST: &str = include_str!("../../solvers/specialist.py");
const NETWORK: &str = include_str!("../../solvers/network.py");

/// The program of a solver. Its free choices follow from `seed`; it knows how long it may run.
pub fn script(solver: Solver, seed: u64, time_limit: Duration) -> String {
    let parts: &[&str] = match solver {
        Solver::Constant => &[TASK, POSITIONS, DECISIONS, CONSTANT],
        Solver::Exploiter => &[TASK, POSITIONS, DECISIONS, EXPLOITER],
        Solver::Glance => &[TASK, POSITIONS, DECISIONS, READERS, GLANCE],
        Solver::Engineer => {
            &[TASK, POSITIONS, DECISIONS, READERS, FEATURES, MODELS, SCENES, ENGINEER]
        }
        Solver::Specialist => {
            &[TASK, POSITIONS, DECISIONS, READERS, FEATURES, MODELS, SCENES, STRUCTURE, SPECIALIST]
        }
        Solver::Network => &[TASK, POSITIONS, DECISIONS, READERS, FEATURES, MODELS, NETWORK],
    };
    // Seeds of NumPy and scikit-learn have 32 bits.
    let (seed, limit) = (seed % (1 << 32), time_limit.as_secs_f64());
    format!("SEED = {seed}\nLIMIT = {limit}\n{}", parts.join("\n\n"))
}
