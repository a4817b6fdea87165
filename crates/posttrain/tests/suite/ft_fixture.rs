//! A tiny suite of FT-Dojo, a trainer that answers as `rl` does, and the chain of checks on them.

use crate::fixture;
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use jail::exec::SandboxOptions;
use jail::python::PythonEnv;
use posttrain::Digest;
use posttrain::dojo::{DatasetInfo, describe};
use posttrain::ft::{
    AnswerForm, BaseFacts, Chain, CheckedFtSettings, Draft, FtFault, FtRun, FtSettings, Proposal,
    ScriptBox, Teachers, Trainer, TrainerSchema, Validation,
};
use serde_json::json;
use std::sync::atomic::{AtomicBool, Ordering};
use support::folders::TemporaryFolder;
use worlds::{Scale, Suite, SuiteName, SuiteRequest, TaskSpec, WorldName};

/// A script without a fault.
pub(crate) const SOUND: &str = include_str!("ft/sound.py");

/// Where the tiny suite is.
pub(crate) fn suite_path() -> Utf8PathBuf {
    let worlds = SuiteName::Ftdojo.worlds().iter();
    let versions: Vec<String> =
        worlds.map(|world: &WorldName| world.version().to_string()).collect();
    let name = format!("posttrain-dojo-{}", versions.join("-"));
    Utf8Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// The tiny suite, made once for all tests of a build.
pub(crate) fn suite() -> Suite {
    let path = suite_path();
    Suite::open(&path).unwrap_or_else(|_| {
        let request = SuiteRequest { suite: SuiteName::Ftdojo, scale: Scale::Tiny, seed: 4711 };
        // Another test may be faster.
        request.make(&path).or_else(|_| Suite::open(&path)).unwrap()
    })
}

/// A proposal that [`SOUND`] carries out.
pub(crate) fn proposal() -> Proposal {
    serde_json::from_value(json!({
        "reason": "a first try", "focus": "both",
        "data": {
            "sources": [{"source": "mathematics", "share": 1.0}], "filters": ["has a solution"],
            "sampling": "quality", "synthesis": {"teacher": "none", "what": ""},
            "target_samples": 540,
        },
        "training": {"epochs": 2}, "addresses": "nothing yet", "expects": 0.3, "reuse_data": false,
        "accept_retention": true,
    }))
    .unwrap()
}

/// What the checks need.
pub(crate) struct Place {
    folder: TemporaryFolder,
    settings: CheckedFtSettings,
    scripts: ScriptBox,
    teachers: Teachers,
    form: AnswerForm,
    trainer: Trainer,
    schema: TrainerSchema,
    base: BaseFacts,
    pool: DatasetInfo,
    interrupted: AtomicBool,
}

impl Place {
    pub(crate) fn new(settings: FtSettings) -> Self {
        Self::of("aime", settings)
    }

    pub(crate) fn of(task: &str, settings: FtSettings) -> Self {
        let folder = TemporaryFolder::new();
        let path = |name: &str| folder.path().join(name);
        let mut config = fixture::config();
        config["max_position_embeddings"] = 512.into();
        fixture::save(&path("base"), &fixture::base_weights(), &config);
        fs::create_dir_all(path("control")).unwrap();
        let suite = suite();
        let pool = suite.pool().unwrap();
        let options =
            SandboxOptions { modules: Vec::new(), warm_up: false, ..SandboxOptions::default() };
        let scripts = ScriptBox::start(&PythonEnv::locate().unwrap(), options, &pool).unwrap();
        let form = AnswerForm::open(&suite.task(task).unwrap(), scripts.runner()).unwrap();
        let trainer = Trainer {
            program: trainer_command(&path("control")),
            launcher: fixture::PROGRAM.into(),
            base: path("base"),
            device: "cpu".into(),
        };
        let schema = trainer.schema().unwrap();
        let base = trainer.base_facts().unwrap();
        let pool = describe(&pool).unwrap();
        let settings = settings.check().unwrap();
        let teachers = Teachers::default();
        Self {
            folder,
            settings,
            scripts,
            teachers,
            form,
            trainer,
            schema,
            base,
            pool,
            interrupted: AtomicBool::new(false),
        }
    }

    /// The same, with models that scripts may ask.
    pub(crate) fn with_teachers(self, teachers: Teachers) -> Self {
        Self { teachers, ..self }
    }

    pub(crate) fn path(&self, name: &str) -> Utf8PathBuf {
        self.folder.path().join(name)
    }

    /// What goes wrong with the trainer from now on; nothing if empty.
    pub(crate) fn mode(&self, mode: &str) {
        fs::write(self.path("control/mode"), mode).unwrap();
    }

    /// The trainings so far.
    pub(crate) fn trainings(&self) -> Vec<String> {
        let text = fs::read_to_string(self.path("control/log")).unwrap_or_default();
        // The tests' grader writes there too.
        text.lines().filter(|line| line.starts_with("train ")).map(str::to_owned).collect()
    }

    pub(crate) fn sound() -> Draft {
        Draft {
            proposal: proposal(),
            script: SOUND.to_owned(),
            config: "epochs = 2\n".to_owned(),
            parent_data: None,
        }
    }

    pub(crate) fn chain(&self) -> Chain<'_> {
        Chain {
            settings: &self.settings,
            scripts: &self.scripts,
            teachers: &self.teachers,
            form: &self.form,
            trainer: &self.trainer,
            schema: &self.schema,
            base: self.base,
            pool: &self.pool,
            interrupted: &self.interrupted,
        }
    }

    /// Whether what is going on with these is to stop.
    pub(crate) fn interrupt(&self, is_to_stop: bool) {
        self.interrupted.store(is_to_stop, Ordering::SeqCst);
    }

    /// A run with all of this.
    pub(crate) fn run<'a>(
        &'a self,
        task: &'a TaskSpec,
        loops: u32,
        asked: Digest,
        out: &'a Utf8Path,
    ) -> FtRun<'a> {
        FtRun { task, chain: self.chain(), loops, seed: 0, asked, out }
    }

    pub(crate) fn validate(&self, draft: &Draft) -> Validation {
        self.try_validate(draft).unwrap()
    }

    pub(crate) fn try_validate(&self, draft: &Draft) -> Result<Validation, FtFault> {
        self.chain().validate(draft, &self.path("mini"))
    }
}

/// The command of the trainer for tests.
pub(crate) fn trainer_command(control: &Utf8Path) -> Vec<String> {
    let script = format!("{}/tests/suite/ft/rl.py", env!("CARGO_MANIFEST_DIR"));
    vec!["python3".to_owned(), script, control.to_string()]
}
