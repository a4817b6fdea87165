//! `agents guide replay`: a recorded conversation, told again through a server.

use super::config;
use crate::cli::GuideReplayArgs;
use crate::{complain, say};
use agents::guide::replay::{Replay, ReplayPace};
use agents::guide::serve::{GuideServer, GuideServerConfig};
use anyhow::{Context as _, Result};
use camino::Utf8Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tasks::text::with_causes;
use tasks::units::Span;

pub(super) fn replay(args: &GuideReplayArgs) -> Result<ExitCode> {
    let replay = Replay::read(&args.store, &args.id)?;
    let pace = ReplayPace { speed: args.speed.0, longest_pause: args.longest_pause.0 };
    let folder = tempfile::tempdir().context("failed to make a folder for the replay")?;
    let store =
        Utf8Path::from_path(folder.path()).context("the path of temporary files is no text")?;
    replay.prepare(store)?;
    let told_at = GuideServerConfig {
        store: store.to_owned(),
        is_replay: true,
        ..config(&args.at, &args.store)
    };
    let server = GuideServer::bind(&told_at)?;
    say(&format!("guide server at http://{}", server.address()));
    let takes = Span(Duration::from_secs(replay.takes(pace).as_secs() + 1));
    let events = replay.events();
    complain(&format!("replays {events} events in at most {takes}; the server is read-only"));
    let (store, is_over) = (server.store().clone(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| match replay.tell(&store, pace, &|| is_over.load(Ordering::Relaxed)) {
            Ok(true) => complain("the replay is complete; Ctrl-C ends the server"),
            Ok(false) => (),
            Err(error) => complain(&format!("the replay ends early: {}", with_causes(&error))),
        });
        let served = server.run();
        is_over.store(true, Ordering::Relaxed);
        served
    })?;
    Ok(ExitCode::SUCCESS)
}
