//! Where an agent finds its things, and the variables that say so.

use crate::agents::Mode;
use camino::Utf8PathBuf;
use llm::WireProtocol;

/// Paths as the agent sees them: a box's, or the host's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentPlaces {
    /// The workspace.
    pub workspace: Utf8PathBuf,
    /// The agent's own folder.
    pub agent: Utf8PathBuf,
    /// The toolbox.
    pub toolbox: Utf8PathBuf,
    /// The Python interpreter, if there is one.
    pub python: Option<Utf8PathBuf>,
    /// The grading server.
    pub url: String,
}

/// What an agent is told about its run.
#[derive(Debug, Clone, Copy)]
pub struct RunInfo<'a> {
    /// The task.
    pub task: &'a str,
    /// The name of the base.
    pub base: &'a str,
    /// The mode.
    pub mode: Mode,
    /// The seed.
    pub seed: u64,
    /// The token.
    pub token: &'a str,
    /// The chat models; none for an agent that asks none.
    pub chat: Option<ChatAccess<'a>>,
}

/// How an agent reaches chat models: through the gateway, with the token of its run.
#[derive(Debug, Clone, Copy)]
pub struct ChatAccess<'a> {
    /// The gateway, without a path.
    pub url: &'a str,
    /// The first model.
    pub model: &'a str,
    /// How that one is spoken to.
    pub protocol: WireProtocol,
}

/// The whole environment of an agent: nothing of the host's is in it.
pub fn environment(places: &AgentPlaces, told: &RunInfo<'_>) -> Vec<(String, String)> {
    let inside = |name: &str| places.workspace.join(name).into_string();
    let bin = places.python.as_ref().and_then(|python| python.parent());
    let system = "/usr/local/bin:/usr/bin:/bin";
    let path = match bin {
        Some(bin) => format!("{}/bin:{bin}:{system}", places.toolbox),
        None => format!("{}/bin:{system}", places.toolbox),
    };
    let mut all = vec![
        ("BASE_MODEL", told.base.to_owned()),
        ("DATA_PATH", inside("data")),
        ("GRADING_SERVER_URL", places.url.clone()),
        ("GRADING_TOKEN", told.token.to_owned()),
        ("HOME", "/tmp".to_owned()),
        ("LANG", "C.UTF-8".to_owned()),
        // `rl` runs programs of policies in a jail of its own, and a box has no namespaces for it.
        ("MLE_ALLOW_TIER", "t3".to_owned()),
        ("MODE", told.mode.name().to_owned()),
        ("MODEL_PATH", inside(&format!("models/{}", told.base))),
        ("OUTPUT_DIR", inside("output")),
        ("PATH", path),
        ("PYTHONUNBUFFERED", "1".to_owned()),
        ("SEED", told.seed.to_string()),
        ("TASK", told.task.to_owned()),
        ("TMPDIR", "/tmp".to_owned()),
        ("TOOLBOX", places.toolbox.as_str().to_owned()),
        ("WORKSPACE", places.workspace.as_str().to_owned()),
    ];
    // `rl` runs programs of a policy with it.
    all.extend(places.python.iter().map(|python| ("MLE_PYTHON", python.as_str().to_owned())));
    if let Some(ChatAccess { url, model, protocol }) = told.chat {
        // As the clients of both protocols read them.
        all.extend([
            ("ANTHROPIC_API_KEY", told.token.to_owned()),
            ("ANTHROPIC_BASE_URL", url.to_owned()),
            ("CHAT_MODEL", model.to_owned()),
            ("CHAT_PROTOCOL", protocol.name().to_owned()),
            ("OPENAI_API_KEY", told.token.to_owned()),
            ("OPENAI_BASE_URL", format!("{url}/v1")),
        ]);
    }
    all.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
