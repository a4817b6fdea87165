//! The data strategist as a chat model: a story, and the terms of each rule.

use super::roles::Asked;
use super::{Facets, is_about_story, parse_story, parse_terms, rule_question, story_question};
use crate::roles::{
    Brief, RoleAuthor, RoleCost, RoleFault, RoleFeedback, RoleRefusal, RoleReply, RuleRequest,
};
use crate::spec::rule::Expr;
use crate::spec::scenario::Story;

/// Why the strategist has no product.
#[derive(Debug)]
pub(super) enum StrategistError {
    /// The model's work was refused.
    Refused(RoleRefusal),
    /// The model could not be asked.
    Fault(RoleFault),
}

impl From<RoleRefusal> for StrategistError {
    fn from(refusal: RoleRefusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<RoleFault> for StrategistError {
    fn from(fault: RoleFault) -> Self {
        Self::Fault(fault)
    }
}

/// A model that writes the story and the rules of one attempt, and what that consumes.
pub(super) struct ModelStrategist<'a> {
    pub(super) asked: Asked<'a>,
    pub(super) feedback: Option<&'a RoleFeedback>,
    pub(super) cost: RoleCost,
    /// The authors of the answers so far.
    pub(super) authors: Vec<RoleAuthor>,
}

impl<'a> ModelStrategist<'a> {
    pub(super) fn new(asked: Asked<'a>, feedback: Option<&'a RoleFeedback>) -> Self {
        Self { asked, feedback, cost: RoleCost::ZERO, authors: Vec::new() }
    }

    /// Asks for a story.
    pub(super) fn story(&mut self, brief: &Brief<'_>) -> Result<Story, StrategistError> {
        let feedback = self.feedback.filter(|feedback| is_about_story(feedback));
        let question = story_question(brief, Facets::draw(brief.origin), feedback);
        let reply = self.asked.ask(&question, |answer| parse_story(answer, brief))?;
        Ok(self.booked(reply)?)
    }

    /// Asks for the terms of a target's rule.
    pub(super) fn terms(
        &mut self,
        request: &RuleRequest<'_>,
    ) -> Result<Vec<Expr>, StrategistError> {
        let feedback = self.feedback.filter(|feedback| !is_about_story(feedback));
        let question = rule_question(request, feedback);
        let reply = self.asked.ask(&question, |answer| parse_terms(answer, request))?;
        Ok(self.booked(reply)?)
    }

    fn booked<T>(&mut self, reply: RoleReply<T>) -> Result<T, RoleRefusal> {
        self.cost += reply.cost;
        self.authors.extend(reply.author);
        reply.product
    }

    /// One author for all answers: the model, and a hash over all prompts.
    pub(super) fn author(&self) -> Option<RoleAuthor> {
        let first = self.authors.first()?;
        if self.authors.len() == 1 {
            return Some(first.clone());
        }
        let mut hasher = blake3::Hasher::new();
        for author in &self.authors {
            hasher.update(author.prompt.as_bytes());
        }
        Some(RoleAuthor { prompt: hasher.finalize().to_hex().to_string(), ..first.clone() })
    }
}
