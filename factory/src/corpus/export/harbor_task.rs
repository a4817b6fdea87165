//! One task as a folder of Harbor (schema 1.4).
//!
//! ```text
//! task.toml           names, times, sizes of the boxes, facts
//! instruction.md      what the agent is told
//! environment/        the agent's image: Dockerfile, requirements.txt, input/ (the public half)
//! tests/              the verifier's image: Dockerfile, requirements.txt, test.sh, reward.py,
//!                     task/ (the private half and the task's own evaluator)
//! solution/           solve.sh, solve.py (the reference script of `verify --run`)
//! ```
//!
//! Answers are in `tests/` alone. The verifier has a box of its own: in the agent's, answers would lie
//! where processes of the agent may still run.

use super::canary::Canary;
use super::error::ExportError;
use crate::package;
use crate::spec::mix::name;
use crate::verify::run::reference_script;
use camino::Utf8Path;
use fs_err as fs;
use jail::limits::RunLimits;
use serde::Serialize;
use std::collections::BTreeMap;
use tasks::description::without_glance;
use tasks::metrics::Direction;
use tasks::task::{Formulation, Manifest, Modality, Split, TaskDir};

/// Begins both images, so that they share their layers.
const IMAGE: &str = include_str!("harbor/Dockerfile");
const AGENT_IMAGE: &str = include_str!("harbor/agent.Dockerfile");
const VERIFIER_IMAGE: &str = include_str!("harbor/verifier.Dockerfile");
const REQUIREMENTS: &str = include_str!("../../../../python/requirements-task.txt");
const TEST: &str = include_str!("harbor/test.sh");
const REWARD: &str = include_str!("harbor/reward.py");
const SOLVE: &str = include_str!("harbor/solve.sh");

/// What the packages are called in the instruction.
const PACKAGES: &str =
    "numpy, pandas, fastparquet, scipy, scikit-learn, lightgbm, networkx and pillow";

const SUBMISSION: &str = "/app/submission.csv";
/// Wall time of an agent in seconds, as that of an episode of the sandbox.
const AGENT_SECONDS: f64 = 1200.0;
/// Wall time of the verifier in seconds; it takes a few.
const VERIFIER_SECONDS: f64 = 300.0;
const BUILD_SECONDS: f64 = 1800.0;
/// Memory in MiB for what an agent runs beside its scripts.
const AGENT_MEMORY: u64 = 1024;
const NO_NETWORK: &str = "no-network";

/// Writes the folder of a task.
pub(super) fn write(task: &TaskDir, canary: &Canary, folder: &Utf8Path) -> Result<(), ExportError> {
    task.check_files()?;
    let files = files(task, canary)?;
    package::write(folder, files.iter().map(|(path, bytes)| (path.as_str(), bytes)))?;
    Ok(())
}

/// The files of the folder, by path.
fn files(task: &TaskDir, canary: &Canary) -> Result<BTreeMap<String, Vec<u8>>, ExportError> {
    let image = |end: &str| canary.mark(&[IMAGE, end].concat());
    let page = fs::read_to_string(task.public().path().join("description.md"))?;
    let instruction = format!("<!-- {canary} -->\n{}", instruction(&page, "/app/"));
    let solution = format!("# {canary}\n{}", reference_script(task));
    let mut files = BTreeMap::from([
        ("task.toml".to_owned(), task_toml(task.manifest(), canary).into_bytes()),
        ("instruction.md".to_owned(), instruction.into_bytes()),
        ("environment/Dockerfile".to_owned(), image(AGENT_IMAGE)),
        ("environment/requirements.txt".to_owned(), REQUIREMENTS.into()),
        ("tests/Dockerfile".to_owned(), image(VERIFIER_IMAGE)),
        ("tests/requirements.txt".to_owned(), REQUIREMENTS.into()),
        ("tests/test.sh".to_owned(), canary.mark(TEST)),
        ("tests/reward.py".to_owned(), canary.mark(REWARD)),
        ("solution/solve.sh".to_owned(), canary.mark(SOLVE)),
        ("solution/solve.py".to_owned(), solution.into_bytes()),
    ]);
    // What the manifest does not list is none of the task's files.
    for path in task.manifest().hashes.keys() {
        let place = if let Some(public) = path.strip_prefix("prepared/public/") {
            format!("environment/input/{public}")
        } else if path.starts_with("prepared/private/") || path == "source/evaluator.py" {
            format!("tests/task/{path}")
        } else {
            continue;
        };
        files.insert(place, fs::read(task.path().join(path))?);
    }
    Ok(files)
}

