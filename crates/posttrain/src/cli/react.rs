//! `posttrain react`: the agent `react`, in its box.

use super::client::ask;
use super::{UsageError, exit, output};
use anyhow::{Context as _, Result};
use camino::Utf8PathBuf;
use clap::Args;
use fs_err as fs;
use llm::{ChatClient, ChatError, Endpoints};
use posttrain::react::{Briefing, ReactEnd, ReactLimits, Session, Transcript, Turn, Workbench};
use serde_json::Value;

#[derive(Debug, Args)]
pub(super) struct ReactArgs {
    /// The chat model.
    #[arg(long, env = "CHAT_MODEL")]
    model: Option<String>,
    /// The protocol that it speaks: `openai` or `anthropic`, whose `BASE_URL` and `API_KEY` are in the
    /// environment.
    #[arg(long, env = "CHAT_PROTOCOL", default_value = "openai")]
    protocol: String,
    /// Answers of the model, at most.
    #[arg(long, value_name = "COUNT", default_value_t = ReactLimits::default().turns)]
    turns: u64,
    /// Tokens read and written, at most; default: what the gateway allows.
    #[arg(long, value_name = "COUNT")]
    tokens: Option<u64>,
    /// Tokens of one answer, thoughts included.
    #[arg(long, value_name = "COUNT", default_value_t = ReactLimits::default().answer)]
    answer_tokens: u32,
    /// Tokens of a conversation, at four characters each; beyond it the oldest results of tools are left
    /// out.
    #[arg(long, value_name = "COUNT", default_value_t = ReactLimits::default().context)]
    context_tokens: usize,
    /// The workspace.
    #[arg(long, value_name = "DIR", env = "WORKSPACE")]
    workspace: Option<Utf8PathBuf>,
    /// The grading server.
    #[arg(long, env = "GRADING_SERVER_URL", default_value = "http://127.0.0.1:5000")]
    url: String,
    /// The token of the run. Better given in the environment.
    #[arg(long, env = "GRADING_TOKEN", hide_env_values = true)]
    token: Option<String>,
}

pub(super) fn react(args: &ReactArgs) -> Result<u8> {
    let missing = |what: &str| UsageError(format!("{what}; an agent of `posttrain run` has it"));
    let model = args.model.as_ref().ok_or_else(|| missing("set CHAT_MODEL, or give --model"))?;
    let workspace =
        args.workspace.as_ref().ok_or_else(|| missing("set WORKSPACE, or give --workspace"))?;
    let token = args.token.as_ref().ok_or_else(|| missing("set GRADING_TOKEN, or give --token"))?;
    let limits = ReactLimits {
        turns: args.turns,
        tokens: args.tokens,
        answer: args.answer_tokens,
        context: args.context_tokens,
    };
    let endpoints = Endpoints::builtin();
    let name = format!("{}:{model}", args.protocol);
    let (endpoint, model) =
        endpoints.resolve(&name).map_err(|error| UsageError(error.to_string()))?;
    let client = ChatClient::new(endpoint, None).map_err(|error| UsageError(error.to_string()))?;

    let reports = workspace.join("reports");
    fs::create_dir_all(&reports)?;
    let transcript = Transcript::open(&reports.join("transcript.jsonl"))?;
    let briefing = Briefing::read(workspace, &limits)?;
    // A grade takes as long as it takes.
    let server = |path: &str, body: Option<&Value>| {
        ask(&args.url, token, path, body, None)
            .map(|(_, answer)| answer)
            .map_err(|error| format!("{error:#}"))
    };
    let bench = Workbench { folder: workspace.join("code"), server: &server };
    let session = Session::new((client, model.to_owned()), briefing, limits, bench, transcript);
    let ended = session.work(show).context("failed to write the transcript")?;
    let (code, how) = match ended {
        ReactEnd::Finished(summary) => {
            let file = reports.join("summary.md");
            // Its own report, if it wrote one, says more.
            if !file.exists() {
                fs::write(&file, summary + "\n")?;
            }
            (exit::SUCCESS, "the model finished".to_owned())
        }
        ReactEnd::Turns => (exit::SUCCESS, format!("all {} turns are used up", limits.turns)),
        ReactEnd::Tokens => (exit::SUCCESS, "all tokens are used up".to_owned()),
        ReactEnd::Unreadable => (
            exit::FAULT,
            "the model answers with what cannot be read; see the transcript".to_owned(),
        ),
        // A cap of the run; other refusals of this status are repeated.
        ReactEnd::Model(ChatError::Rejected { status: 429, said }) => (exit::SUCCESS, said),
        ReactEnd::Model(error) => (
            exit::FAULT,
            format!("the model cannot be asked any more: {:#}", anyhow::Error::new(error)),
        ),
    };
    output::line(&format!("end: {how}"))?;
    Ok(code)
}

/// A turn, for the log of the run.
fn show(turn: &Turn) {
    let tool = turn.tool.as_deref().unwrap_or("unreadable");
    output::note(&format!("--- turn {}, {tool}, {} tokens", turn.turn, turn.tokens));
    output::note(&turn.answer);
    output::note(&turn.observation);
}
