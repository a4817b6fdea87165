//! A player of `AutoMind` that needs no model: a scripted engineer, for tests and for experiments on
//! knowledge and on coding.
//!
//! It answers every job from the prompt alone. It knows how to code four plain recipes and the
//! snippet of any card that a prompt shows, and not when to use them: without a card it plans a plain
//! recipe and varies it; with one it plans that card. Its plans carry all that is needed to code them.

mod drawn;
mod reading;
mod retriever;
mod scores;
mod skeleton;
mod slip;
mod spec;

use super::answer::{
    ChangedPlan, CompatibleVerdict, ComplexityScore, DetailedPlan, DetailedStep, DraftedPlan,
    MethodModule, MethodModules, PlanCheck, PlanStep, PlanSteps, RunVerdict, TrickVerdict, written,
};
use super::complexity::by_rules;
use super::prompt::title;
use crate::fence::{fenced, walk};
use crate::knowledge::{Slot, Snippet};
use crate::run::job::AutoMindJob;
use crate::run::player::{Answer, Ask, Asked, Player, PlayerFault};
use rand::seq::IndexedRandom as _;
use rand::{Rng, RngExt as _};
use reading::{ReadPrompt, Reading};
use serde::{Deserialize, Serialize};
use skeleton::PARTS;
use spec::{PlainModel, PlannedCard, Spec};
use tasks::stream::Stream;

/// Most lines that a plan may name.
const MOST_LINES: u32 = 1000;

/// How good a scripted engineer is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EngineerSkill {
    /// Chance that a line is broken when it is written. Default: 0.002.
    pub slip: f64,
    /// Chance that it repairs what a traceback names. Default: 0.7.
    pub fix: f64,
    /// Share of cards that it ignores. Default: 0.
    pub deaf: f64,
    /// Least lines of a script that can be broken, the first and the last number that a plan may
    /// name: it then looks at the table until there are so many, and calls a plan the harder to
    /// code the more there are. Default: as many as its recipes have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<(u32, u32)>,
}

impl Default for EngineerSkill {
    fn default() -> Self {
        Self { slip: 0.002, fix: 0.7, deaf: 0.0, lines: None }
    }
}

/// Settings of a scripted engineer that are not understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a skill of the engineer; give `slip=`, `fix=` or `deaf=` with a number in [0, 1], or \
     `lines=` with the fewest and the most, such as `lines=20-120`"
)]
pub struct UnknownSkill(String);

impl EngineerSkill {
    /// The skill that a text such as `slip=0.01,deaf=0.5` states; what it leaves out has its default.
    ///
    /// # Errors
    /// [`UnknownSkill`].
    ///
    /// # Examples
    /// ```rust
    /// use agents::automind::engineer::EngineerSkill;
    ///
    /// let skill = EngineerSkill::from_text("slip=0.01,fix=1")?;
    /// assert_eq!((skill.slip, skill.fix, skill.deaf), (0.01, 1.0, 0.0));
    /// assert!(EngineerSkill::from_text("slip=2").is_err());
    /// # Ok::<(), agents::automind::engineer::UnknownSkill>(())
    /// ```
    pub fn from_text(text: &str) -> Result<Self, UnknownSkill> {
        let mut skill = Self::default();
        for part in text.split(',').filter(|part| !part.is_empty()) {
            let unknown = || UnknownSkill(part.to_owned());
            let (name, value) = part.split_once('=').ok_or_else(unknown)?;
            if name == "lines" {
                let (least, most) = value.split_once('-').unwrap_or((value, value));
                let number = |text: &str| text.parse::<u32>().map_err(|_| unknown());
                let (least, most) = (number(least)?, number(most)?);
                if least > most || most > MOST_LINES {
                    return Err(unknown());
                }
                skill.lines = Some((least, most));
                continue;
            }
            let value: f64 = value.parse().map_err(|_| unknown())?;
            if !(0.0..=1.0).contains(&value) {
                return Err(unknown());
            }
            match name {
                "slip" => skill.slip = value,
                "fix" => skill.fix = value,
                "deaf" => skill.deaf = value,
                _ => return Err(unknown()),
            }
        }
        Ok(skill)
    }
}

