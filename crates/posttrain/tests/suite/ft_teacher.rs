//! Scripts that have a chat model write for the data.

use crate::ft_agent::{endpoints, ft, planned, refused, serve, timeless};
use crate::ft_fixture::{Place, proposal};
use fs_err as fs;
use llm::{ChatError, ChatModel, Completion, Finish, Purpose, Request, Role, Usage};
use posttrain::ft::{
    CheckOutcome, Draft, ErrorClass, FtFault, FtLimits, FtSettings, Stage, Teacher, TeacherModel,
    Teachers, Validation,
};
use serde_json::Value;
use std::sync::{Arc, Mutex};
use support::provider::{FakeProvider, Piece, SeenRequest, USAGE, openai_events, stream};

const ASKING: &str = include_str!("ft/asking.py");

/// A teacher that comes to the answer that it is told. Where that ends with 5, it does so at the second
/// time alone, and where it ends with 1, its words are cut.
#[derive(Debug, Default)]
struct Told {
    asked: Mutex<Vec<Request>>,
    /// What it fails with when it was asked so often.
    fails: Option<(usize, fn() -> ChatError)>,
}

impl ChatModel for Told {
    fn complete(&self, request: &Request, _: &Purpose) -> Result<Completion, ChatError> {
        let mut asked = self.asked.lock().unwrap();
        asked.push(request.clone());
        if let Some((calls, error)) = self.fails
            && asked.len() > calls
        {
            return Err(error());
        }
        drop(asked);
        let prompt = &request.messages.last().unwrap().content;
        let answer = prompt.rsplit_once("The answer is ").unwrap().1.split_once('.').unwrap().0;
        let kind = answer.parse::<u32>().unwrap() % 10;
        let end = if kind == 5 && request.sample == 0 { "1000" } else { answer };
        Ok(Completion {
            text: format!("We go on step by step to {answer}.\n\\boxed{{{end}}}"),
            thoughts: None,
            finish: if kind == 1 { Finish::Length } else { Finish::Stop },
            refusal: None,
            usage: Usage::default(),
            model: request.model.clone(),
            id: String::new(),
        })
    }
}

/// A place whose scripts may ask a weak teacher.
fn place(limits: FtLimits, told: &Arc<Told>) -> Place {
    let teacher = TeacherModel::new(Box::new(Arc::clone(told)), "m");
    let teachers = Teachers { weak: Some(teacher), strong: None };
    Place::new(FtSettings { limits, ..FtSettings::default() }).with_teachers(teachers)
}

fn draft(script: &str, tier: Teacher) -> Draft {
    let mut proposal = proposal();
    proposal.data.synthesis.teacher = tier;
    proposal.data.synthesis.what = "the steps to known answers".into();
    Draft { proposal, script: script.to_owned(), config: "epochs = 2\n".into(), parent_data: None }
}

/// The stage that rejected, its class and what it said.
fn rejection(found: &Validation) -> (Stage, ErrorClass, String) {
    let (stage, rejection) = found.rejection().expect("a rejection");
    (stage, rejection.class, rejection.message)
}

#[test]
fn script_is_run_again_with_the_answers_until_it_asks_nothing_new() {
    let told = Arc::new(Told::default());
    let place = place(FtLimits::default(), &told);
    let found = place.validate(&draft(ASKING, Teacher::Weak));
    assert!(found.plan.is_some(), "{:?}", found.checks);
    let asked = told.asked.lock().unwrap().clone();
    // Ten questions, and those again that came to another answer.
    let (first, again): (Vec<&Request>, Vec<&Request>) =
        asked.iter().partition(|request| request.sample == 0);
    let of_end = |digit| first.iter().filter(|request| ends_in(request, digit)).count();
    let (late, cut) = (of_end('5'), of_end('1'));
    assert!(late > 0 && cut > 0);
    assert_eq!((first.len(), again.len()), (10, late + cut));
    for request in &asked {
        let roles: Vec<Role> = request.messages.iter().map(|message| message.role).collect();
        assert_eq!(roles, [Role::System, Role::User]);
        assert_eq!((request.temperature, request.max_tokens), (Some(1.0), 1024));
        assert_eq!(request.model, "m");
    }
    let CheckOutcome::Warned { messages } = &found.checks[1].outcome else {
        panic!("{:?}", found.checks)
    };
    let said = format!("no whole answer to {} of {} questions", 2 * cut, asked.len());
    assert!(messages.iter().any(|message| message.contains(&said)), "{messages:?}");
}

/// Whether the answer that a question names ends with this digit.
fn ends_in(request: &Request, digit: char) -> bool {
    let prompt = &request.messages.last().unwrap().content;
    let told = prompt.rsplit_once("The answer is ").unwrap().1;
    told.split_once('.').unwrap().0.ends_with(digit)
}

