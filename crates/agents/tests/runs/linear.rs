//! Linear agents: what is written down, what is still shown, and that a run goes on where it was.

use crate::fixture::{Counted, Fixture};
use agents::grammar::{answer_turn, python_turn, score_turn};
use agents::linear::run::TRAJECTORY;
use agents::linear::settings::{LinearSettings, LongConversation};
use agents::linear::{last_turn, script_turn};
use agents::preset::ScaffoldSettings;
use agents::run::agent::AgentRest;
use agents::run::journal::{AgentEnd, JournalError, JournalLine, journal_path, read_lines};
use agents::run::node::{BlobHash, NodeId};
use agents::run::player::{Answer, Ask, LinearAgent, Player, PlayerFault};
use agents::scaffold::fixed::FixedScript;
use agents::search::samples;
use agents::trajectory::{EpisodeEnding, Source, Tool, Trajectory};
use fs_err as fs;
use sandbox::env::Feedback;

/// Takes these turns, one after the other.
#[derive(Debug)]
struct Turns(Vec<String>);

impl Player for Turns {
    fn name(&self) -> String {
        "turns".to_owned()
    }

    fn answer(&self, ask: &Ask<'_>) -> Result<Answer, PlayerFault> {
        // What comes after them is declined.
        let declined = || PlayerFault::Refused("no".to_owned());
        self.0.get(ask.node.index()).map(Answer::whole).ok_or_else(declined)
    }
}

fn react(turns: u32) -> LinearSettings {
    LinearSettings { turns, ..LinearSettings::default() }
}

fn mle_agent(turns: u32) -> LinearSettings {
    LinearSettings { agent: LinearAgent::MleAgent, turns, ..LinearSettings::default() }
}

fn play(fixture: &Fixture, settings: LinearSettings, player: &dyn Player) -> AgentRest {
    fixture.play("run", &ScaffoldSettings::Linear(settings), player).unwrap()
}

fn trajectory(fixture: &Fixture) -> Trajectory {
    let text = fs::read_to_string(fixture.run_folder("run").join(TRAJECTORY)).unwrap();
    assert_eq!(text.lines().count(), 1);
    serde_json::from_str(&text).unwrap()
}

/// Writes a submission of this probability for every row.
fn constant(probability: f64) -> String {
    format!(
        "import pandas as pd\ns = pd.read_csv('input/sample_submission.csv')\n\
         s.iloc[:, 1] = {probability}\ns.to_csv('submission.csv', index=False)\n\
         print('Validation score: {probability}')\n"
    )
}

#[test]
fn react_run_leaves_the_last_submission_and_a_trajectory() {
    let fixture = Fixture::new();
    let turns = Turns(vec![
        python_turn("The sample.", &constant(0.25)),
        score_turn("Is it valid?"),
        "I am not sure.".to_owned(),
        python_turn("Files last.", "print(open('submission.csv').readline())"),
        answer_turn("Done."),
    ]);
    let rest = play(&fixture, react(9), &turns);
    let chosen = Some(NodeId(4));
    assert_eq!(rest, AgentRest::Finished { chosen, why: AgentEnd::Answered });
    let state = fixture.state("run");
    let tools = [Tool::Python, Tool::Score, Tool::Malformed, Tool::Python, Tool::Answer];
    let found: Vec<Tool> = state.turns.iter().map(|turn| turn.record.tool).collect();
    assert_eq!(found, tools);
    assert_eq!(state.turns[0].metric, Some(0.25));
    let submission = fs::read(fixture.run_folder("run").join("submission.csv")).unwrap();
    assert_eq!(state.submission(NodeId(4)), Some(&BlobHash::of(&submission)));
    let runs = fixture.run_folder("run").parent().unwrap().to_owned();
    let conversations = samples::read_conversations(&runs).unwrap();
    assert!(samples::read(&runs).unwrap().is_empty(), "it is no search");
    let trajectory = trajectory(&fixture);
    assert_eq!(conversations, std::slice::from_ref(&trajectory));
    assert_eq!(trajectory.ending, EpisodeEnding::Answered);
    assert_eq!(trajectory.segments.len(), 2 + 2 * 4 + 1);
    let shown = |index: usize| trajectory.segments[index].text.as_str();
    assert!(shown(1).contains("You have 9 turns and 24 hours in all"), "{}", shown(1));
    assert!(shown(5).contains("valid submission"), "{}", shown(5));
    assert!(shown(7).contains("malformed turn: write one"), "{}", shown(7));
    assert!(shown(9).contains("id,y"), "{}", shown(9));
    assert_eq!(trajectory.segments[10].source, Source::Model);
    // A run that is over is not run again.
    assert_eq!(play(&fixture, react(9), &Counted::new(&turns, 0)), rest);
}