/// A plain script with a snippet in its place, for a task with this description whose metric is better
/// the higher it is, or the lower; `None` where scripts for such a task have no place for it. It writes
/// what every script of the engineer writes.
pub fn script_with(description: &str, higher: bool, snippet: &Snippet) -> Option<String> {
    let reading = Reading::of_page(description, higher);
    reading.takes(snippet.slot).then(|| {
        let mut spec = Spec::plain(PlainModel::Line);
        let Snippet { slot, code } = snippet.clone();
        spec.take(PlannedCard { id: slot.name().to_owned(), slot, code });
        skeleton::parts(&spec, &reading).concat()
    })
}

/// A scripted engineer. Its draws depend on the seed, the task's page, the node and the question.
#[derive(Debug, Clone, Copy)]
pub struct Engineer {
    stream: Stream,
    skill: EngineerSkill,
}

impl Engineer {
    /// An engineer of some skill.
    pub fn new(seed: u64, skill: EngineerSkill) -> Self {
        Self { stream: Stream::root(seed).child("engineer"), skill }
    }

    /// Whether it ignores a card, whatever the prompt.
    fn is_deaf_to(&self, id: &str) -> bool {
        self.stream.child("deaf").child(id).rng().random::<f64>() < self.skill.deaf
    }

    /// The card that a prompt shows, if it can be planned.
    fn card(&self, prompt: &ReadPrompt) -> Option<PlannedCard> {
        let head = prompt.section(title::TRICK);
        let card = PlannedCard {
            id: head
                .lines()
                .find_map(|line| line.strip_prefix("Trick `")?.split('`').next())?
                .to_owned(),
            slot: Slot::from_name(
                head.lines().find_map(|line| line.strip_prefix("Slot of its code: "))?.trim(),
            )?,
            code: prompt.section(title::TRICK_CODE).to_owned(),
        };
        let fits = prompt.reading.takes(card.slot) && !card.code.trim().is_empty();
        (fits && !self.is_deaf_to(&card.id)).then_some(card)
    }

    /// One of the cards that a draft is shown.
    fn shown_card(&self, prompt: &ReadPrompt, rng: &mut impl Rng) -> Option<PlannedCard> {
        let (mut heads, mut codes) = (Vec::new(), Vec::<String>::new());
        let (mut id, mut slot) = (None, None);
        walk(prompt.section(title::TRICKS), |line, block| {
            if let Some(block) = block {
                if codes.len() <= block {
                    codes.resize(block + 1, String::new());
                    heads.push((id.take(), slot.take()));
                }
                codes[block].push_str(line);
                codes[block].push('\n');
                return;
            }
            if let Some(head) = line.strip_prefix("Trick `") {
                id = head.split('`').next().map(str::to_owned);
                slot = None;
            }
            if let Some(name) = line.strip_prefix("Slot of its code: ") {
                slot = Slot::from_name(name.trim());
            }
        });
        let cards: Vec<PlannedCard> = heads
            .into_iter()
            .zip(codes)
            .filter_map(|((id, slot), code)| Some(PlannedCard { id: id?, slot: slot?, code }))
            .filter(|card| prompt.reading.takes(card.slot) && !self.is_deaf_to(&card.id))
            .collect();
        cards.choose(rng).cloned()
    }

    /// A plan from the task alone: the plain recipe that was planned least so far.
    fn draft(&self, prompt: &ReadPrompt, rng: &mut impl Rng) -> Spec {
        let memory = prompt.section(title::MEMORY);
        let tried =
            |model: &PlainModel| memory.matches(&*format!("model={} ", model.name())).count();
        let least = PlainModel::ALL.iter().map(tried).min().unwrap_or(0);
        let open: Vec<PlainModel> =
            PlainModel::ALL.into_iter().filter(|model| tried(model) == least).collect();
        let mut spec = Spec::plain(open.choose(rng).copied().unwrap_or(PlainModel::Line));
        if least > 0 {
            spec.vary(rng);
        }
        spec.lines = self.skill.lines.map(|(least, most)| rng.random_range(least..=most));
        if let Some(card) = self.shown_card(prompt, rng) {
            spec.take(card);
        }
        spec
    }