#[test]
fn what_may_not_be_asked_is_a_rejection_that_says_what_to_do() {
    let limits = FtLimits { teacher_debug_questions: 5, ..FtLimits::default() };
    let limits = FtLimits { teacher_rounds: 3, ..limits };
    let told = Arc::new(Told::default());
    let place = place(limits, &told);
    let one = |line: &str| format!("import teacher\n{line}\n");
    let cases = [
        (ASKING.to_owned(), Teacher::Weak, Stage::Debug, ErrorClass::Data, "a debug run may ask 5"),
        (
            one("for n in range(9): teacher.ask([f'The answer is {n}.'])"),
            Teacher::Weak,
            Stage::Debug,
            ErrorClass::Data,
            "in more than 3 rounds",
        ),
        (
            one("teacher.ask(['The answer is 1.'], max_tokens=5000)"),
            Teacher::Weak,
            Stage::Debug,
            ErrorClass::Data,
            "5000 tokens, and 4096 are allowed",
        ),
        (one("teacher.ask('one')"), Teacher::Weak, Stage::Debug, ErrorClass::Data, "TypeError"),
        (
            one("open(teacher.QUESTIONS, 'w').write('[1]')"),
            Teacher::Weak,
            Stage::Debug,
            ErrorClass::Data,
            "ask by `teacher.ask` alone",
        ),
        (
            one("teacher.ask(['The answer is 1.'], system=1)"),
            Teacher::Weak,
            Stage::Debug,
            ErrorClass::Data,
            "`system` is a text",
        ),
        (
            ASKING.to_owned(),
            Teacher::Strong,
            Stage::Static,
            ErrorClass::Planner,
            "is `strong`, and this run has none, weak",
        ),
    ];
    for (script, tier, stage, class, expected) in cases {
        let (found, of, said) = rejection(&place.validate(&draft(&script, tier)));
        assert_eq!((found, of), (stage, class), "{said}");
        assert!(said.contains(expected), "{expected}: {said}");
    }
    // Without a teacher there is no such module.
    let mut alone = draft(ASKING, Teacher::None);
    alone.proposal.data.synthesis.what.clear();
    let (stage, class, said) = rejection(&place.validate(&alone));
    assert_eq!((stage, class), (Stage::Static, ErrorClass::Env));
    assert!(said.contains("imports `teacher`"), "{said}");
}

#[test]
fn nobody_is_asked_once_the_run_is_to_stop() {
    let told = Arc::new(Told::default());
    let place = place(FtLimits::default(), &told);
    place.interrupt(true);
    let found = place.try_validate(&draft(ASKING, Teacher::Weak));
    assert!(matches!(found, Err(FtFault::Interrupted)), "{found:?}");
    assert!(told.asked.lock().unwrap().is_empty());
}

#[test]
fn provider_that_rejects_a_question_is_told_to_the_planner_and_one_that_is_away_is_not() {
    let fails = |error: fn() -> ChatError| {
        let told = Arc::new(Told { fails: Some((4, error)), ..Told::default() });
        place(FtLimits::default(), &told).try_validate(&draft(ASKING, Teacher::Weak))
    };
    let found = fails(|| ChatError::Rejected { status: 400, said: "no such temperature".into() });
    let (stage, class, said) = rejection(&found.unwrap());
    assert_eq!((stage, class), (Stage::Debug, ErrorClass::Data));
    assert!(said.contains("no such temperature"), "{said}");
    let found = fails(|| ChatError::Budget { reason: "all is spent".into() });
    assert!(matches!(found, Err(FtFault::Model(ChatError::Budget { .. }))));
}

/// What a provider answers whose model `m` plans with a teacher, and whose model `t` is that.
fn answered(request: &SeenRequest) -> String {
    let body: Value = serde_json::from_str(&request.body).unwrap();
    if body["model"] == "t" {
        let asked = body["messages"][1]["content"].as_str().unwrap();
        let answer = asked.rsplit_once("The answer is ").unwrap().1.split_once('.').unwrap().0;
        return format!("We go on step by step to {answer}.\n\\boxed{{{answer}}}");
    }
    let planned = planned(request);
    if planned.contains("```python") {
        return format!("```python\n{ASKING}```");
    }
    let none = "\"synthesis\":{\"teacher\":\"none\",\"what\":\"\"}";
    planned.replace(none, "\"synthesis\":{\"teacher\":\"weak\",\"what\":\"steps\"}")
}

#[test]
fn run_with_a_teacher_pays_for_each_answer_once_and_plays_again_from_its_recording() {
    let place = Place::new(FtSettings::default());
    let server = serve(&place);
    let provider = FakeProvider::start(|_, request| {
        vec![Piece::Bytes(stream(&openai_events(&[&answered(request)], USAGE)))]
    });
    let (models, prices) = endpoints(&place, &provider);
    let flags = ["--planner", "fake:m", "--teacher", "weak=fake:t", "--models", models.as_str()];
    let paid = [&flags[..], &["--prices", prices.as_str(), "--budget-usd", "1"]].concat();
    let done = ft(&place, &server, "run", &paid).output().unwrap();
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    // 120 rows, ten of them in the debug run before, and the second experiment keeps the data.
    let of_teacher = |seen: &[SeenRequest]| {
        seen.iter().filter(|request| request.body.contains("\"model\":\"t\"")).count()
    };
    assert_eq!(of_teacher(&provider.seen()), 120);
    let seen = provider.seen().len();
    let data = fs::read_to_string(place.path("run/experiments/001/data.json")).unwrap();
    assert_eq!(data.matches("step by step").count(), 120);
    let replay = place.path("run/recording.jsonl");
    let replay = [&flags[..], &["--replay", replay.as_str()]].concat();
    let again = ft(&place, &server, "again", &replay).output().unwrap();
    assert_eq!(again.status.code(), Some(0), "{again:?}");
    assert_eq!(timeless(&place.path("again")), timeless(&place.path("run")));
    assert_eq!(provider.seen().len(), seen);
}

#[test]
fn flags_about_teachers_that_cannot_be_meant_are_refused() {
    for (flags, expected) in [
        (&["--teacher", "openai:m"][..], "TIER=ENDPOINT:NAME"),
        (&["--teacher", "dear=openai:m"], "`weak` or `strong`"),
        (&["--teacher", "weak=nobody:m"], "nobody"),
        (&["--teacher", "weak=openai:a", "--teacher", "weak=openai:b"], "more than one"),
        (&["--teacher", "weak=openai:m", "--budget-usd", "1"], "needs the price of `m`"),
    ] {
        let said = refused(flags);
        assert!(said.contains(expected), "{flags:?}: {said}");
    }
}
