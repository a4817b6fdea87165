//! FT-Agent: the loop from a proposal to a model that was scored, again and again.

use super::accept::accept;
use super::answer::refuse_repeated;
use super::check::{Check, ErrorClass, Rejection, Stage};
use super::diagnosis::Evaluated;
use super::experiment::{Experiment, ExperimentOutcome};
use super::fault::{FtFault, split};
use super::journal::{FtEvent, FtState, Journal, JournalError, OpenExperiment};
use super::plan::{Draft, Plan};
use super::planner::{Briefing, Planner, Revision};
use super::run::{make_data, train};
use super::sample::DATA;
use super::settings::Workflow;
use super::validate::{Chain, Validated, Validation};
use crate::Digest;
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use std::time::{Duration, Instant};
use tasks::files;
use tasks::stream::Stream;
use worlds::TaskSpec;

/// Where models are scored on validation. What is sealed stays behind it.
pub trait Arena {
    /// The scores of the base.
    ///
    /// # Errors
    /// [`FtFault`] if it cannot be scored.
    fn baseline(&mut self) -> Result<Evaluated, FtFault>;

    /// The scores of the model in `checkpoint`. The same model has the same scores, and is not scored
    /// again.
    ///
    /// # Errors
    /// A rejection if the model cannot be scored, within the fault if we failed.
    fn submit(
        &mut self,
        experiment: u32,
        checkpoint: &Utf8Path,
    ) -> Result<Result<Evaluated, Rejection>, FtFault>;

    /// Time that is left; `None` without a limit.
    ///
    /// # Errors
    /// [`FtFault`] if it cannot be asked.
    fn left(&mut self) -> Result<Option<Duration>, FtFault>;
}

/// What a run of FT-Agent works with.
#[derive(Debug, Clone, Copy)]
pub struct FtRun<'a> {
    /// The task.
    pub task: &'a TaskSpec,
    /// The checks, and what they need.
    pub chain: Chain<'a>,
    /// Experiments at most.
    pub loops: u32,
    /// The seed of the run.
    pub seed: u64,
    /// The hash of everything that a run is asked to be; another one is another run.
    pub asked: Digest,
    /// The folder of the run.
    pub out: &'a Utf8Path,
}

/// Why a run ended before it was over.
#[derive(Debug, thiserror::Error)]
pub enum FtRunError {
    /// We failed.
    #[error(transparent)]
    Fault(FtFault),
    /// The journal cannot be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A file could not be read or written.
    #[error("failed to read or write a file of the run")]
    Io(#[from] std::io::Error),
    /// It was asked to stop.
    #[error("the run was interrupted; start it again with the same flags, and it goes on")]
    Interrupted,
}

impl From<FtFault> for FtRunError {
    fn from(fault: FtFault) -> Self {
        match fault {
            FtFault::Interrupted => Self::Interrupted,
            fault => Self::Fault(fault),
        }
    }
}

/// Why a run without time is over.
const TIME: &str = "the time is over";

fn is_over(arena: &mut dyn Arena) -> Result<bool, FtFault> {
    Ok(arena.left()?.is_some_and(|left| left.is_zero()))
}

/// What comes next: a function of the state, so that a killed run goes on where it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Baseline,
    Propose,
    Draft,
    Validate,
    Full,
    GiveUp,
    Done,
}

fn next_step(state: &FtState, loops: u32, rounds: u32) -> Step {
    if state.over.is_some() {
        return Step::Done;
    }
    if state.baseline.is_none() {
        return Step::Baseline;
    }
    match &state.open {
        None if state.experiments.len() >= loops as usize => Step::Done,
        None => Step::Propose,
        Some(OpenExperiment { passed: true, .. }) => Step::Full,
        Some(open) if open.rejected.is_some() && open.drafts >= rounds => Step::GiveUp,
        Some(open) if open.draft.is_none() || open.rejected.is_some() => Step::Draft,
        Some(_) => Step::Validate,
    }
}

