//! `agents guide`, and where guided runs get their channel.

mod judge;
mod replay;
mod samples;

use crate::cli::{
    GuideCommand, GuidePersonArgs, GuideServeArgs, GuideServerArgs, GuideShowArgs, GuideTokenArgs,
    RunArgs,
};
use crate::{complain, say, stop_on_signal};
use agents::guide::annotators::add_annotator;
use agents::guide::conversation::Conversation;
use agents::guide::guidance::PostedGuidance;
use agents::guide::person::{PersonRules, RemotePerson, RemoteReport};
use agents::guide::serve::{GuideServer, GuideServerConfig};
use agents::guide::source::{RunGuide, server_address};
use agents::guide::store::{list_conversations, read_conversation};
use agents::run::journal::Blobs;
use anyhow::Result;
use camino::Utf8Path;
use std::fmt::Write as _;
use std::process::ExitCode;
use tasks::text::{one_line, printable};

/// Characters of a text that `show` shows of turns.
const SHOWN: usize = 2000;

pub(crate) fn guide(command: &GuideCommand) -> Result<ExitCode> {
    match command {
        GuideCommand::Serve(args) => serve(args),
        GuideCommand::Token(args) => token(args),
        GuideCommand::Show(args) => show(args),
        GuideCommand::Verdicts(args) => samples::verdicts(args),
        GuideCommand::Judge(args) => judge::judge(args),
        GuideCommand::Export(args) => samples::export_samples(args),
        GuideCommand::Replay(args) => replay::replay(args),
        GuideCommand::Person(args) => person(args),
    }
}

fn serve(args: &GuideServeArgs) -> Result<ExitCode> {
    let config = config(&args.at, &args.store);
    let server = GuideServer::bind(&config)?;
    say(&format!("guide server at http://{}", server.address()));
    if config.annotators.is_none() {
        complain("whoever reaches this address may do everything; tokens: `agents guide token`");
    }
    server.run()?;
    Ok(ExitCode::SUCCESS)
}

/// Settings of a server for a store, with the store's list of who may do what unless another is named.
fn config(at: &GuideServerArgs, store: &Utf8Path) -> GuideServerConfig {
    let usual = store.join("annotators.toml");
    GuideServerConfig {
        store: store.to_owned(),
        listen: at.listen,
        annotators: at.annotators.clone().or_else(|| usual.is_file().then_some(usual)),
        public_url: at.public_url.clone(),
        is_replay: false,
    }
}

fn token(args: &GuideTokenArgs) -> Result<ExitCode> {
    let path = match (&args.annotators, &args.store) {
        (Some(path), _) => path.clone(),
        (None, Some(store)) => {
            fs_err::create_dir_all(store)?;
            store.join("annotators.toml")
        }
        (None, None) => unreachable!("one of them is required"),
    };
    let secret = add_annotator(&path, &args.name, args.role)?;
    complain(&format!(
        "`{}` is {} in `{path}`; this token is shown once:",
        args.name,
        args.role.name()
    ));
    say(&secret);
    Ok(ExitCode::SUCCESS)
}

fn person(args: &GuidePersonArgs) -> Result<ExitCode> {
    let address = server_address(&args.url, args.guide_token.as_deref())?;
    let rules = PersonRules::from_file(&args.rules)?;
    let stop = stop_on_signal()?;
    let mut person = RemotePerson::new(address, rules);
    let report = person.watch(args.until_over, &|| stop.is_asked())?;
    let RemoteReport { runs, turns, posted, late } = report;
    say(&format!("runs: {runs}, turns read: {turns}, pieces posted: {posted}, too late: {late}"));
    Ok(ExitCode::SUCCESS)
}

fn show(args: &GuideShowArgs) -> Result<ExitCode> {
    if let Some(id) = &args.id {
        let (conversation, blobs) = read_conversation(&args.store, id)?;
        say(&shown(&conversation, &blobs)?);
        return Ok(ExitCode::SUCCESS);
    }
    for id in list_conversations(&args.store)? {
        let (conversation, _) = read_conversation(&args.store, &id)?;
        say(&headline(&conversation));
    }
    Ok(ExitCode::SUCCESS)
}

fn headline(conversation: &Conversation) -> String {
    let line = conversation.headline();
    format!(
        "{}  {} by {} (attempt {}): {}, {} of {} turns, {} pieces of guidance, {} waiting",
        line.id,
        line.task,
        one_line(&line.agent),
        line.attempt,
        line.state.name(),
        line.turns,
        line.budget,
        line.guidance,
        line.queued,
    )
}

/// A conversation for a terminal.
fn shown(conversation: &Conversation, blobs: &Blobs) -> Result<String> {
    let mut text = headline(conversation);
    let say_piece = |text: &mut String, piece: &PostedGuidance| {
        let about = piece.what.about.map(|turn| format!(", about turn {turn}")).unwrap_or_default();
        let (by, state) = (one_line(&piece.by), piece.state.name());
        let _ = write!(text, "\n\n[{by}, {state}{about}]\n{}", printable(&piece.what.text));
    };
    let mut told = std::collections::BTreeSet::new();
    for turn in conversation.turns.all() {
        for seq in conversation.heard.get(&turn.turn).into_iter().flatten() {
            if let Some(piece) = conversation.guidance.get(seq) {
                say_piece(&mut text, piece);
                told.insert(*seq);
            }
        }
        let _ = write!(text, "\n\n--- turn {}: {}", turn.turn, turn.headline());
        for part in [Some(&turn.thought), Some(&turn.action), turn.observation.as_ref()] {
            let Some(part) = part else { continue };
            let part = part.read(blobs)?;
            if !part.trim().is_empty() {
                let _ = write!(text, "\n{}", printable(&cut(part.trim())));
            }
        }
    }
    for (seq, piece) in &conversation.guidance {
        if !told.contains(seq) {
            say_piece(&mut text, piece);
        }
    }
    if let Some(end) = &conversation.end {
        let result = match (&end.grade, &end.refusal) {
            (Some(grade), _) => format!("score {}", grade.score),
            (None, refusal) => refusal.clone().unwrap_or_else(|| "no grade".to_owned()),
        };
        let _ = write!(text, "\n\nover ({}): {}", one_line(&end.ending), one_line(&result));
    }
    Ok(text)
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}\n[{} more bytes]", &text[..at], text.len() - at),
    }
}

/// Where the run of a command gets its channel, as the flags of `agents run` name it.
pub(crate) fn open_guide(args: &RunArgs) -> Result<RunGuide> {
    let Some(place) = &args.guide else { return Ok(RunGuide::Unguided) };
    let (token, person) = (args.guide_token.as_deref(), args.person.as_deref());
    Ok(RunGuide::open(place, token, person, args.on_lost)?)
}
