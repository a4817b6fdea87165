//! `agents guide verdicts` and `agents guide export`.

use crate::cli::{GuideExportArgs, GuideVerdictsArgs};
use crate::run::sandbox_options;
use crate::{INTERRUPTED, complain, say, stop_on_signal};
use agents::guide::event::{TurnPart, Verdict};
use agents::guide::export::{
    ContextCounts, ExportError, ExportSettings, Exported, Manifest, PlaysAgain, SampleContext,
    WorldAgain, export,
};
use agents::guide::ids::ConversationId;
use agents::guide::store::list_conversations;
use agents::guide::transcript::Transcript;
use agents::guide::verdicts::{
    Funnel, Trained, VerdictRecord, VerdictSource, Verdicts, read_judged,
};
use agents::linear::again::{RecordedRuns, RunsAgain};
use agents::run::python::PythonFacts;
use agents::run::weights::PretrainedWeights;
use agents::scaffold::react::{EpisodeRules, MleWorld};
use anyhow::{Context as _, Result, bail};
use camino::Utf8Path;
use sandbox::env::TaskSuite;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::process::ExitCode;
use tasks::files;
use tasks::task::{Collection, Opening};
use tasks::text::one_line;

pub(crate) fn verdicts(args: &GuideVerdictsArgs) -> Result<ExitCode> {
    let ids = match &args.id {
        Some(id) => vec![id.clone()],
        None => list_conversations(&args.store)?,
    };
    let (mut funnel, mut lines) = (Funnel::default(), Vec::new());
    for id in &ids {
        let (transcript, verdicts) = verdicts_of(&args.store, id)?;
        if args.id.is_some() {
            for turn in 0..transcript.count() {
                say(&turn_line(&transcript, &verdicts, turn));
            }
        } else {
            say(&conversation_line(&transcript, &verdicts));
        }
        funnel.add(&transcript.id, &verdicts, transcript.count());
        for record in verdicts.records() {
            serde_json::to_writer(&mut lines, record)?;
            lines.push(b'\n');
        }
    }
    say(&funnel_text(&funnel));
    if let Some(out) = &args.out {
        files::write_atomic(out, &lines)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A conversation, and all verdicts on it.
fn verdicts_of(store: &Utf8Path, id: &ConversationId) -> Result<(Transcript, Verdicts)> {
    let transcript = Transcript::read(store, id)?;
    let verdicts = Verdicts::of(&transcript, read_judged(store, id)?);
    Ok((transcript, verdicts))
}

fn conversation_line(transcript: &Transcript, verdicts: &Verdicts) -> String {
    let kept =
        (0..transcript.count()).filter(|turn| verdicts.trained(*turn) != Trained::Nothing).count();
    let opening = &transcript.opening;
    format!(
        "{}  {} by {} (attempt {}): {kept} of {} turns kept",
        transcript.id,
        opening.task,
        one_line(&opening.agent),
        opening.attempt,
        transcript.count()
    )
}

/// A turn with what counts, and with what does not count.
fn turn_line(transcript: &Transcript, verdicts: &Verdicts, turn: u32) -> String {
    let kept = match verdicts.trained(turn) {
        Trained::Whole => "keep",
        Trained::Thought => "keep the thought",
        Trained::Action => "keep the action",
        Trained::Nothing => "drop",
    };
    let decides = verdicts.effective(turn, TurnPart::Action).by;
    let said = |record: &VerdictRecord| {
        let by = match &record.by {
            VerdictSource::Rule(rule) => format!("rule {}", rule.name()),
            VerdictSource::Judge(model) => format!("judge {}", one_line(model)),
            VerdictSource::Person(name) => one_line(name).into_owned(),
        };
        let verdict = match record.verdict {
            Verdict::Keep => "keep",
            Verdict::Drop => "drop",
            Verdict::Undecided => "undecided",
        };
        let part = match record.part {
            TurnPart::Turn => "",
            TurnPart::Thought => " of the thought",
            TurnPart::Action => " of the action",
        };
        let marked = if Some(record) == decides { " (counts)" } else { "" };
        let reason = one_line(&record.reason);
        let reason = if reason.is_empty() { String::new() } else { format!(": {reason}") };
        format!("\n    {by}: {verdict}{part}{marked}{reason}")
    };
    let tool = transcript.turns[turn as usize].report.record.tool.name();
    let all = verdicts.records().iter().filter(|record| record.turn == turn).map(said);
    format!("turn {turn}  {tool}: {kept}{}", all.collect::<String>())
}

fn counts(counts: &BTreeMap<String, u64>) -> String {
    let counts: Vec<String> =
        counts.iter().map(|(name, count)| format!("{name} {count}")).collect();
    if counts.is_empty() { "none".to_owned() } else { counts.join(", ") }
}

fn funnel_text(funnel: &Funnel) -> String {
    let agreement = match funnel.agreement.kappa() {
        Some(kappa) => format!("kappa {kappa:.2} over {} turns", funnel.agreement.turns()),
        None => format!("cannot be said of {} turns", funnel.agreement.turns()),
    };
    format!(
        "turns: {}, kept: {}, kept in part: {}\ndropped by: {}\nfound by rules: {}\njudged by people: \
         {}, by a judge: {}, undecided: {}\nagreement of people with rules and judge: {agreement}",
        funnel.turns,
        funnel.kept,
        funnel.kept_in_part,
        counts(&funnel.dropped_by),
        counts(&funnel.found_by_rule),
        funnel.judged_by_people,
        funnel.judged,
        funnel.undecided,
    )
}

pub(crate) fn export_samples(args: &GuideExportArgs) -> Result<ExitCode> {
    let settings = ExportSettings {
        context: args.context.into(),
        guidance_dropout: args.guidance_dropout,
        masked: !args.unmasked,
        thoughts: !args.no_thoughts,
        once: !args.every_view,
        tier: args.tier.map(Into::into),
        seed: args.seed,
    };
    let exported = match (settings.context, &args.tasks) {
        (SampleContext::Excise, Some(tasks)) => match excise(args, tasks, &settings)? {
            Some(exported) => exported,
            None => return Ok(ExitCode::from(INTERRUPTED)),
        },
        _ => export(&args.store, &settings, None)?,
    };
    exported.write(&args.out)?;
    say(&manifest_text(&exported.manifest));
    complain(&format!("samples are in `{}`", args.out));
    Ok(ExitCode::SUCCESS)
}

/// The samples with dropped turns cut out; `None` if it was interrupted.
fn excise(
    args: &GuideExportArgs,
    tasks: &Utf8Path,
    settings: &ExportSettings,
) -> Result<Option<Exported>> {
    if let Some(path) = &args.rules {
        return excise_by_rules(args, tasks, path, settings);
    }
    let runs = RecordedRuns::read(&args.runs)?;
    if runs.count() == 0 {
        bail!(
            "no run in `--runs` is one that people could advise; name the folders of guided runs"
        );
    }
    let stop = stop_on_signal()?;
    let weights = args.weights.as_deref().map(PretrainedWeights::of).transpose();
    let weights = weights.context("failed to read the pretrained weights")?;
    let collection = Collection::open(tasks, &Opening::default())?;
    let options = sandbox_options(&collection, 1, args.weights.as_deref());
    let suite = TaskSuite::start(collection, options)?;
    let python = PythonFacts::ask(suite.sandbox())?;
    let again = RunsAgain {
        runs: &runs,
        suite: &suite,
        python: &python,
        weights: weights.as_ref(),
        stop: &stop,
    };
    let again: &dyn PlaysAgain = &again;
    match export(&args.store, settings, Some(again)) {
        Err(ExportError::Fault(_)) if stop.is_asked() => Ok(None),
        exported => Ok(Some(exported?)),
    }
}

/// The settings of a run of `rl`, as far as they matter here.
#[derive(Debug, Deserialize)]
struct RulesFile {
    rules: EpisodeRules,
}

/// The same of episodes that `rl` played by these rules.
fn excise_by_rules(
    args: &GuideExportArgs,
    tasks: &Utf8Path,
    path: &Utf8Path,
    settings: &ExportSettings,
) -> Result<Option<Exported>> {
    let text = fs_err::read_to_string(path)?;
    let RulesFile { rules } = toml::from_str(&text).with_context(|| {
        format!("`{path}` has no rules of episodes, as a `settings.toml` of `rl` has")
    })?;
    let stop = stop_on_signal()?;
    let collection = Collection::open(tasks, &Opening::default())?;
    let options = sandbox_options(&collection, 1, None);
    let suite = TaskSuite::start(collection, options)?;
    let world = MleWorld { suite: &suite, rules: &rules };
    match export(&args.store, settings, Some(&WorldAgain(&world))) {
        Err(ExportError::Fault(_)) if stop.is_asked() => Ok(None),
        exported => Ok(Some(exported?)),
    }
}

fn manifest_text(manifest: &Manifest) -> String {
    let ContextCounts {
        keep,
        quiet_with_advice,
        quiet_without_advice,
        excise_as_recorded,
        excise_confirmed,
        excise_fell_back,
    } = &manifest.contexts;
    format!(
        "conversations: {}, samples: {}, left out: {}\ncontexts: keep {keep}, quiet with advice \
         {quiet_with_advice}, quiet without {quiet_without_advice}, excised and confirmed \
         {excise_confirmed}, excised with nothing to cut {excise_as_recorded}, not confirmed: {}\nturns \
         trained on: {}, in part: {}, context: {}, cut: {}\n{}",
        manifest.conversations,
        manifest.samples,
        counts(&manifest.left_out),
        counts(excise_fell_back),
        manifest.turns.whole,
        manifest.turns.in_part,
        manifest.turns.nothing,
        manifest.turns.cut,
        funnel_text(&manifest.verdicts),
    )
}
