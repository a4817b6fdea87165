//! `agents guide judge`.

use crate::cli::GuideJudgeArgs;
use crate::players::Players;
use crate::{complain, say};
use agents::guide::judge::{Judge, JudgeReport, WindowLimits};
use agents::guide::store::list_conversations;
use agents::guide::transcript::Transcript;
use agents::guide::verdicts::JudgedFile;
use anyhow::{Context as _, Result, bail};
use std::process::ExitCode;

pub(crate) fn judge(args: &GuideJudgeArgs) -> Result<ExitCode> {
    let ids = match &args.id {
        Some(id) => vec![id.clone()],
        None => list_conversations(&args.store)?,
    };
    let players = Players::open(&args.model_args(), None, &args.store)?;
    let Some((chat, name)) = players.chat() else {
        bail!("a judge is a chat model, and `{}` is none; name one as `ENDPOINT:NAME`", args.model);
    };
    let judge = Judge { model: &**chat, name, limits: WindowLimits::default() };
    let mut all = JudgeReport::default();
    for id in ids {
        let transcript = Transcript::read(&args.store, &id)?;
        if transcript.end.is_none() {
            complain(&format!("{id} is not over, and is passed over"));
            continue;
        }
        let (mut file, known) = JudgedFile::open(&args.store, &id)?;
        let report = judge
            .judge(&transcript, &known, &mut |records| file.append(records))
            .with_context(|| format!("failed to judge `{id}`; the same command goes on"))?;
        let JudgeReport { kept, dropped, undecided, .. } = report;
        say(&format!("{id}: {kept} kept, {dropped} dropped, {undecided} undecided"));
        all += report;
    }
    let JudgeReport { kept, dropped, undecided, questions } = all;
    say(&format!(
        "in all: {kept} kept, {dropped} dropped, {undecided} undecided, with {questions} questions"
    ));
    complain(&format!("done{}", players.spent()));
    Ok(ExitCode::SUCCESS)
}