impl FtRun<'_> {
    /// Carries out the run in its folder, or goes on with it, until all experiments are made, the time is
    /// over or the planner has nothing left to try. Returns its state.
    ///
    /// # Errors
    /// [`FtRunError`].
    pub fn run(
        &self,
        planner: &mut dyn Planner,
        arena: &mut dyn Arena,
    ) -> Result<FtState, FtRunError> {
        let mut journal = Journal::open(self.out, self.task.id.as_str(), self.asked)?;
        // What has passed its checks in this process; one that was started anew makes them again.
        let mut plan = None;
        loop {
            self.chain.go_on()?;
            let rounds = self.chain.settings.limits.coder_rounds;
            let step = next_step(journal.state(), self.loops, rounds);
            if step != Step::Done && is_over(arena)? {
                journal.append(FtEvent::Over { why: TIME.to_owned() })?;
            }
            match next_step(journal.state(), self.loops, rounds) {
                Step::Baseline => {
                    let evaluated = arena.baseline()?;
                    journal.append(FtEvent::Baseline { evaluated })?;
                }
                Step::Propose => self.propose(&mut journal, planner)?,
                Step::Draft => self.draft(&mut journal, planner)?,
                Step::Validate => plan = self.validate(&mut journal, planner)?,
                Step::Full => self.full(&mut journal, planner, arena, plan.take())?,
                Step::GiveUp => {
                    let rejected = journal.state().open.as_ref().and_then(|it| it.rejected.clone());
                    if let Some((stage, rejection, _)) = rejected {
                        self.reject(&mut journal, planner, stage, rejection)?;
                    }
                }
                Step::Done => return Ok(journal.state().clone()),
            }
        }
    }

    /// The folder of an experiment.
    fn folder(&self, number: u32) -> Utf8PathBuf {
        self.out.join("experiments").join(format!("{number:03}"))
    }

    fn briefing<'b>(&'b self, state: &'b FtState, baseline: &'b Evaluated) -> Briefing<'b> {
        Briefing {
            task: self.task,
            form: self.chain.form,
            pool: self.chain.pool,
            schema: self.chain.schema,
            settings: self.chain.settings,
            teachers: self.chain.teachers,
            baseline,
            // The staged workflow has no memory.
            experiments: if self.is_staged() { &[] } else { &state.experiments },
            seed: self.seed,
        }
    }

    fn is_staged(&self) -> bool {
        self.chain.settings.workflow == Workflow::Staged
    }

    fn propose(&self, journal: &mut Journal, planner: &mut dyn Planner) -> Result<(), FtRunError> {
        let state = journal.state();
        let Some(baseline) = &state.baseline else { return Ok(()) };
        let experiment = u32::try_from(state.experiments.len()).unwrap_or(u32::MAX) + 1;
        let briefing = self.briefing(state, baseline);
        let parent = briefing.parent().map(|best| best.number);
        let earlier = briefing.experiments.iter().map(|it| (it.number, &it.proposal));
        let proposed = split(planner.propose(&briefing))?;
        let proposed = proposed.and_then(|it| refuse_repeated(&it, earlier).map(|()| it));
        match proposed {
            Ok(proposal) => {
                let folder = self.folder(experiment);
                fs::create_dir_all(&folder)?;
                files::write_json(&folder.join("proposal.json"), &proposal)?;
                journal.append(FtEvent::Proposed { experiment, parent, proposal })?;
            }
            Err(rejection) => journal.append(FtEvent::Over { why: rejection.message })?,
        }
        Ok(())
    }

    /// Has the planner write script and settings, or mend those that were rejected.
    fn draft(&self, journal: &mut Journal, planner: &mut dyn Planner) -> Result<(), FtRunError> {
        let state = journal.state();
        let (Some(baseline), Some(open)) = (&state.baseline, &state.open) else { return Ok(()) };
        let briefing = self.briefing(state, baseline);
        let folder = self.folder(open.number);
        let (script_path, config_path) =
            (folder.join("process_data.py"), folder.join("train.toml"));
        let (mut old_script, mut old_config) = (String::new(), String::new());
        if open.rejected.is_some() {
            old_script = fs::read_to_string(&script_path)?;
            old_config = fs::read_to_string(&config_path)?;
        }
        let rejected = open.rejected.as_ref();
        let revision = |text| {
            rejected.map(|(_, rejection, opinion)| Revision {
                text,
                rejection,
                opinion: opinion.as_ref(),
            })
        };
        // What was not at fault stays as it is.
        let is_config = rejected.is_some_and(|(_, it, _)| it.class == ErrorClass::Config);
        let keeps_script = open.proposal.reuse_data || is_config;
        let kept = open.parent.filter(|_| open.proposal.reuse_data);
        let mut write = || {
            let script = match kept {
                Some(parent) => fs::read_to_string(self.folder(parent).join("process_data.py"))?,
                None if keeps_script => old_script.clone(),
                None => planner.write_script(&briefing, &open.proposal, revision(&old_script))?,
            };
            let config = planner.write_config(&briefing, &open.proposal, revision(&old_config))?;
            Ok((script, config))
        };
        match split(write())? {
            Ok((script, config)) => {
                // The same draft again would fail again, and again.
                let is_same = (&script, &config) == (&old_script, &old_config);
                if let Some((stage, rejection, _)) = rejected.filter(|_| is_same).cloned() {
                    return self.reject(journal, planner, stage, rejection);
                }
                // The trainer would go on with the training of the draft before.
                let trained = folder.join("sft");
                if trained.exists() {
                    fs::remove_dir_all(trained)?;
                }
                files::write_atomic(&script_path, script.as_bytes())?;
                files::write_atomic(&config_path, config.as_bytes())?;
                let (script, config) =
                    (Digest::of(script.as_bytes()), Digest::of(config.as_bytes()));
                journal.append(FtEvent::Drafted { script, config })?;
                Ok(())
            }
            Err(rejection) => self.reject(journal, planner, Stage::Planner, rejection),
        }
    }

    /// The draft of the open experiment, from its folder.
    fn drafted(&self, open: &OpenExperiment) -> Result<Draft, FtRunError> {
        let folder = self.folder(open.number);
        Ok(Draft {
            proposal: open.proposal.clone(),
            script: fs::read_to_string(folder.join("process_data.py"))?,
            config: fs::read_to_string(folder.join("train.toml"))?,
            parent_data: open.parent.map(|parent| self.folder(parent).join(DATA)),
        })
    }

    /// Takes the draft through the checks, of which the staged workflow has none. Returns the plan if they
    /// let it pass.
    fn validate(
        &self,
        journal: &mut Journal,
        planner: &mut dyn Planner,
    ) -> Result<Option<Validated<Plan>>, FtRunError> {
        if self.is_staged() {
            journal.append(FtEvent::Checked { checks: Vec::new(), opinion: None })?;
            return Ok(None);
        }
        let state = journal.state();
        let (Some(baseline), Some(open)) = (&state.baseline, &state.open) else { return Ok(None) };
        let mini = self.folder(open.number).join("mini");
        let Validation { checks, plan } = self.chain.validate(&self.drafted(open)?, &mini)?;
        // It explains; whether it is there or not decides nothing.
        let opinion = split(planner.judge(&self.briefing(state, baseline), &checks))?.ok();
        journal.append(FtEvent::Checked { checks, opinion })?;
        Ok(plan)
    }

    /// The plan of a draft, whose checks are made again where another process made them, and not at all in
    /// the staged workflow.
    fn plan(
        &self,
        open: &OpenExperiment,
    ) -> Result<Result<Validated<Plan>, (Stage, Rejection)>, FtRunError> {
        let draft = self.drafted(open)?;
        if self.is_staged() {
            return Ok(self.chain.unchecked(&draft).map_err(|rejection| (Stage::Train, rejection)));
        }
        let validation = self.chain.validate(&draft, &self.folder(open.number).join("mini"))?;
        let rejection = validation.rejection();
        Ok(validation.plan.ok_or_else(|| rejection.expect("what did not pass was rejected")))
    }

    /// Data, training and scores of a draft that has passed its checks.
    fn full(
        &self,
        journal: &mut Journal,
        planner: &mut dyn Planner,
        arena: &mut dyn Arena,
        passed: Option<Validated<Plan>>,
    ) -> Result<(), FtRunError> {
        let Some(open) = journal.state().open.clone() else { return Ok(()) };
        let folder = self.folder(open.number);
        if open.trained.is_none() {
            let plan = match passed.map_or_else(|| self.plan(&open), |plan| Ok(Ok(plan)))? {
                Ok(plan) => plan,
                Err((stage, rejection)) => {
                    return self.fail(journal, planner, stage, rejection, 0.0);
                }
            };
            if open.data.is_none() {
                let began = Instant::now();
                let made = split(make_data(&self.chain, &plan, &folder))?;
                let seconds = began.elapsed().as_secs_f64();
                match made {
                    Ok(made) => {
                        let check = Check::of(Stage::Data, Ok(made.warnings), seconds);
                        let (data, samples) = (made.digest, made.samples);
                        journal.append(FtEvent::Made { data, samples, check })?;
                    }
                    Err(rejection) => {
                        return self.fail(journal, planner, Stage::Data, rejection, seconds);
                    }
                }
            }
            let began = Instant::now();
            let left = arena.left()?.unwrap_or(Duration::MAX);
            let trained = split(train(&self.chain, &plan, &folder, left))?;
            let seconds = began.elapsed().as_secs_f64();
            match trained {
                Ok(trained) => {
                    let check = Check::of(Stage::Train, Ok(Vec::new()), seconds);
                    let losses = trained.curve.ends();
                    let checkpoint = trained.checkpoint;
                    journal.append(FtEvent::Trained { checkpoint, losses, check })?;
                }
                Err(rejection) => {
                    return self.fail(journal, planner, Stage::Train, rejection, seconds);
                }
            }
        }
        self.evaluate(journal, planner, arena)
    }

    /// Has the model scored, and compares it with the best one.
    fn evaluate(
        &self,
        journal: &mut Journal,
        planner: &mut dyn Planner,
        arena: &mut dyn Arena,
    ) -> Result<(), FtRunError> {
        let state = journal.state();
        let (Some(baseline), Some(open)) = (&state.baseline, &state.open) else { return Ok(()) };
        let Some((checkpoint, losses)) = &open.trained else { return Ok(()) };
        let began = Instant::now();
        let submitted = match arena.submit(open.number, checkpoint) {
            // It was trained in the last minute, and comes too late.
            Err(_) if is_over(arena)? => {
                return Ok(journal.append(FtEvent::Over { why: TIME.to_owned() })?);
            }
            submitted => submitted?,
        };
        let evaluated = match submitted {
            Ok(evaluated) => evaluated,
            Err(rejection) => {
                let seconds = began.elapsed().as_secs_f64();
                return self.fail(journal, planner, Stage::Evaluate, rejection, seconds);
            }
        };
        let seconds = began.elapsed().as_secs_f64();
        let best = state.best().and_then(Experiment::evaluated).unwrap_or(baseline);
        let stream = Stream::root(self.seed).child("ft").child("accept").index(open.number.into());
        let direction = self.task.direction;
        let acceptance =
            match accept(&evaluated, best, direction, self.chain.settings.accept, stream) {
                Ok(acceptance) => acceptance,
                Err(error) => {
                    let rejection = Rejection::new(ErrorClass::Env, error.to_string());
                    return self.reject(journal, planner, Stage::Evaluate, rejection);
                }
            };
        files::write_json(&self.folder(open.number).join("val.json"), &evaluated)?;
        let outcome = ExperimentOutcome::Evaluated {
            evaluated: Box::new(evaluated),
            acceptance,
            losses: *losses,
        };
        let check = Check::of(Stage::Evaluate, Ok(Vec::new()), seconds);
        self.end(journal, planner, outcome, check)
    }

    /// A full run has failed: of a draft that had passed its checks it ends the experiment. In the staged
    /// workflow the draft goes back to the planner.
    fn fail(
        &self,
        journal: &mut Journal,
        planner: &mut dyn Planner,
        stage: Stage,
        rejection: Rejection,
        seconds: f64,
    ) -> Result<(), FtRunError> {
        if !self.is_staged() {
            return self.reject(journal, planner, stage, rejection);
        }
        let checks = vec![Check::of(stage, Err(rejection), seconds)];
        Ok(journal.append(FtEvent::Checked { checks, opinion: None })?)
    }

    fn reject(
        &self,
        journal: &mut Journal,
        planner: &mut dyn Planner,
        stage: Stage,
        rejection: Rejection,
    ) -> Result<(), FtRunError> {
        let Rejection { class, message } = rejection.clone();
        let outcome = ExperimentOutcome::Rejected { stage, class, message };
        self.end(journal, planner, outcome, Check::of(stage, Err(rejection), 0.0))
    }

    /// Writes down how the open experiment ended, with what the planner thinks of it.
    fn end(
        &self,
        journal: &mut Journal,
        planner: &mut dyn Planner,
        outcome: ExperimentOutcome,
        check: Check,
    ) -> Result<(), FtRunError> {
        let state = journal.state();
        let (Some(baseline), Some(open)) = (&state.baseline, &state.open) else { return Ok(()) };
        let mut checks = open.checks.clone();
        if checks.last().and_then(Check::rejection) != check.rejection()
            || check.rejection().is_none()
        {
            checks.push(check);
        }
        let mut experiment = Experiment {
            number: open.number,
            parent: open.parent,
            proposal: open.proposal.clone(),
            digests: open.draft,
            checks,
            outcome,
            diagnosis: None,
        };
        let diagnosed = planner.diagnose(&self.briefing(state, baseline), &experiment);
        experiment.diagnosis = split(diagnosed)?.ok();
        Ok(journal.append(FtEvent::Ended(Box::new(experiment)))?)
    }
}