    fn improved(&self, prompt: &ReadPrompt, rng: &mut impl Rng) -> Spec {
        let card = self.card(prompt).filter(|_| prompt.job == AutoMindJob::ImproveWith);
        improvement(planned(prompt), card, rng)
    }

    /// A plan that repairs what the output names; else one that does without the last card, or takes
    /// another way.
    fn debugged(prompt: &ReadPrompt, rng: &mut impl Rng) -> Spec {
        let mut spec = planned(prompt);
        match slip::named(prompt.section(title::OUTPUT), prompt.section(title::CODE)) {
            Some(name) => spec.repairs.push(name),
            None if spec.cards.pop().is_some() => {}
            None => spec.vary(rng),
        }
        spec
    }

    /// The code that `prompt` asks for: as the plan says, or the code that is shown, repaired.
    fn script(&self, prompt: &ReadPrompt, rng: &mut impl Rng) -> String {
        let spec = planned(prompt);
        let shown = prompt.section(title::CODE);
        if spec.repairs.is_empty() || shown.is_empty() {
            let code = skeleton::parts(&spec, &prompt.reading).concat();
            return slip::with_slips(&code, self.skill.slip, rng);
        }
        self.repaired(shown, &spec.repairs, rng)
    }

    fn repaired(&self, code: &str, names: &[String], rng: &mut impl Rng) -> String {
        let mut code = code.to_owned();
        for name in names {
            if rng.random::<f64>() < self.skill.fix {
                code = slip::repaired(&code, name);
            }
        }
        code
    }

    /// The code of a step: its part of the script, or the last try of it, repaired.
    fn step(&self, prompt: &ReadPrompt, rng: &mut impl Rng) -> String {
        let failed = prompt.section(title::LAST_TRY);
        if !failed.is_empty() {
            let so_far = prompt.section(title::SO_FAR);
            let name = slip::named(prompt.section(title::OUTPUT), &format!("{so_far}{failed}"));
            return self.repaired(failed, &Vec::from_iter(name), rng);
        }
        let parts = skeleton::parts(&planned(prompt), &prompt.reading);
        // Steps may have been merged.
        let step = prompt.section(title::STEP);
        let head = step.lines().next().unwrap_or_default();
        let code: String = PARTS
            .iter()
            .zip(parts)
            .filter(|(name, _)| head.contains(*name))
            .map(|(_, code)| code)
            .collect();
        slip::with_slips(&code, self.skill.slip, rng)
    }
}

/// A plan with one change. Its script is written anew: what had to be repaired in the script of the
/// plan before is no part of it.
fn improvement(mut spec: Spec, card: Option<PlannedCard>, rng: &mut impl Rng) -> Spec {
    spec.repairs.clear();
    match card {
        Some(card) => spec.take(card),
        None => spec.vary(rng),
    }
    spec
}

/// The plan that a prompt shows; a plain one where that is somebody else's.
fn planned(prompt: &ReadPrompt) -> Spec {
    Spec::read(prompt.section(title::PLAN)).unwrap_or_else(|| Spec::plain(PlainModel::Forest))
}

/// How hard a plan is to code: from 1 for 20 lines to 5 for 120 where it names their number, else by
/// the stages that it names.
fn complexity(plan: &str) -> f64 {
    planned_lines(plan).map_or_else(|| by_rules(plan), complexity_of_lines)
}

/// How hard a scripted engineer calls a plan of so many lines, 1 to 5 in halves.
pub fn complexity_of_lines(lines: u32) -> f64 {
    let score = 1.0 + 4.0 * (f64::from(lines) - 20.0) / 100.0;
    ((score * 2.0).round() / 2.0).clamp(1.0, 5.0)
}

/// The lines that the plan of a scripted engineer names; `None` where it names none.
pub fn planned_lines(plan: &str) -> Option<u32> {
    Spec::read(plan)?.lines
}

/// Lines of a script in which a scripted engineer may slip: all of them run, so that the script is
/// whole with the probability (1 - slip)^lines.
pub fn breakable_lines(code: &str) -> usize {
    slip::breakable(code)
}

