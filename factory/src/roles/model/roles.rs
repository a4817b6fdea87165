//! The roles of a task, some of them played by chat models.

use super::author::{ModelStrategist, StrategistError};
use super::conversation::{Conversations, Place, SlotUse};
use super::kept_generators::{KeptGenerator, KeptGenerators};
use super::{Question, RoleModel, developer, is_about_story, judge, operator, writer};
use crate::generator::{GeneratorJail, GeneratorSpec};
use crate::page;
use crate::roles::generated;
use crate::roles::{
    Brief, Builtin, EvaluatorTrial, RoleAuthor, RoleBackend, RoleCall, RoleCheckError, RoleCost,
    RoleFault, RoleName, RoleRefusal, RoleReply, Roles, SPENT, TaskFacts, TaskPage, TaskPart,
    strategist,
};
use crate::spec::blueprint::{Blueprint, Origin};
use crate::spec::role_settings::{RoleMode, RoleSettings};
use crate::spec::scenario::{self, Scenario, Story};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Why roles cannot be played as settings have it.
#[derive(Debug, thiserror::Error)]
pub enum ModelRolesError {
    /// A role is to be played by a model that was not given.
    #[error("the settings name the model `{0}`, which was not given")]
    NoModel(String),
    /// A model is to write programs, and there is no place to run them.
    #[error("the settings let a model write programs, and no jail for them was given")]
    NoJail,
}

/// What runs and tries the programs of models, which are untrusted.
#[derive(Debug)]
pub struct ModelPrograms {
    /// Where generators run.
    pub generators: GeneratorJail,
    /// What tries evaluators.
    pub evaluators: Arc<dyn EvaluatorTrial>,
}

/// The roles of a task as settings give them to chat models; the others are built in.
#[derive(Debug)]
pub struct ModelRoles {
    settings: RoleSettings,
    models: BTreeMap<String, RoleModel>,
    conversations: Conversations,
    /// What the slots that are being worked on have consumed.
    used: Mutex<BTreeMap<u64, Arc<Mutex<SlotUse>>>>,
    /// The accepted story of each slot that is being worked on.
    stories: Mutex<BTreeMap<u64, Story>>,
    /// The generator of each slot that is being worked on.
    generators: KeptGenerators,
    /// What runs and tries the programs of models.
    programs: Option<ModelPrograms>,
}

impl ModelRoles {
    /// Roles by `settings`, with every model that these name in `models`, by that name, and what
    /// runs programs if [`RoleSettings::has_programs`].
    ///
    /// # Errors
    /// [`ModelRolesError`].
    pub fn new(
        settings: RoleSettings,
        models: BTreeMap<String, RoleModel>,
        programs: Option<ModelPrograms>,
    ) -> Result<Self, ModelRolesError> {
        if settings.has_programs() && programs.is_none() {
            return Err(ModelRolesError::NoJail);
        }
        let missing = settings.models().into_iter().find(|name| !models.contains_key(*name));
        if let Some(name) = missing {
            return Err(ModelRolesError::NoModel(name.to_owned()));
        }
        let conversations = Conversations::new(settings.limits, settings.effort);
        let (used, stories, generators) =
            (Mutex::default(), Mutex::default(), KeptGenerators::default());
        Ok(Self { settings, models, conversations, used, stories, generators, programs })
    }

    fn story(&self, slot: u64) -> Option<Story> {
        self.stories.lock().unwrap_or_else(PoisonError::into_inner).get(&slot).cloned()
    }

    fn keep_story(&self, slot: u64, story: Story) -> Story {
        let mut stories = self.stories.lock().unwrap_or_else(PoisonError::into_inner);
        stories.insert(slot, story.clone());
        // A generator was written for the story before.
        self.generators.forget(slot);
        story
    }

    /// Whether a generator draws the rows of a brief, rather than rules. The brief's story decides,
    /// because the slot's own has items of the same medium.
    fn is_coded(&self, brief: &Brief<'_>) -> bool {
        let served = || generated::served(brief.slot.cell, &brief.scenario.story);
        self.settings.developer.is_some() && served().is_some()
    }

