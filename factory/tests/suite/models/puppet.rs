//! A model that answers with the products of the built-in roles.

use super::generators::generator;
use factory::roles::model::puppet;
use factory::roles::{Brief, generated, operator, strategist};
use factory::spec::blueprint::{Blueprint, Origin};
use factory::spec::config::{Options, Request};
use factory::spec::plan::{self, Plan, Slot};
use factory::spec::scenario::{self, Scenario};
use factory::spec::seed_set::SeedSet;
use llm::{ChatError, ChatModel, Completion, Finish, Purpose, Request as ChatRequest, Usage};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// The first line of the puppet's evaluators, by which they differ from the built-in ones.
pub(crate) const SIGNED: &str = "# By a puppet.\n";

/// What is wrong with the puppet's answers to one question at a slot.
#[derive(Debug, Clone, Copy)]
pub(crate) enum PuppetFault {
    /// The first answer, and no repair of it.
    First(&'static str),
    /// All answers of the first conversation.
    FirstConversation(&'static str),
    /// All answers.
    Always(&'static str),
}

impl PuppetFault {
    /// What is wrong with this answer; `None` if nothing is.
    fn of(self, request: &ChatRequest, purpose: &Purpose) -> Option<&'static str> {
        let first = !request.messages[1].content.contains("was refused (");
        match self {
            Self::First(fault) => (first && purpose.repair == 0).then_some(fault),
            Self::FirstConversation(fault) => first.then_some(fault),
            Self::Always(fault) => Some(fault),
        }
    }
}

/// A model that knows the plan of one corpus and answers with what the built-in roles make of it.
pub(crate) struct PuppetModel {
    request: Request,
    seeds: SeedSet,
    stories: Vec<Scenario>,
    plan: Plan,
    /// Lines at the end of evaluators, in the place of the one that prints the result, by slot.
    pub(crate) evaluators: BTreeMap<u64, PuppetFault>,
    /// Pages that are read as if they named this metric, by slot.
    pub(crate) misread: BTreeMap<u64, PuppetFault>,
    /// The last message of each request.
    pub(crate) heard: Arc<Mutex<Vec<(u64, String, String)>>>,
}

impl PuppetModel {
    pub(crate) fn new(options: &Options) -> Self {
        let seeds = SeedSet::resolve(&options.seeds).unwrap();
        let stories = scenario::all().unwrap();
        let domains = scenario::domains(&stories);
        let request = options.check(seeds.fingerprint(), &domains).unwrap();
        let plan = plan::plan(&request, seeds.seeds(), &stories).unwrap();
        let (evaluators, misread) = (BTreeMap::new(), BTreeMap::new());
        Self { request, seeds, stories, plan, evaluators, misread, heard: Arc::default() }
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
            levels: self.request.levels,
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
            "evaluator" => {
                let blueprint = strategist::strategise(&brief).unwrap();
                let fault = self.evaluators.get(&purpose.slot);
                evaluator(&blueprint, fault.and_then(|fault| fault.of(request, purpose)))
            }
            "judge" => {
                let blueprint = strategist::strategise(&brief).unwrap();
                let mut reading = reading(prompt, &blueprint);
                // The judge has no conversations of its own: it is asked once for each page.
                let asked = self.heard.lock().unwrap();
                let pages =
                    asked.iter().filter(|(slot, role, _)| *slot == purpose.slot && role == "judge");
                match (self.misread.get(&purpose.slot), pages.count()) {
                    (Some(PuppetFault::Always(metric)), _)
                    | (Some(PuppetFault::First(metric)), 1) => reading["metric"] = (*metric).into(),
                    _ => {}
                }
                reading.to_string()
            }
            other => panic!("the puppet cannot answer `{other}`"),
        }
    }
}

/// The built-in evaluator with a line of its own, and with a fault if there is one.
fn evaluator(blueprint: &Blueprint, fault: Option<&str>) -> String {
    let end = "    print(json.dumps(result))\n";
    let template = operator::evaluator(blueprint);
    assert!(template.contains(end));
    let code = template.replace(end, &format!("    {}\n{end}", fault.unwrap_or("pass")));
    format!("Here it is:\n```python\n{SIGNED}{code}```\n")
}

/// What the page in a prompt says; classes are those of the blueprint.
fn reading(prompt: &str, blueprint: &Blueprint) -> serde_json::Value {
    let (asked, page) = prompt.split_once("==========\n").unwrap();
    let line = |start: &str| page.lines().find_map(|line| line.strip_prefix(start)).unwrap();
    let names = |text: &str| -> Vec<String> {
        text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
    };
    let (metric, better) = line("- Metric: ").split_once(" (").unwrap();
    let (_, test) = line("- Rows: ").split_once(" train, ").unwrap();
    let prediction = serde_json::to_value(&blueprint.prediction).unwrap();
    let classes = [&prediction["classes"], &prediction["labels"]];
    let classes = classes.into_iter().find(|names| names.is_array());
    let options = asked.lines().filter_map(|line| line.strip_prefix("  - ")?.split_once(": "));
    // The option that the page names, or whose columns it has.
    let on_page = |text: &str| {
        let parts = if text.contains('`') { names(text) } else { vec![text.to_owned()] };
        parts.iter().map(|part| page.matches(part.as_str()).count()).min().unwrap()
    };
    let (letter, _) = options.max_by_key(|(_, text)| on_page(text)).unwrap();
    serde_json::json!({
        "target_columns": names(line("- Target: ")),
        "metric": metric,
        "better": if better.contains("lower") { "lower" } else { "higher" },
        "id_column": names(line("- Id: "))[0],
        "test_rows": test.trim_end_matches(" test").parse::<u64>().unwrap(),
        "example_file": "sample_submission.csv",
        "classes": classes.unwrap_or(&serde_json::json!([])),
        "row": letter,
    })
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
        let last = request.messages.last().unwrap().content.clone();
        self.heard.lock().unwrap().push((purpose.slot, purpose.role.clone(), last));
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
