//! Knowledge of runs that a model is asked for: labels by votes, tricks that it distils, posts that it
//! takes for the same competition, and what is learned from earlier runs.

use crate::fixture::{Counted, Fixture};
use agents::automind::AutoMindPolicy;
use agents::automind::engineer::{Engineer, EngineerSkill};
use agents::automind::settings::{AutoMindSettings, DraftKnowledge, TrickSettings};
use agents::knowledge::{Job, Knowledge, KnowledgeDesk, TRICK_USES, TrickRecord};
use agents::preset::ScaffoldSettings;
use agents::run::agent::{AgentRest, AgentRunError};
use agents::run::job::AutoMindJob;
use agents::run::journal::Blobs;
use agents::run::knowledge::{
    AnsweredBy, KnowledgeSelection, KnowledgeSettings, ReadyKnowledge, TricksFrom,
};
use agents::run::player::{Answer, Ask, Asked, Player, PlayerFault};
use agents::run::recorded::{RecordedAnswers, differences};
use agents::search::tree::Tree;
use fs_err as fs;

const ASKING: KnowledgeSettings = KnowledgeSettings {
    labels: AnsweredBy::Model,
    leaks: AnsweredBy::Model,
    queries: AnsweredBy::Rules,
    distil: TricksFrom::Model,
    learn: false,
};

fn settings(knowledge: KnowledgeSettings, steps: u32) -> ScaffoldSettings {
    let tricks = TrickSettings {
        knowledge: KnowledgeSelection::Retrieved,
        probability: 1.0,
        ..TrickSettings::default()
    };
    let policy = AutoMindPolicy { drafts: 1, ..AutoMindPolicy::default() };
    let rest = AutoMindSettings::default();
    ScaffoldSettings::AutoMind(AutoMindSettings { tricks, knowledge, steps, policy, ..rest })
}

fn engineer() -> Engineer {
    Engineer::new(1, EngineerSkill { slip: 0.0, fix: 1.0, ..EngineerSkill::default() })
}

/// The shipped cards and two posts on other things.
fn with_posts(fixture: &Fixture) -> KnowledgeDesk<'static> {
    let post = |title: &str, text: &str| {
        format!(
            "{{\"title\": \"{title}\", \"introduction\": \"{text}\", \"tags\": {{\"General Machine \
             Learning\": [\"Classification\"]}}, \"solutions\": {{\"1st\": \"Average the ranks of \
             many forests.\"}}, \"origin\": \"{title}\"}}\n"
        )
    };
    let lines = post("Others", "Weather of the sea") + &post("Boats", "Prices of old boats");
    let path = fixture.run_folder("posts.jsonl");
    fs::write(&path, lines).unwrap();
    let base: &'static Knowledge = Box::leak(Box::new(Knowledge::read(&path).unwrap()));
    KnowledgeDesk::from(base)
}

fn ready(fixture: &Fixture, name: &str) -> ReadyKnowledge {
    let facts = fixture.state(name).knowledge.unwrap();
    ReadyKnowledge::recorded(&facts, &Blobs::new(&fixture.run_folder(name))).unwrap()
}

/// How often a job was asked.
fn asked(fixture: &Fixture, name: &str, job: Job) -> usize {
    let asked = fixture.state(name).asked;
    asked.keys().filter(|(_, what, _)| *what == Asked::Knowledge(job)).count()
}

#[test]
fn labels_by_votes_and_distilled_tricks_stand_in_the_journal() {
    let mut fixture = Fixture::new();
    fixture.knowledge = Box::new(with_posts(&fixture));
    let settings = settings(ASKING, 2);
    fixture.play("whole", &settings, &engineer()).unwrap();
    let state = fixture.state("whole");
    assert!(state.header.knowledge.is_none(), "it was not known yet");
    let facts = state.knowledge.as_ref().unwrap();
    assert_eq!(facts.tricks[0], "distilled-1");
    for (job, count) in [(Job::Label, 5), (Job::Distil, 1), (Job::Fit, 1)] {
        assert_eq!(asked(&fixture, "whole", job), count, "{}", job.name());
    }
    assert!(asked(&fixture, "whole", Job::SameTask) >= 1);
    let ready = ready(&fixture, "whole");
    assert!(!ready.labels.is_empty() && ready.tricks[0].from.len() == 1, "{ready:?}");
    assert!(ready.tricks[0].from[0].starts_with("post-"), "posts come first: {ready:?}");
    // The tricks of this run alone are no evidence for another.
    let uses = TrickRecord::read(&fixture.run_folder("whole").join(TRICK_USES)).unwrap();
    assert!(uses.uses().is_empty());

    // Without the player, and without the base.
    let recorded = RecordedAnswers::new(&state, &fixture.run_folder("whole"));
    fixture.knowledge = Box::new(ready);
    fixture.play("again", &settings, &recorded).unwrap();
    assert_eq!(differences(&state, &fixture.state("again")), Vec::<String>::new());
}