    /// The facts of a task whose rows a generator draws: one that the slot has, or a new one.
    fn generate(
        &self,
        blueprint: &Blueprint,
        jail: &GeneratorJail,
        call: RoleCall<'_>,
    ) -> Result<RoleReply<TaskFacts>, RoleFault> {
        let (role, origin) = (RoleName::Developer, blueprint.origin);
        let (Some(Story::Table(story)), Some(asked)) =
            (self.story(origin.slot), self.asked(role, origin, call))
        else {
            let detail = "the blueprint wants a generator, and no model is there to write it";
            return Ok(Err(RoleRefusal { code: "scenario", detail: detail.to_owned() }).into());
        };
        let develop = |code: &str| generated::develop(blueprint, &story, code, jail);
        if let Some(KeptGenerator { code, author }) = self.generators.reused(origin.slot, call) {
            let (product, author) = match develop(&code) {
                Ok(facts) => (Ok(facts), Some(author)),
                Err(RoleCheckError::Refused(refusal)) => (Err(refusal), None),
                Err(RoleCheckError::Fault(source)) => return Err(RoleFault { role, source }),
            };
            return Ok(RoleReply { product, cost: RoleCost::ZERO, author });
        }
        let spec = GeneratorSpec::from_blueprint(blueprint);
        let formulation = blueprint.formulation;
        let brief = developer::GeneratorBrief { story: &story, formulation, spec: &spec };
        let reply = asked.ask(&developer::question(&brief, call.feedback), |answer| {
            let code = developer::parse(answer)?;
            let facts = develop(&code)?;
            Ok::<_, RoleCheckError>((code, facts))
        })?;
        let author = reply.author.clone();
        Ok(reply.and_then(|(code, facts)| {
            if let Some(author) = author {
                self.generators.keep(origin.slot, KeptGenerator { code, author });
            }
            Ok(facts)
        }))
    }

    /// The model of a role; `None` where the role is built in.
    fn model(&self, role: RoleName) -> Option<(&str, &RoleModel)> {
        let name = match role {
            RoleName::Strategist => self.settings.strategist.as_deref(),
            RoleName::Developer => self.settings.developer.as_deref(),
            RoleName::Operator => self.settings.operator.as_deref(),
            RoleName::Writer => self.settings.writer.as_deref(),
            RoleName::Judge => self.settings.judge.as_deref(),
        }?;
        self.models.get(name).map(|model| (name, model))
    }

    /// The model of a role at a place of the run; `None` where the role is built in.
    fn asked<'a>(
        &'a self,
        role: RoleName,
        origin: Origin,
        call: RoleCall<'a>,
    ) -> Option<Asked<'a>> {
        let (name, model) = self.model(role)?;
        let Origin { slot, attempt, .. } = origin;
        let used = {
            let mut slots = self.used.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(slots.entry(slot).or_default())
        };
        let RoleCall { index, permit, .. } = call;
        let place = Place { role, slot, attempt, index, used, permit };
        Some(Asked { conversations: &self.conversations, name, model, place })
    }
}

/// Whether the strategist of a brief is built in whatever models there are: none is asked for
/// stories of challenges, whose conventions no rule can say.
fn is_built_in(brief: &Brief<'_>) -> bool {
    matches!(brief.scenario.story, Story::Challenge(_))
}

/// A model that plays a role at a place of the run.
#[derive(Debug)]
pub(super) struct Asked<'a> {
    conversations: &'a Conversations,
    name: &'a str,
    model: &'a RoleModel,
    place: Place<'a>,
}

impl Asked<'_> {
    /// Asks a question until `check` takes an answer, or the repairs are used up.
    ///
    /// # Errors
    /// [`RoleFault`] if the model cannot be asked, or an answer cannot be checked.
    pub(super) fn ask<T, E: Into<RoleCheckError>>(
        &self,
        question: &Question,
        check: impl FnMut(&str) -> Result<T, E>,
    ) -> Result<RoleReply<T>, RoleFault> {
        self.conversations.ask(self.model, self.name, question, &self.place, check)
    }
}

impl Roles for ModelRoles {
    fn backend(&self, brief: &Brief<'_>, authors: BTreeMap<RoleName, RoleAuthor>) -> RoleBackend {
        let mode = match self.settings.mode {
            RoleMode::Code if !self.is_coded(brief) => RoleMode::Blueprint,
            mode => mode,
        };
        let model = self.settings.models().join(", ");
        RoleBackend::Model { mode: mode.to_string(), model, authors }
    }

    fn repeatable(&self, role: RoleName, brief: &Brief<'_>) -> bool {
        let built_in = match role {
            RoleName::Developer => !self.is_coded(brief),
            RoleName::Strategist => is_built_in(brief),
            _ => false,
        };
        self.model(role).is_some() && !built_in
    }

    fn author(&self, part: TaskPart, brief: &Brief<'_>) -> RoleName {
        match part {
            TaskPart::Mechanism if self.is_coded(brief) => RoleName::Developer,
            part => Builtin.author(part, brief),
        }
    }