/// The last validation that an output reports.
fn reported(output: &str) -> Option<f64> {
    let last = output.lines().rev().find_map(|line| line.strip_prefix("validation:"))?;
    last.trim().parse().ok().filter(|metric: &f64| metric.is_finite())
}

impl Player for Engineer {
    fn name(&self) -> String {
        "engineer".to_owned()
    }

    fn answer(&self, ask: &Ask<'_>) -> Result<Answer, PlayerFault> {
        if let Asked::Knowledge(job) = ask.what {
            return Ok(Answer::whole(retriever::answer(job, ask.messages)));
        }
        let prompt = ReadPrompt::new(ask.messages)
            .filter(|_| matches!(ask.what, Asked::AutoMind(_)))
            .ok_or_else(|| {
                PlayerFault::Refused("the engineer answers `automind` alone".to_owned())
            })?;
        let page = blake3::hash(prompt.section(title::TASK).as_bytes()).to_hex();
        let stream = self.stream.child(&page).index(u64::from(ask.node.0));
        let mut rng = stream.child(prompt.job.name()).index(u64::from(ask.attempt)).rng();
        let reading = &prompt.reading;
        Ok(Answer::whole(match prompt.job {
            AutoMindJob::Draft | AutoMindJob::Abstract => {
                written(&DraftedPlan { plan: self.draft(&prompt, &mut rng).text(reading) })
            }
            AutoMindJob::Improve | AutoMindJob::ImproveWith => written(&ChangedPlan {
                thought: "One change.".to_owned(),
                plan: self.improved(&prompt, &mut rng).text(reading),
            }),
            AutoMindJob::Debug => written(&ChangedPlan {
                thought: "The last error says what is wrong.".to_owned(),
                plan: Self::debugged(&prompt, &mut rng).text(reading),
            }),
            AutoMindJob::Compatible => {
                written(&CompatibleVerdict { why: "Each has a place.".to_owned(), yes: true })
            }
            AutoMindJob::Modules => {
                let module = MethodModule {
                    name: "What the paper adds".to_owned(),
                    description: prompt.section(title::PAPERS).to_owned(),
                    inputs: "the training table".to_owned(),
                    place: "model".to_owned(),
                    when: "always".to_owned(),
                };
                written(&MethodModules { modules: vec![module] })
            }
            // It cannot code what papers say: its plan is the outline, with all that is in it.
            AutoMindJob::Detailed => {
                let step = DetailedStep {
                    step: "The outline".to_owned(),
                    input: "the files of the task".to_owned(),
                    output: "submission.csv".to_owned(),
                    substeps: vec![prompt.section(title::PLAN).to_owned()],
                };
                written(&DetailedPlan { steps: vec![step] })
            }
            AutoMindJob::Check => {
                written(&PlanCheck { why: "It can be coded.".to_owned(), ok: true })
            }
            AutoMindJob::Applies => {
                let spec = planned(&prompt);
                let card = self.card(&prompt);
                let applies =
                    card.is_some_and(|card| spec.cards.iter().all(|known| known.id != card.id));
                let why =
                    if applies { "Its code has a place." } else { "There is no place for it." };
                written(&TrickVerdict { why: why.to_owned(), applies })
            }
            AutoMindJob::Complexity => written(&ComplexityScore {
                thought: "By the stages that the plan names.".to_owned(),
                score: complexity(prompt.section(title::PLAN)),
            }),
            AutoMindJob::Decompose => {
                let step = |name: &&str| PlanStep {
                    step: (*name).to_owned(),
                    details: "As the plan says.".to_owned(),
                };
                written(&PlanSteps { steps: PARTS.iter().map(step).collect() })
            }
            AutoMindJob::Code => fenced("python", &self.script(&prompt, &mut rng)),
            AutoMindJob::CodeStep => {
                format!("This step.\n\n{}", fenced("python", &self.step(&prompt, &mut rng)))
            }
            AutoMindJob::Verify => written(&RunVerdict {
                is_bug: false,
                is_overfitting: false,
                summary: "It ran as planned.".to_owned(),
                metric: reported(prompt.section(title::OUTPUT)),
            }),
        }))
    }
}

#[cfg(test)]
mod tests;