/// What a language model is told: where files are, below `folder`, what counts, and the description
/// page without its list `At a glance`.
pub(super) fn instruction(page: &str, folder: &str) -> String {
    format!(
        "You take part in a machine learning competition. Its files lie in `{folder}input`, which \
         you leave as it is. What counts is the file `{folder}submission.csv` when you end: write it \
         in the format of `{folder}input/sample_submission.csv`. Python has {PACKAGES}; nothing \
         else can be installed, and there is no network. The description of the competition:\n\n{}\n",
        without_glance(page).trim_end()
    )
}

/// `task.toml`, with the canary as its first line.
fn task_toml(manifest: &Manifest, canary: &Canary) -> String {
    let memory = RunLimits::default().memory.bytes() >> 20;
    let limits = |memory_mb| BoxLimits {
        build_timeout_sec: BUILD_SECONDS,
        cpus: 1,
        memory_mb,
        network_mode: NO_NETWORK,
    };
    let settings = TaskSettings {
        schema_version: "1.4",
        artifacts: [SUBMISSION],
        task: PackageInfo {
            name: format!("factory/{}", manifest.id),
            description: &manifest.title,
            keywords: ["machine-learning", manifest.modality.name(), manifest.formulation.name()],
        },
        metadata: Facts {
            split: manifest.split,
            modality: manifest.modality,
            formulation: manifest.formulation,
            metric: name(&manifest.metric),
            direction: manifest.direction(),
            seed_competition: &manifest.seed_task,
            domain: &manifest.domain,
            train_rows: manifest.rows.train,
            test_rows: manifest.rows.test,
        },
        agent: AgentSettings { timeout_sec: AGENT_SECONDS, user: "agent" },
        verifier: VerifierSettings {
            timeout_sec: VERIFIER_SECONDS,
            environment_mode: "separate",
            environment: limits(memory),
        },
        environment: AgentBox {
            limits: limits(memory + AGENT_MEMORY),
            workdir: "/app",
            // As in the sandbox, where a run has one thread for each of these.
            env: BTreeMap::from([("OMP_NUM_THREADS", "1"), ("OPENBLAS_NUM_THREADS", "1")]),
        },
    };
    let text = toml::to_string(&settings).expect("texts, numbers and tables can be written");
    format!("# {canary}\n{text}")
}

/// `task.toml` of Harbor 0.25; names and units are Harbor's.
#[derive(Debug, Serialize)]
struct TaskSettings<'a> {
    schema_version: &'static str,
    artifacts: [&'static str; 1],
    task: PackageInfo<'a>,
    metadata: Facts<'a>,
    agent: AgentSettings,
    verifier: VerifierSettings,
    environment: AgentBox,
}

#[derive(Debug, Serialize)]
struct PackageInfo<'a> {
    name: String,
    description: &'a str,
    keywords: [&'static str; 3],
}

/// What Harbor does not read, but people who choose tasks do.
#[derive(Debug, Serialize)]
struct Facts<'a> {
    split: Split,
    modality: Modality,
    formulation: Formulation,
    metric: String,
    direction: Direction,
    seed_competition: &'a str,
    domain: &'a str,
    train_rows: usize,
    test_rows: usize,
}

#[derive(Debug, Serialize)]
struct AgentSettings {
    timeout_sec: f64,
    user: &'static str,
}

#[derive(Debug, Serialize)]
struct VerifierSettings {
    timeout_sec: f64,
    environment_mode: &'static str,
    environment: BoxLimits,
}

#[derive(Debug, Serialize)]
struct BoxLimits {
    build_timeout_sec: f64,
    cpus: u32,
    memory_mb: u64,
    network_mode: &'static str,
}

#[derive(Debug, Serialize)]
struct AgentBox {
    #[serde(flatten)]
    limits: BoxLimits,
    workdir: &'static str,
    env: BTreeMap<&'static str, &'static str>,
}