    fn stand_in(&self, role: RoleName) -> Option<&dyn Roles> {
        // An evaluator and a page are needed whatever the model makes of them; a task need not be
        // lost for them.
        let replaced = matches!(role, RoleName::Operator | RoleName::Writer);
        (replaced && self.model(role).is_some()).then_some(&Builtin as &dyn Roles)
    }

    fn strategise(
        &self,
        brief: &Brief<'_>,
        call: RoleCall<'_>,
    ) -> Result<RoleReply<Blueprint>, RoleFault> {
        let origin = brief.origin;
        let asked = self.asked(RoleName::Strategist, origin, call);
        let Some(asked) = asked.filter(|_| !is_built_in(brief)) else {
            return Builtin.strategise(brief, call);
        };
        let mut author = ModelStrategist::new(asked, call.feedback);
        // A story that was accepted stays the slot's, and only rules are written anew, unless no
        // rule was found for it.
        let known = match call.feedback {
            Some(feedback) if is_about_story(feedback) => None,
            _ => self.story(origin.slot),
        };
        let story = match known {
            Some(story) => Ok(story),
            None => author.story(brief).map(|story| self.keep_story(origin.slot, story)),
        };
        let product = story.and_then(|story| {
            if self.is_coded(brief) {
                return Ok(generated::blueprint(brief, &story)?);
            }
            strategist::strategise_with(brief, &story, &mut |request| author.terms(request))
        });
        let (cost, author) = (author.cost, author.author());
        match product {
            Ok(blueprint) => Ok(RoleReply { product: Ok(blueprint), cost, author }),
            Err(StrategistError::Refused(refusal)) => {
                Ok(RoleReply { product: Err(refusal), cost, author })
            }
            Err(StrategistError::Fault(fault)) => Err(fault),
        }
    }

    fn develop(
        &self,
        blueprint: &Blueprint,
        call: RoleCall<'_>,
    ) -> Result<RoleReply<TaskFacts>, RoleFault> {
        match &self.programs {
            Some(programs) if blueprint.generated().is_some() => {
                self.generate(blueprint, &programs.generators, call)
            }
            _ => Builtin.develop(blueprint, call),
        }
    }

    fn operate(
        &self,
        facts: &TaskFacts,
        call: RoleCall<'_>,
    ) -> Result<RoleReply<String>, RoleFault> {
        let blueprint = &facts.blueprint;
        let asked = self.asked(RoleName::Operator, blueprint.origin, call);
        let (Some(asked), Some(programs)) = (asked, &self.programs) else {
            return Builtin.operate(facts, call);
        };
        asked.ask(&operator::question(blueprint, call.feedback), |answer| {
            let code = operator::parse(answer)?;
            programs.evaluators.try_out(facts, &code)?;
            Ok::<_, RoleCheckError>(code)
        })
    }

    fn write(
        &self,
        facts: &TaskFacts,
        scenario: &Scenario,
        call: RoleCall<'_>,
    ) -> Result<RoleReply<TaskPage>, RoleFault> {
        let TaskFacts { blueprint, assets, .. } = facts;
        let Some(asked) = self.asked(RoleName::Writer, blueprint.origin, call) else {
            return Builtin.write(facts, scenario, call);
        };
        let feedback = call.feedback.filter(|feedback| judge::is_about_page(feedback));
        let question = writer::question(blueprint, scenario, assets, feedback);
        let reply =
            asked.ask(&question, |answer| writer::parse(answer, blueprint, scenario, assets))?;
        Ok(reply.and_then(|prose| {
            let text = page::with_prose(blueprint, scenario, assets, &prose);
            Ok(TaskPage { text, prose: Some(prose) })
        }))
    }

    fn judge(
        &self,
        facts: &TaskFacts,
        scenario: &Scenario,
        page: &TaskPage,
        call: RoleCall<'_>,
    ) -> Result<RoleReply<()>, RoleFault> {
        let role = RoleName::Judge;
        let Some(asked) = self.asked(role, facts.blueprint.origin, call) else {
            return Ok(Ok(()).into());
        };
        let stories = scenario::all().map_err(|error| RoleFault { role, source: error.into() })?;
        let facts = judge::PageFacts::new(&facts.blueprint, scenario, &stories);
        let reply = asked.ask(&judge::question(&page.text, &facts), judge::parse)?;
        let RoleReply { product, cost, author } = reply;
        let product = match product {
            Ok(reading) => reading.check(&facts),
            // The slot's calls are used up; this says nothing of the judge.
            Err(refusal) if refusal.code == SPENT => Err(refusal),
            Err(refusal) => Err(judge::failed(refusal)),
        };
        Ok(RoleReply { product, cost, author })
    }
}