#[test]
fn react_run_cut_after_any_line_goes_on_to_the_same_journal() {
    let fixture = Fixture::new();
    // Each script needs a file of the one before it.
    let step = |number: u32| {
        let before = number.saturating_sub(1);
        let read =
            if number == 0 { "1".to_owned() } else { format!("int(open('{before}').read())") };
        let code = format!("n = {read} * 3\nopen('{number}', 'w').write(str(n))\nprint(n)\n");
        python_turn("On.", &format!("{code}{}", constant(0.1 * f64::from(number))))
    };
    let mut turns: Vec<String> = (0..4).map(step).collect();
    turns.push(answer_turn("Done."));
    let (settings, turns) = (ScaffoldSettings::Linear(react(6)), Turns(turns));
    fixture.play("whole", &settings, &turns).unwrap();
    let state = fixture.state("whole");
    let last = state.turns[3].reply.as_ref().unwrap();
    let blobs = agents::run::journal::Blobs::new(&fixture.run_folder("whole"));
    assert!(blobs.text(last).unwrap().contains("\n81\n"));
    fixture.assert_goes_on_from_every_line(&settings, &turns);
}

#[test]
fn script_that_comes_out_otherwise_when_it_is_run_again_is_noted() {
    let fixture = Fixture::new();
    let script = format!("import os\n{}", constant(0.5));
    let drawn = script.replace("= 0.5\n", "= os.urandom(4)[0] / 255 + os.urandom(4)[0] / 1e6\n");
    let turns = Turns(vec![python_turn("Draw.", &drawn), answer_turn("Done.")]);
    let settings = ScaffoldSettings::Linear(react(6));
    fixture.play("run", &settings, &Counted::new(&turns, 1)).unwrap();
    fixture.play("run", &settings, &turns).unwrap();
    let lines = read_lines(&journal_path(&fixture.run_folder("run"))).unwrap();
    let changed = lines.iter().find_map(|line| match line {
        JournalLine::Resumed { changed, .. } => Some(changed.clone()),
        _ => None,
    });
    assert_eq!(changed, Some(vec![NodeId(0)]));
}

#[test]
fn fixed_script_runs_once_in_either_form() {
    for (settings, why) in [(react(4), AgentEnd::Answered), (mle_agent(4), AgentEnd::Steps)] {
        let fixture = Fixture::new();
        let rest = play(&fixture, settings, &FixedScript::new("fixed", constant(0.5)));
        assert!(
            matches!(rest, AgentRest::Finished { chosen: Some(_), why: found } if found == why),
            "{rest:?}"
        );
        let state = fixture.state("run");
        let scripts = state.turns.iter().filter(|turn| turn.record.tool == Tool::Python);
        assert_eq!(scripts.count(), 1);
        assert!(fixture.run_folder("run").join("submission.csv").exists());
        assert!(trajectory(&fixture).grade().is_some());
    }
}

#[test]
fn mutator_plays_both_forms_and_mle_agent_goes_on_from_every_line() {
    let fixture = Fixture::new();
    let mutator = fixture.mutator();
    let settings = ScaffoldSettings::Linear(mle_agent(4));
    fixture.play("whole", &settings, &mutator).unwrap();
    let state = fixture.state("whole");
    assert_eq!(state.turns.len(), 4);
    assert!(state.turns.iter().any(|turn| turn.metric.is_some()));
    fixture.assert_goes_on_from_every_line(&settings, &mutator);
}