#[test]
fn run_that_asks_for_knowledge_goes_on_from_every_line_and_pauses_where_nobody_answers() {
    let mut fixture = Fixture::new();
    fixture.knowledge = Box::new(with_posts(&fixture));
    let settings = settings(ASKING, 1);
    fixture.play("whole", &settings, &engineer()).unwrap();
    fixture.assert_goes_on_from_every_line(&settings, &engineer());

    let rest = fixture.play("paused", &settings, &Counted::new(&engineer(), 3)).unwrap();
    assert!(matches!(rest, AgentRest::Paused { .. }), "{rest:?}");
    assert_eq!(asked(&fixture, "paused", Job::Label), 3);
    fixture.play("paused", &settings, &engineer()).unwrap();
    assert_eq!(fixture.timeless("paused"), fixture.timeless("whole"));
}

/// An engineer whose answers about knowledge cannot be read.
#[derive(Debug)]
struct Mumbling(Engineer);

impl Player for Mumbling {
    fn name(&self) -> String {
        self.0.name()
    }

    fn answer(&self, ask: &Ask<'_>) -> Result<Answer, PlayerFault> {
        match ask.what {
            Asked::Knowledge(_) => Ok(Answer::whole("It depends.")),
            _ => self.0.answer(ask),
        }
    }
}

#[test]
fn answers_about_knowledge_that_cannot_be_read_leave_rules_and_cards_and_exclude_posts() {
    let mut fixture = Fixture::new();
    fixture.knowledge = Box::new(with_posts(&fixture));
    fixture.play("rules", &settings(KnowledgeSettings::default(), 1), &engineer()).unwrap();
    fixture.play("run", &settings(ASKING, 1), &Mumbling(engineer())).unwrap();
    let (rules, found) = (ready(&fixture, "rules"), ready(&fixture, "run"));
    assert_eq!(found.labels, rules.labels);
    assert_eq!(found.tricks, rules.tricks, "cards as they are");
    let posts = |ready: &ReadyKnowledge| {
        ready.excluded.iter().filter(|line| line.starts_with("post-")).count()
    };
    assert_eq!((posts(&rules), posts(&found)), (0, 2), "{:?}", found.excluded);
    assert!(found.excluded.iter().any(|line| line.contains("unreadable")));
    // Three answers to each of five votes.
    assert_eq!(asked(&fixture, "run", Job::Label), 15);
}

#[test]
fn uses_of_tricks_are_written_and_runs_learn_from_them_only_where_they_are_told_to() {
    let mut fixture = Fixture::new();
    fixture.knowledge = Box::new(KnowledgeDesk::from(Knowledge::shipped()));
    fixture.play("run", &settings(KnowledgeSettings::default(), 6), &engineer()).unwrap();
    let record = TrickRecord::read(&fixture.run_folder("run").join(TRICK_USES)).unwrap();
    let tree = Tree::from_state(&fixture.state("run"));
    let tried = tree.good().filter(|node| node.automind.as_ref().unwrap().applying.is_some());
    assert_eq!(record.uses().len(), tried.count());
    let first = record.uses().first().expect("a trick was tried");
    assert_eq!((first.task.as_str(), first.labels.is_empty()), ("night-shifts", false));
    let node = tree.good().find(|node| node.automind.as_ref().unwrap().applying.is_some());
    let applying = node.and_then(|node| node.automind.as_ref()?.applying.clone()).unwrap();
    let metrics = (tree.node(applying.base).unwrap().metric, node.unwrap().metric);
    assert_eq!(
        (&first.trick, Some(first.parent), Some(first.child)),
        (&applying.trick, metrics.0, metrics.1)
    );

    let learning = settings(KnowledgeSettings { learn: true, ..KnowledgeSettings::default() }, 1);
    let error = fixture.play("alone", &learning, &engineer()).unwrap_err();
    assert!(matches!(error, AgentRunError::Knowledge(_)), "{error}");
    let record: &'static TrickRecord = Box::leak(Box::new(record));
    fixture.knowledge = Box::new(KnowledgeDesk {
        record: Some(record),
        ..KnowledgeDesk::from(Knowledge::shipped())
    });
    fixture.play("learning", &learning, &engineer()).unwrap();
    assert_eq!(ready(&fixture, "learning").record, Some(record.hash()));
    // The record changes nothing for a run that does not learn.
    fixture.play("not", &settings(KnowledgeSettings::default(), 1), &engineer()).unwrap();
    assert_eq!(ready(&fixture, "not"), ready(&fixture, "run"));
}

