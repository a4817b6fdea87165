//! A model that answers with the products of the built-in roles.

use factory::roles::model::puppet;
use factory::roles::{Brief, strategist};
use factory::spec::blueprint::{Blueprint, Origin};
use factory::spec::config::{Options, Request};
use factory::spec::plan::{self, Plan, Slot};
use factory::spec::scenario::{self, Scenario};
use factory::spec::seed_set::SeedSet;
use llm::{ChatError, ChatModel, Completion, Finish, Purpose, Request as ChatRequest, Usage};

/// A model that knows the plan of one corpus and answers with what the built-in roles make of it.
pub(crate) struct PuppetModel {
    request: Request,
    seeds: SeedSet,
    stories: Vec<Scenario>,
    plan: Plan,
}

impl PuppetModel {
    pub(crate) fn new(options: &Options) -> Self {
        let seeds = SeedSet::resolve(&options.seeds).unwrap();
        let stories = scenario::all().unwrap();
        let domains = scenario::domains(&stories);
        let request = options.check(seeds.fingerprint(), &domains).unwrap();
        let plan = plan::plan(&request, seeds.seeds(), &stories).unwrap();
        Self { request, seeds, stories, plan }
    }

    fn slot(&self, index: u64) -> &Slot {
        self.plan.slots.iter().find(|slot| slot.index == index).unwrap()
    }

    fn brief(&self, slot: u64, attempt: u64) -> Brief<'_> {
        let slot = self.slot(slot);
        Brief {
            slot,
            seed: &self.seeds.seeds()[slot.seed],
            scenario: &self.stories[slot.scenario],
            origin: Origin { corpus_seed: self.request.seed, slot: slot.index, attempt },
            preset: self.request.preset,
        }
    }

    fn blueprint(&self, brief: &Brief<'_>) -> Blueprint {
        strategist::strategise(brief).unwrap()
    }

    fn answer(&self, request: &ChatRequest, purpose: &Purpose) -> String {
        let brief = self.brief(purpose.slot, purpose.attempt.into());
        let prompt = &request.messages.last().unwrap().content;
        match purpose.role.as_str() {
            "story" => puppet::story_answer(&brief),
            "rule" => puppet::rule_answer(&self.blueprint(&brief), prompt),
            "prose" => puppet::prose_answer(&self.blueprint(&brief), brief.scenario),
            other => panic!("the puppet cannot answer `{other}`"),
        }
    }
}

impl ChatModel for PuppetModel {
    fn complete(&self, request: &ChatRequest, purpose: &Purpose) -> Result<Completion, ChatError> {
        let text = self.answer(request, purpose);
        let prompt: usize = request.messages.iter().map(|message| message.content.len()).sum();
        let usage = Usage {
            input: (prompt / 4) as u64,
            output: (text.len() / 4) as u64,
            ..Usage::default()
        };
        Ok(Completion {
            text,
            thoughts: None,
            finish: Finish::Stop,
            refusal: None,
            usage,
            model: request.model.clone(),
            id: String::new(),
        })
    }
}