#[test]
fn mle_agent_throws_validated_submissions_away_and_keeps_the_best_where_scores_are_told() {
    let mut fixture = Fixture::new();
    fixture.config.feedback = Feedback::Full;
    let execute = |code: &str| script_turn(LinearAgent::MleAgent, "", code);
    let good = "import pandas as pd\nt = pd.read_csv('input/test.csv')\n\
                s = pd.read_csv('input/sample_submission.csv')\n\
                s.iloc[:, 1] = (t.a * t.b > 0).astype(float)\n\
                s.to_csv('submission.csv', index=False)\n";
    let validate = execute(&constant(0.5)).replace("execute_code", "validate_code");
    let bad = good.replace("> 0", "< 0");
    let turns = Turns(vec![
        validate,
        execute(good),
        execute(&bad),
        execute("print(open('submission.csv'))"),
        last_turn(LinearAgent::MleAgent, ""),
    ]);
    let rest = play(&fixture, mle_agent(5), &turns);
    let chosen = Some(NodeId(4));
    assert_eq!(rest, AgentRest::Finished { chosen, why: AgentEnd::Steps });
    let state = fixture.state("run");
    let submissions: Vec<bool> = state.turns.iter().map(|turn| turn.submission.is_some()).collect();
    assert_eq!(submissions, [false, true, true, true, true]);
    assert_eq!(state.turns[1].submission, state.turns[4].submission);
    assert!(state.turns[3].record.failed(), "each script has a work dir of its own");
    let trajectory = trajectory(&fixture);
    let reply = &trajectory.segments[5].text;
    assert!(reply.contains("\"action_status\": \"SUCCESS\""), "{reply}");
    assert!(reply.contains("score: "), "{reply}");
}

#[test]
fn mle_agent_repairs_an_answer_and_gives_up_after_three() {
    #[derive(Debug)]
    struct Chatter;
    impl Player for Chatter {
        fn name(&self) -> String {
            "chatter".to_owned()
        }
        fn answer(&self, ask: &Ask<'_>) -> Result<Answer, PlayerFault> {
            let last = &ask.messages.last().unwrap().content;
            assert_eq!(ask.attempt > 0, last.starts_with("There is no JSON object"), "{last}");
            let repaired = ask.node.0 == 1 && ask.attempt == 2;
            Ok(Answer::whole(if repaired {
                last_turn(LinearAgent::MleAgent, "")
            } else {
                "Let me think.".to_owned()
            }))
        }
    }
    let fixture = Fixture::new();
    let counted = Counted::new(&Chatter, usize::MAX);
    let rest = play(&fixture, mle_agent(2), &counted);
    assert_eq!(rest, AgentRest::Finished { chosen: None, why: AgentEnd::Steps });
    assert_eq!(counted.seen.into_inner().unwrap().len(), 4 + 3);
    let tools: Vec<Tool> = fixture.state("run").turns.iter().map(|turn| turn.record.tool).collect();
    assert_eq!(tools, [Tool::Malformed, Tool::Info]);
}

/// Turns of which the second fails, long enough that four of them are too many.
fn long_turns() -> Turns {
    let padding = "# padding\n".repeat(40);
    let turn = |number: u32| {
        let end = if number == 1 { "1 / 0\n" } else { "" };
        python_turn("On.", &format!("{padding}print({number})\n{end}"))
    };
    Turns((0..8).map(turn).chain([answer_turn("Done.")]).collect())
}