fn with_papers(knowledge: KnowledgeSettings, drafts: DraftKnowledge) -> ScaffoldSettings {
    let tricks = TrickSettings { drafts, ..TrickSettings::default() };
    let policy = AutoMindPolicy { drafts: 2, ..AutoMindPolicy::default() };
    let rest = AutoMindSettings::default();
    ScaffoldSettings::AutoMind(AutoMindSettings { tricks, knowledge, policy, steps: 2, ..rest })
}

#[test]
fn drafts_from_papers_are_planned_in_stages() {
    let mut fixture = Fixture::new();
    fixture.knowledge = Box::new(KnowledgeDesk::from(Knowledge::shipped()));
    let asking = KnowledgeSettings { queries: AnsweredBy::Model, ..KnowledgeSettings::default() };
    let settings = with_papers(asking, DraftKnowledge::Papers);
    fixture.play("run", &settings, &engineer()).unwrap();
    let (state, ready) = (fixture.state("run"), ready(&fixture, "run"));
    assert_eq!((ready.methods.len(), ready.tricks.len()), (4, 0));
    assert_eq!(asked(&fixture, "run", Job::Queries), 1);
    let jobs: Vec<&str> = state
        .asked
        .keys()
        .filter(|(node, what, _)| node.0 == 0 && matches!(what, Asked::AutoMind(_)))
        .map(|(_, what, _)| what.name())
        .collect();
    for (job, count) in
        [("compatible", 1), ("modules", 2), ("abstract", 1), ("detailed", 1), ("check", 2)]
    {
        assert_eq!(jobs.iter().filter(|asked| **asked == job).count(), count, "{job}: {jobs:?}");
    }
    assert!(!jobs.contains(&"draft"), "no plain plan is needed");
    for node in state.nodes.values() {
        let facts = node.automind.as_ref().unwrap();
        assert!(node.is_good() && facts.papers.len() == 2, "{node:?}");
        assert!(facts.papers.iter().all(|id| ready.methods.iter().any(|known| known.id == *id)));
        assert!(node.plan.starts_with("1. The outline\n"), "{}", node.plan);
    }
    let recorded = RecordedAnswers::new(&state, &fixture.run_folder("run"));
    fixture.play("again", &settings, &recorded).unwrap();
    assert_eq!(differences(&state, &fixture.state("again")), Vec::<String>::new());
}

/// An engineer who gives no answer of one kind that can be read, or objects to every plan.
#[derive(Debug)]
struct Failing(Engineer, AutoMindJob);

impl Player for Failing {
    fn name(&self) -> String {
        self.0.name()
    }

    fn answer(&self, ask: &Ask<'_>) -> Result<Answer, PlayerFault> {
        match ask.what {
            Asked::AutoMind(AutoMindJob::Check) if self.1 == AutoMindJob::Check => {
                Ok(Answer::whole("```json\n{\"why\": \"It is too slow.\", \"ok\": false}\n```"))
            }
            Asked::AutoMind(job) if job == self.1 => Ok(Answer::whole("I would rather not.")),
            _ => self.0.answer(ask),
        }
    }
}

#[test]
fn stage_that_fails_leaves_a_plain_plan_and_says_why() {
    let mut fixture = Fixture::new();
    fixture.knowledge = Box::new(KnowledgeDesk::from(Knowledge::shipped()));
    let settings = with_papers(KnowledgeSettings::default(), DraftKnowledge::Both);
    let stages = [
        (AutoMindJob::Compatible, "fenced block"),
        (AutoMindJob::Modules, "fenced block"),
        (AutoMindJob::Detailed, "fenced block"),
        (AutoMindJob::Check, "It is too slow."),
    ];
    for (job, expected) in stages {
        let name = job.name();
        fixture.play(name, &settings, &Failing(engineer(), job)).unwrap();
        let state = fixture.state(name);
        let count = state
            .asked
            .keys()
            .filter(|(node, what, _)| node.0 == 0 && *what == Asked::AutoMind(job));
        assert_eq!(count.count(), 3, "{name}");
        let node = &state.nodes[&agents::run::node::NodeId(0)];
        let facts = node.automind.as_ref().unwrap();
        assert!(node.is_good() && facts.papers.is_empty(), "{name}: {node:?}");
        assert!(node.plan.starts_with("Settings: "), "{name}: {}", node.plan);
        let why = facts.no_papers.as_ref().expect(name);
        assert!(why.contains(expected), "{name}: {why}");
    }
    // Without a base there are no methods, and that is said.
    fixture.knowledge = Box::new(());
    let error = fixture.play("none", &settings, &engineer()).unwrap_err();
    assert!(matches!(error, AgentRunError::Knowledge(_)), "{error}");
}
