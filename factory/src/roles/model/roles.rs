//! The roles of a task, some of them played by chat models.

use super::conversation::{Conversations, Place, SlotUse};
use super::{Question, RoleModel, writer};
use crate::roles::{
    Brief, Builtin, RoleAuthor, RoleBackend, RoleCall, RoleFault, RoleName, RoleRefusal,
    RoleReply, Roles, TaskFacts, TaskPage,
};
use crate::spec::blueprint::{Blueprint, Origin};
use crate::spec::plan::Slot;
use crate::spec::role_settings::{RoleMode, RoleSettings};
use crate::spec::scenario::Scenario;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// A role is to be played by a model that was not given.
#[derive(Debug, thiserror::Error)]
#[error("the settings name the model `{0}`, which was not given")]
pub struct MissingModel(String);

/// The roles of a task as settings give them to chat models; the others are built in.
#[derive(Debug)]
pub struct ModelRoles {
    settings: RoleSettings,
    models: BTreeMap<String, RoleModel>,
    conversations: Conversations,
    /// What the slots that are being worked on have consumed.
    used: Mutex<BTreeMap<u64, Arc<Mutex<SlotUse>>>>,
}

impl ModelRoles {
    /// Roles by `settings`, with every model that these name in `models`, by that name.
    ///
    /// # Errors
    /// [`MissingModel`].
    pub fn new(
        settings: RoleSettings,
        models: BTreeMap<String, RoleModel>,
    ) -> Result<Self, MissingModel> {
        let missing = settings.models().into_iter().find(|name| !models.contains_key(*name));
        if let Some(name) = missing {
            return Err(MissingModel(name.to_owned()));
        }
        let conversations = Conversations::new(settings.limits, settings.effort);
        Ok(Self { settings, models, conversations, used: Mutex::default() })
    }

    /// The model of a role; `None` where the role is built in.
    fn model(&self, role: RoleName) -> Option<(&str, &RoleModel)> {
        let name = match role {
            RoleName::Strategist => self.settings.strategist.as_deref(),
            RoleName::Writer => self.settings.writer.as_deref(),
            RoleName::Developer | RoleName::Operator => None,
        }?;
        self.models.get(name).map(|model| (name, model))
    }

    /// Asks the model of a role a question at a place of the run.
    fn ask<T>(
        &self,
        role: RoleName,
        (name, model): (&str, &RoleModel),
        question: &Question,
        origin: Origin,
        call: RoleCall<'_>,
        check: impl FnMut(&str) -> Result<T, RoleRefusal>,
    ) -> Result<RoleReply<T>, RoleFault> {
        let Origin { slot, attempt, .. } = origin;
        let used = {
            let mut slots = self.used.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(slots.entry(slot).or_default())
        };
        let RoleCall { index, permit, .. } = call;
        let place = Place { role, slot, attempt, index, used: &used, permit };
        self.conversations.ask(model, name, question, place, check)
    }
}

impl Roles for ModelRoles {
    fn backend(&self, _slot: &Slot, authors: BTreeMap<RoleName, RoleAuthor>) -> RoleBackend {
        let RoleSettings { mode, .. } = &self.settings;
        let model = self.settings.models().join(", ");
        RoleBackend::Model { mode: mode.to_string(), model, authors }
    }

    fn repeatable(&self, role: RoleName) -> bool {
        self.model(role).is_some()
    }

    fn stand_in(&self, role: RoleName) -> Option<&dyn Roles> {
        // A page is needed whatever the model makes of it; a task need not be lost for it.
        (role == RoleName::Writer && self.repeatable(role)).then_some(&Builtin as &dyn Roles)
    }

    fn strategise(
        &self,
        brief: &Brief<'_>,
        call: RoleCall<'_>,
    ) -> Result<RoleReply<Blueprint>, RoleFault> {
        match self.model(RoleName::Strategist) {
            None => Builtin.strategise(brief, call),
            Some(_model) => todo!(),
        }
    }

    fn develop(
        &self,
        blueprint: &Blueprint,
        call: RoleCall<'_>,
    ) -> Result<RoleReply<TaskFacts>, RoleFault> {
        Builtin.develop(blueprint, call)
    }

    fn operate(
        &self,
        facts: &TaskFacts,
        call: RoleCall<'_>,
    ) -> Result<RoleReply<String>, RoleFault> {
        Builtin.operate(facts, call)
    }

    fn write(
        &self,
        facts: &TaskFacts,
        scenario: &Scenario,
        call: RoleCall<'_>,
    ) -> Result<RoleReply<TaskPage>, RoleFault> {
        let Some(model) = self.model(RoleName::Writer) else {
            return Builtin.write(facts, scenario, call);
        };
        let question = writer::question(facts, scenario, call.feedback);
        let reply = self.ask(
            RoleName::Writer,
            model,
            &question,
            facts.blueprint.origin,
            call,
            |answer| writer::parse(answer, facts, scenario),
        )?;
        Ok(reply.and_then(|prose| Ok(writer::page(prose, facts, scenario))))
    }
}