#[test]
fn long_conversation_loses_failed_turns_first() {
    let mut fixture = Fixture::new();
    fixture.view.page = "A task.\n".to_owned();
    let settings = LinearSettings { input_tokens: 1100, ..react(12) };
    play(&fixture, settings, &long_turns());
    let state = fixture.state("run");
    let left_out: Vec<Vec<u32>> = state
        .asked
        .values()
        .map(|asked| asked.left_out_turns.iter().map(|turn| turn.0).collect())
        .collect();
    let first = left_out.iter().position(|turns| !turns.is_empty()).unwrap();
    assert_eq!(left_out[first], [1], "{left_out:?}");
    let last = left_out.last().unwrap();
    assert!(last.len() > 1 && !last.contains(&7), "{left_out:?}");
    let trajectory = trajectory(&fixture);
    let omissions = &trajectory.omissions;
    assert_eq!(omissions[0].segments, [4, 5]);
    assert_eq!(omissions[0].before, 2 + 2 * first);
    let omitted: usize = omissions.iter().map(|omission| omission.segments.len()).sum();
    assert_eq!(omitted, 2 * last.len());
}

#[test]
fn long_conversation_ends_the_run_where_nothing_may_be_left_out() {
    let mut fixture = Fixture::new();
    fixture.view.page = "A task.\n".to_owned();
    let settings =
        LinearSettings { input_tokens: 1100, overflow: LongConversation::End, ..react(9) };
    let rest = play(&fixture, settings, &long_turns());
    assert_eq!(rest, AgentRest::Finished { chosen: None, why: AgentEnd::Context });
    assert_eq!(trajectory(&fixture).ending, EpisodeEnding::Tokens);
}

#[test]
fn provider_that_takes_less_is_asked_with_less() {
    #[derive(Debug)]
    struct Short(Turns);
    impl Player for Short {
        fn name(&self) -> String {
            "short".to_owned()
        }
        fn answer(&self, ask: &Ask<'_>) -> Result<Answer, PlayerFault> {
            if ask.messages.len() > 2 + 2 * 2 {
                return Err(PlayerFault::ContextTooLong { said: "too long".to_owned() });
            }
            self.0.answer(ask)
        }
    }
    let fixture = Fixture::new();
    let rest = play(&fixture, react(9), &Short(long_turns()));
    assert_eq!(rest, AgentRest::Finished { chosen: None, why: AgentEnd::Answered });
    let settings = LinearSettings { overflow: LongConversation::End, ..react(9) };
    let settings = ScaffoldSettings::Linear(settings);
    let rest = fixture.play("end", &settings, &Short(long_turns())).unwrap();
    assert_eq!(rest, AgentRest::Finished { chosen: None, why: AgentEnd::Context });
}

#[test]
fn recent_turns_alone_are_shown_where_that_is_set() {
    #[derive(Debug)]
    struct Two(Turns);
    impl Player for Two {
        fn name(&self) -> String {
            "two".to_owned()
        }
        fn answer(&self, ask: &Ask<'_>) -> Result<Answer, PlayerFault> {
            assert_eq!(ask.messages.len(), 2 + 2 * ask.node.index().min(2));
            self.0.answer(ask)
        }
    }
    let fixture = Fixture::new();
    play(&fixture, LinearSettings { recent: 2, ..react(9) }, &Two(long_turns()));
}

#[test]
fn player_that_declines_ends_the_run_as_it_stands() {
    let fixture = Fixture::new();
    let turns = Turns(vec![python_turn("The sample.", &constant(0.25))]);
    let rest = play(&fixture, react(9), &turns);
    assert_eq!(rest, AgentRest::Finished { chosen: Some(NodeId(0)), why: AgentEnd::Refused });
    assert!(fixture.run_folder("run").join("submission.csv").exists());
    assert!(!fixture.run_folder("run").join(TRAJECTORY).exists());
}

#[test]
fn journal_of_another_version_is_named() {
    let fixture = Fixture::new();
    play(&fixture, react(2), &FixedScript::new("fixed", constant(0.5)));
    let path = journal_path(&fixture.run_folder("run"));
    let text = fs::read_to_string(&path).unwrap().replacen("\"version\":2", "\"version\":1", 1);
    fs::write(&path, text).unwrap();
    let error = read_lines(&path).unwrap_err();
    assert!(matches!(error, JournalError::Version { found: 1, .. }), "{error}");
}
