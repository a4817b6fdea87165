//! One attempt at a slot: the roles in turn, then verification and a rebuild.

use crate::corpus::ledger::Stage;
use crate::package::{Draft, PackageError, Staged};
use crate::roles::{
    Brief, RoleAuthor, RoleCall, RoleCost, RoleFault, RoleFeedback, RoleName, RoleRefusal,
    RoleReply, Roles, SPENT, TaskFacts, TaskPage, TaskPart, WorkPermit,
};
use crate::spec::limits::RoleLimits;
use crate::spec::rule::Family;
use crate::spec::scenario::Scenario;
use crate::verify::{self, Rebuild, Refusal, Verified, VerifyError};
use camino::Utf8Path;
use std::collections::BTreeMap;
use std::slice;
use tasks::metrics::Metric;
use tasks::rating::Level;
use tasks::task::Baselines;

/// One task in so many is built twice as a whole. Of the others everything is but the fits,
/// which are as long as all the rest together and a function of the very same data;
/// `factory verify` repeats all of them.
const REFITTED: u64 = 8;

/// An attempt, and what is known of it so far.
pub(super) struct SlotAttempt<'a> {
    roles: &'a dyn Roles,
    limits: RoleLimits,
    brief: Brief<'a>,
    /// Why the attempt before this one was refused, for one of the roles.
    last: Option<&'a RoleFeedback>,
    /// The slot's permit to use a processor.
    permit: &'a WorkPermit<'a>,
    /// The models that made the products of roles.
    authors: BTreeMap<RoleName, RoleAuthor>,
    /// What its calls consumed.
    pub(super) cost: RoleCost,
    /// Roles that their stand-ins played.
    pub(super) fallbacks: Vec<RoleName>,
    /// Scoring, once there is a blueprint.
    pub(super) metric: Option<Metric>,
    /// Kind of rule, once there is a blueprint.
    pub(super) family: Option<Family>,
}

/// Why an attempt made no task.
pub(super) enum AttemptEnd {
    /// The task is refused; the next attempt begins.
    Refused(AttemptRefusal),
    /// A role could not be asked; the run ends.
    Fault(RoleFault),
    /// A file could not be written; the run ends.
    Write(PackageError),
}

/// A refused attempt.
pub(super) struct AttemptRefusal {
    /// The last stage that it entered.
    pub(super) stage: Stage,
    /// Reason code.
    pub(super) reason: &'static str,
    /// The same in words.
    pub(super) detail: String,
    /// For the role that can do otherwise; `None` if only a fault of this software explains it.
    pub(super) feedback: Option<RoleFeedback>,
}

impl From<RoleFault> for AttemptEnd {
    fn from(fault: RoleFault) -> Self {
        Self::Fault(fault)
    }
}

impl<'a> SlotAttempt<'a> {
    /// An attempt that is yet to run.
    pub(super) fn new(
        roles: &'a dyn Roles,
        limits: RoleLimits,
        brief: Brief<'a>,
        last: Option<&'a RoleFeedback>,
        permit: &'a WorkPermit<'a>,
    ) -> Self {
        Self {
            roles,
            limits,
            brief,
            last,
            permit,
            authors: BTreeMap::new(),
            cost: RoleCost::ZERO,
            fallbacks: Vec::new(),
            metric: None,
            family: None,
        }
    }

    /// From the brief to a verified folder below `work` that is not yet in the corpus.
    ///
    /// # Errors
    /// [`AttemptEnd`].
    pub(super) fn run(&mut self, work: &Utf8Path) -> Result<Verified<Staged>, AttemptEnd> {
        let brief = self.brief.clone();
        let blueprint =
            self.ask(RoleName::Strategist, |roles, call| roles.strategise(&brief, call))?;
        (self.metric, self.family) = (Some(blueprint.metric), blueprint.family());
        // The strategist may have replaced the brief's story by one of its own.
        let scenario =
            blueprint.scenario_among(slice::from_ref(brief.scenario)).map_err(|error| {
                let (stage, reason, detail) = (Stage::Strategy, "scenario", error.to_string());
                AttemptEnd::Refused(AttemptRefusal { stage, reason, detail, feedback: None })
            })?;
        let facts = self.ask(RoleName::Developer, |roles, call| roles.develop(&blueprint, call))?;
        self.level_is_asked(&facts)?;
        let evaluator = self.ask(RoleName::Operator, |roles, call| roles.operate(&facts, call))?;
        let (page, judge) = self.ask(RoleName::Writer, |roles, call| {
            described(roles, &brief, (&facts, &scenario), call)
        })?;
        self.authors.extend(judge.map(|author| (RoleName::Judge, author)));
        let baselines = facts.ladder.baselines.clone();
        let played = self.roles.backend(&brief, std::mem::take(&mut self.authors));
        let draft = Draft::new(facts, evaluator, page, played)
            .map_err(|error| AttemptEnd::Write(error.into()))?;
        let refitted = brief.origin.slot.is_multiple_of(REFITTED);
        let rebuild = if refitted { Rebuild::Whole } else { Rebuild::Data };
        let verified = verify::verify(draft, work).and_then(|task| {
            verify::rebuilds(task.get(), &scenario, rebuild)?;
            Ok(task)
        });
        verified.map_err(|error| match error {
            VerifyError::Package(error) => AttemptEnd::Write(error),
            VerifyError::Refused(refusal) => self.refused(&refusal, &baselines),
        })
    }

