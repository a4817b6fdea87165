//! A model that answers with the products of the built-in roles.

use crate::generators::generator;
use factory::roles::model::puppet;
use factory::roles::{Brief, generated, strategist};
use factory::spec::blueprint::Origin;
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

    pub(crate) fn brief(&self, slot: u64, attempt: u64) -> Brief<'_> {
        let slot = self.slot(slot);
        Brief {
            slot,
            seed: &self.seeds.seeds()[slot.seed],
            scenario: &self.stories[slot.scenario],
            origin: Origin { corpus_seed: self.request.seed, slot: slot.index, attempt },
            preset: self.request.preset,
        }
    }

    fn answer(&self, request: &ChatRequest, purpose: &Purpose) -> String {
        let brief = self.brief(purpose.slot, purpose.attempt.into());
        let prompt = &request.messages[1].content;
        match purpose.role.as_str() {
            "story" => puppet::story_answer(&brief),
            "rule" => {
                let blueprint = strategist::strategise(&brief).unwrap();
                let asked = |column: &str| prompt.contains(&format!("- Target: `{column}`"));
                let target = blueprint.targets.iter().position(|target| asked(&target.column));
                puppet::rule_answer(&blueprint, target.unwrap())
            }
            "generator" => {
                let blueprint = generated::blueprint(&brief, &brief.scenario.story).unwrap();
                generator(&blueprint)
            }
            "prose" => prose(brief.scenario.story.title(), prompt),
            other => panic!("the puppet cannot answer `{other}`"),
        }
    }
}

/// Prose for the columns that a prompt lists.
fn prose(title: &str, prompt: &str) -> String {
    let names = prompt.lines().filter_map(|line| line.strip_prefix("  - `"));
    let columns: Vec<serde_json::Value> = names
        .map(|line| {
            let name = line.split('`').next().unwrap();
            let text = format!("The column `{name}` was noted for each case.");
            serde_json::json!({ "name": name, "text": text })
        })
        .collect();
    let prose = serde_json::json!({
        "title": title,
        "overview": "A small team keeps these records and would like to plan better.\n\nEach case \
                     was noted by hand, and some notes are missing.",
        "columns": columns,
        "target": "It is what the team would like to know in advance.",
    });
    prose.to_string()
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