#[cfg(test)]
mod tests {
    use super::super::diagnosis::tests::evaluated;
    use super::super::proposal::tests::proposal;
    use super::*;

    #[test]
    fn steps_follow_from_the_state_alone() {
        use Step::{Baseline, Done, Draft, Full, GiveUp, Propose, Validate};
        let mut state = FtState::default();
        let mut steps = Vec::new();
        let digest = Digest::of(b"a");
        let rejected = Check::of(Stage::Debug, Err(Rejection::new(ErrorClass::Data, "no")), 0.0);
        let drafted = || FtEvent::Drafted { script: digest, config: digest };
        let failed = || FtEvent::Checked { checks: vec![rejected.clone()], opinion: None };
        for event in [
            FtEvent::Baseline { evaluated: evaluated(&[0.0], "wrong") },
            FtEvent::Proposed { experiment: 1, parent: None, proposal: proposal() },
            drafted(),
            failed(),
            drafted(),
            FtEvent::Checked { checks: Vec::new(), opinion: None },
        ] {
            steps.push(next_step(&state, 1, 2));
            state.apply(event);
        }
        assert_eq!(steps, [Baseline, Propose, Draft, Validate, Draft, Validate]);
        assert_eq!(next_step(&state, 1, 2), Full);
        state.apply(failed());
        assert_eq!(next_step(&state, 1, 2), GiveUp);
        state.over = Some("time".into());
        assert_eq!(next_step(&state, 1, 2), Done);
    }
}