    /// Refuses a task of a level that was not asked for, as far as its ladder tells.
    fn level_is_asked(&self, facts: &TaskFacts) -> Result<(), AttemptEnd> {
        let (levels, direction) = (self.brief.levels, facts.blueprint.metric.direction());
        let level = Level::from_ladder(&facts.ladder.baselines, &facts.thresholds, direction);
        if levels.allow(level) {
            return Ok(());
        }
        let (stage, reason) = (Stage::Development, "level");
        let detail = format!("the ladder is that of level {level}; asked for: {levels}");
        let role = RoleName::Strategist;
        let feedback = Some(RoleFeedback { role, code: reason, detail: detail.clone() });
        Err(AttemptEnd::Refused(AttemptRefusal { stage, reason, detail, feedback }))
    }

    /// Asks a role until it delivers, or its calls are used up. Then its stand-in plays it, if there
    /// is one.
    fn ask<T>(
        &mut self,
        role: RoleName,
        mut call: impl FnMut(&dyn Roles, RoleCall<'_>) -> Result<RoleReply<T>, RoleFault>,
    ) -> Result<T, AttemptEnd> {
        let limits = self.limits;
        let (stage, limit) = match role {
            RoleName::Strategist => (Stage::Strategy, limits.strategist),
            RoleName::Developer => (Stage::Development, limits.developer),
            RoleName::Operator => (Stage::Operation, limits.operator),
            RoleName::Writer | RoleName::Judge => (Stage::Description, limits.writer),
        };
        let limit = if self.roles.repeatable(role, &self.brief) { limit } else { 1 };
        let mut feedback = self.last.filter(|feedback| feedback.role == role).cloned();
        let mut index = 0;
        loop {
            let permit = self.permit;
            let reply = call(self.roles, RoleCall { index, feedback: feedback.as_ref(), permit })?;
            self.cost += reply.cost;
            index += 1;
            let refusal = match reply.product {
                Ok(product) => {
                    self.authors.extend(reply.author.map(|author| (role, author)));
                    return Ok(product);
                }
                Err(refusal) => refusal,
            };
            if index < limit && refusal.code != SPENT {
                let RoleRefusal { code, detail } = refusal;
                feedback = Some(RoleFeedback { role, code, detail });
                continue;
            }
            if let Some(stand_in) = self.roles.stand_in(role) {
                self.fallbacks.push(role);
                let reply = call(stand_in, RoleCall { index, feedback: None, permit })?;
                return reply.product.map_err(|refusal| given_up(stage, role, refusal));
            }
            return Err(given_up(stage, role, refusal));
        }
    }

    /// A refusal by a check. Of the mechanism, its author also gets the scores of the ladder.
    fn refused(&self, refusal: &Refusal, baselines: &Baselines) -> AttemptEnd {
        let (code, detail) = (refusal.code(), refusal.to_string());
        let feedback = refusal.part().map(|part| {
            let detail = match part {
                TaskPart::Mechanism => {
                    let [r0, r1, r2, r3] = baselines.ladder;
                    let ceiling = baselines.ceiling;
                    format!("{detail}; R0 {r0}, R1 {r1}, R2 {r2}, R3 {r3}, ceiling {ceiling}")
                }
                _ => detail.clone(),
            };
            RoleFeedback { role: self.roles.author(part, &self.brief), code, detail }
        });
        let stage = Stage::Verification;
        AttemptEnd::Refused(AttemptRefusal { stage, reason: code, detail, feedback })
    }
}

/// A page by the technical writer, and the chat model that read it, if one did.
fn described(
    roles: &dyn Roles,
    brief: &Brief<'_>,
    (facts, scenario): (&TaskFacts, &Scenario),
    call: RoleCall<'_>,
) -> Result<RoleReply<(TaskPage, Option<RoleAuthor>)>, RoleFault> {
    let reply = roles.write(facts, scenario, call)?;
    // Data need not be made anew because of a page that can be written anew. A page that cannot is
    // refused by verification.
    if !roles.repeatable(RoleName::Writer, brief) {
        return Ok(reply.and_then(|page| Ok((page, None))));
    }
    let RoleReply { product, mut cost, author } = reply.and_then(|page| {
        verify::rule_is_not_on_page(&page.text, &facts.blueprint)?;
        Ok(page)
    });
    let product = match product {
        Err(refusal) => Err(refusal),
        Ok(page) => {
            let judged = roles.judge(facts, scenario, &page, call)?;
            cost += judged.cost;
            judged.product.map(|()| (page, judged.author))
        }
    };
    Ok(RoleReply { product, cost, author })
}

/// The end of an attempt by a role's own refusal.
fn given_up(stage: Stage, role: RoleName, refusal: RoleRefusal) -> AttemptEnd {
    let RoleRefusal { code, detail } = refusal;
    let feedback = Some(RoleFeedback { role, code, detail: detail.clone() });
    AttemptEnd::Refused(AttemptRefusal { stage, reason: code, detail, feedback })
}
