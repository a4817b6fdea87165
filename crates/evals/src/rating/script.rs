//! The solvers' scripts, put together from their parts.

use tasks::rating::Solver;

/// The page, the tables, the form of a submission; writing one.
const TASK: &str = include_str!("../../solvers/task.py");
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

/// The program of a solver. Its free choices follow from `seed`.
pub fn script(solver: Solver, seed: u64) -> String {
    let parts: &[&str] = match solver {
        Solver::Constant => &[TASK, DECISIONS, CONSTANT],
        Solver::Exploiter => &[TASK, DECISIONS, EXPLOITER],
        Solver::Glance => &[TASK, DECISIONS, READERS, GLANCE],
        Solver::Engineer => &[TASK, DECISIONS, READERS, FEATURES, MODELS, SCENES, ENGINEER],
        Solver::Specialist => {
            &[TASK, DECISIONS, READERS, FEATURES, MODELS, SCENES, STRUCTURE, SPECIALIST]
        }
        Solver::Network => &[TASK, DECISIONS, READERS, FEATURES, NETWORK],
    };
    format!("SEED = {seed}\n{}", parts.join("\n\n"))
}
