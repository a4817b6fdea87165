//! Every rule on hand-made turns of its kind: at least 200 that it is to find and 200 that it is not, from
//! tables of variations. They agree on all of them.

use agents::grammar::{ToolCallFormat, answer_turn};
use agents::guide::guidance::{GuidanceState, GuidanceText, PostedGuidance, TurnRange};
use agents::guide::transcript::{Transcript, TranscriptTurn};
use agents::guide::turn::{End, TurnReport};
use agents::guide::verdicts::{Rule, Trained, Verdicts};
use agents::trajectory::{Tool, TurnRecord};
use jail::exec::Outcome;
use std::collections::BTreeSet;
use tasks::grade::Grade;
use tasks::thresholds::Milestone;

/// The fewest turns on either side.
const LEAST: usize = 200;

const THOUGHTS: [&str; 3] = ["Try.", "", "First I look at it.\nThen I fit a model."];
const CODES: [&str; 10] = [
    "print(1)",
    "import pandas as pd\nprint(pd.read_csv('input/train.csv').head())",
    "x = [i for i in range(9)]",
    "def f(a):\n    return a + 1\nf(2)",
    "model.fit(train, y)",
    "sub.to_csv('submission.csv', index=False)",
    "for i in range(3):\n    print(i)",
    "assert len(train) > 10, 'too few'",
    "import numpy as np; print(np.arange(3).sum())",
    "with open('notes.txt') as f:\n    print(f.read())",
];

fn turn(text: &str, tool: Tool, outcome: Option<Outcome>, observation: &str) -> TranscriptTurn {
    let record = TurnRecord { tool, has_thought: true, outcome, seconds: 0.1, cached: false };
    let observation = (tool != Tool::Answer).then(|| observation.to_owned());
    TranscriptTurn::new(TurnReport::new(text, observation, record, Vec::new()))
}

fn script_in(
    (format, thought): (ToolCallFormat, &str),
    code: &str,
    outcome: Outcome,
    observation: &str,
) -> TranscriptTurn {
    turn(&format.python_turn(thought, code), Tool::Python, Some(outcome), observation)
}

fn script(code: &str, observation: &str) -> TranscriptTurn {
    script_in((ToolCallFormat::Code, "Try."), code, Outcome::Finished, observation)
}

fn score(observation: &str) -> TranscriptTurn {
    turn(&ToolCallFormat::Code.score_turn("How good?"), Tool::Score, None, observation)
}

fn malformed(text: &str) -> TranscriptTurn {
    turn(text, Tool::Malformed, None, "malformed turn: write one call")
}

fn answer() -> TranscriptTurn {
    turn(&answer_turn("Done."), Tool::Answer, None, "")
}

/// A turn with which no rule has anything to do, another one for each number.
fn filler(number: usize) -> TranscriptTurn {
    script(&format!("print({number} + 100)"), &format!("finished\n[stdout]\n{}", number + 100))
}

fn run_of(turns: Vec<TranscriptTurn>) -> Transcript {
    let (opening, id) = (super::fixture::opening(), "run".parse().unwrap());
    let (guidance, verdicts) = (Vec::new(), Vec::new());
    Transcript { id, opening, turns, guidance, verdicts, end: None }
}

/// Formats of calls and thoughts.
fn styles() -> Vec<(ToolCallFormat, &'static str)> {
    let formats = ToolCallFormat::ALL.into_iter();
    formats.flat_map(|format| THOUGHTS.map(|thought| (format, thought))).collect()
}

/// Turns of one rule's kind that were judged.
#[derive(Default)]
struct Judged {
    found: usize,
    fine: usize,
}

impl Judged {
    /// A run of which the rule is to find exactly the turns `found`, and of which the turns `fine` are
    /// those that it might find by mistake.
    fn run(&mut self, rule: Rule, run: &Transcript, found: &[u32], fine: &[u32]) {
        let expected: BTreeSet<u32> = found.iter().copied().collect();
        let by_rule: BTreeSet<u32> =
            rule.findings(run).into_iter().map(|finding| finding.turn).collect();
        let texts = || run.turns.iter().map(|turn| turn.report.text()).collect::<Vec<_>>();
        assert_eq!(by_rule, expected, "{}: {:#?}", rule.name(), texts());
        // What a rule finds is not trained on, where nobody says otherwise.
        let verdicts = Verdicts::of(run, Vec::new());
        for turn in &expected {
            assert_eq!(verdicts.trained(*turn), Trained::Nothing, "{} {turn}", rule.name());
        }
        self.found += expected.len();
        self.fine += fine.len();
    }

    /// The same of one turn, after none and then after others, fewer than `most_before` of them.
    fn turn(&mut self, rule: Rule, turn: &TranscriptTurn, is_found: bool, most_before: usize) {
        for before in 0..most_before {
            let mut turns: Vec<TranscriptTurn> = (0..before).map(filler).collect();
            turns.push(turn.clone());
            let at = u32::try_from(before).unwrap();
            let (found, fine) = if is_found { (vec![at], vec![]) } else { (vec![], vec![at]) };
            self.run(rule, &run_of(turns), &found, &fine);
        }
    }

    fn end(self, rule: Rule) {
        let Self { found, fine } = self;
        assert!(found >= LEAST && fine >= LEAST, "{}: {found} and {fine}", rule.name());
    }
}

fn raised(exception: &str) -> Outcome {
    Outcome::Raised { exception: exception.to_owned() }
}

#[test]
fn raised_and_timed_out_agree_on_scripts_by_how_they_ended() {
    let failures = [
        raised("KeyError"),
        raised("ModuleNotFoundError"),
        raised("ValueError"),
        Outcome::Exited { code: 1 },
        Outcome::OutOfMemory,
        Outcome::DiskLimit,
        Outcome::OutputLimit,
        Outcome::Killed { signal: 11 },
    ];
    let (mut raises, mut late) = (Judged::default(), Judged::default());
    for style in styles() {
        for code in CODES {
            let ended = |outcome: &Outcome| script_in(style, code, outcome.clone(), "ended");
            for failure in &failures {
                raises.turn(Rule::Raised, &ended(failure), true, 1);
                late.turn(Rule::TimedOut, &ended(failure), false, 1);
            }
            for fine in [Outcome::Finished, Outcome::TimedOut] {
                raises.turn(Rule::Raised, &ended(&fine), false, 2);
            }
            late.turn(Rule::TimedOut, &ended(&Outcome::TimedOut), true, 4);
            late.turn(Rule::TimedOut, &ended(&Outcome::Finished), false, 1);
        }
    }
    raises.end(Rule::Raised);
    late.end(Rule::TimedOut);
}

#[test]
fn malformed_agrees_on_turns_that_can_be_carried_out_or_not() {
    let mut judged = Judged::default();
    let texts = [
        "well",
        "",
        "<think>open",
        "<tool_call>\npython\n<code>\nprint(1)",
        "<answer>submission",
        "```python\nprint(1)\n```",
        "<tool_call>{\"name\": \"Grep\"}</tool_call>",
        "<think>a</think><think>b</think>",
        "I would train a forest.",
        "<tool_call></tool_call>",
        "<code>print(1)</code>",
        "Score",
        "{\"name\": \"Score\"}",
        "<answer></answer",
        "<tool_call>\n<tool_call>\n</tool_call",
        "\u{1f642}",
        "<THINK>x</THINK>",
    ];
    for text in texts {
        for ending in ["", "\n", " ", "…"] {
            judged.turn(Rule::Malformed, &malformed(&format!("{text}{ending}")), true, 3);
        }
    }
    for style in styles() {
        for code in CODES {
            let outcomes = [Outcome::Finished, raised("NameError"), Outcome::TimedOut];
            for outcome in outcomes {
                let turn = script_in(style, code, outcome, "malformed turn");
                judged.turn(Rule::Malformed, &turn, false, 2);
            }
        }
    }
    judged.turn(Rule::Malformed, &score("malformed"), false, 3);
    judged.turn(Rule::Malformed, &answer(), false, 3);
    judged.end(Rule::Malformed);
}

#[test]
fn empty_agrees_on_scripts_with_and_without_a_statement() {
    let nothing = [
        "# I think first.",
        "#",
        "# a\n\n# b\n",
        "pass",
        "pass  # later",
        "pass; pass",
        "...",
        "'''Nothing yet.'''",
        "\"\"\"Nothing\nyet.\"\"\"",
        "'a'\n\"b\"",
        "r'a'",
        "'''x'''\npass\n# y",
        "('a')",
        "()",
    ];
    let something = [
        "x = 1",
        "1",
        "pass\nx = 1",
        "'''doc'''\nprint(1)",
        "import os",
        "f()",
        "del x",
        "...; y = 2",
        "if True:\n    pass",
        "lambda: 0",
        "[]",
        "# a\nx",
        "'a' + b",
        "@f",
    ];
    let mut judged = Judged::default();
    for style in styles() {
        for (codes, is_found) in [(nothing, true), (something, false)] {
            for code in codes {
                let turn = script_in(style, code, Outcome::Finished, "finished");
                judged.turn(Rule::Empty, &turn, is_found, 3);
            }
        }
    }
    // What runs nothing has no script.
    judged.turn(Rule::Empty, &score("valid submission"), false, 3);
    judged.turn(Rule::Empty, &malformed("# nothing"), false, 3);
    judged.end(Rule::Empty);
}

#[test]
fn repeated_agrees_on_scripts_that_ran_before_and_others() {
    let again = |code: &str| {
        [
            code.to_owned(),
            format!("# once more\n{code}"),
            format!("\n\n{code}\n"),
            format!("{code}  # the same"),
            code.replace('\n', "  \n\n"),
        ]
    };
    let other = |code: &str| {
        [
            format!("{code}\nprint(2)"),
            format!("y = 1\n{code}"),
            code.replace('(', "( "),
            code.replace('1', "2") + "\nz",
        ]
    };
    let (fast, slow) = (
        "finished; submission.csv is there",
        "finished after 31 s of 90 s; submission.csv is there",
    );
    let failed = "failed: raised KeyError; no submission.csv yet";
    let mut judged = Judged::default();
    for (place, code) in CODES.into_iter().enumerate() {
        let style = styles()[place % 6];
        let fails = |code: &str| script_in(style, code, raised("KeyError"), failed);
        for (number, second) in again(code).into_iter().enumerate() {
            // Right after itself, with a score or a malformed turn in between, and however long it took.
            let seen = if number % 2 == 0 { fast } else { slow };
            let first = script_in(style, code, Outcome::Finished, fast);
            let then = script(&second, seen);
            judged.run(Rule::Repeated, &run_of(vec![first.clone(), then.clone()]), &[1], &[0]);
            let between = vec![first.clone(), score("valid submission"), then.clone()];
            judged.run(Rule::Repeated, &run_of(between), &[2], &[0]);
            let between = vec![first.clone(), malformed("well"), then.clone()];
            judged.run(Rule::Repeated, &run_of(between), &[2], &[0]);
            // A failure in between changes nothing; a script that ran to its end may.
            let failing = vec![fails(code), fails("import nothing"), fails(&second)];
            judged.run(Rule::Repeated, &run_of(failing), &[2], &[0, 1]);
            let finished = vec![first.clone(), filler(0), then.clone()];
            judged.run(Rule::Repeated, &run_of(finished), &[], &[0, 2]);
            // Something else was seen.
            let says = vec![first, script(&second, &format!("{seen}\n[stdout]\n{number}"))];
            judged.run(Rule::Repeated, &run_of(says), &[], &[1]);
        }
        for second in other(code) {
            let run = run_of(vec![script(code, fast), script(&second, fast)]);
            judged.run(Rule::Repeated, &run, &[], &[1]);
        }
    }
    judged.end(Rule::Repeated);
}

/// What is told of a submission.
const TOLD: [&str; 6] = [
    "there is no submission",
    "valid submission",
    "valid submission; tier: none",
    "valid submission; score: 0.5 (higher is better)",
    "valid submission; tier: gold",
    "invalid submission: 3 rows are missing",
];

#[test]
fn rescored_agrees_on_scores_with_and_without_a_script_before() {
    let idle = || {
        [
            vec![],
            vec![malformed("well")],
            vec![malformed("a"), malformed("b")],
            vec![turn("Which metric?", Tool::Info, None, "roc_auc")],
        ]
    };
    let mut judged = Judged::default();
    for first in TOLD {
        for second in TOLD {
            for between in idle() {
                let count = u32::try_from(between.len()).unwrap();
                let mut turns = vec![score(first)];
                turns.extend(between.clone());
                turns.push(score(second));
                // And once more.
                turns.push(score(second));
                judged.run(Rule::Rescored, &run_of(turns), &[count + 1, count + 2], &[0]);
                for code in [CODES[0], CODES[5]] {
                    let outcomes = [Outcome::Finished, raised("KeyError")];
                    for outcome in outcomes {
                        let mut turns = vec![score(first)];
                        turns.extend(between.clone());
                        let style = (ToolCallFormat::Hermes, "Try.");
                        turns.push(script_in(style, code, outcome, "ended"));
                        turns.push(score(second));
                        judged.run(Rule::Rescored, &run_of(turns), &[], &[0, count + 2]);
                    }
                }
            }
        }
    }
    judged.end(Rule::Rescored);
}

#[test]
fn early_answer_agrees_on_runs_that_end_with_and_without_a_submission() {
    let ended = |mut run: Transcript, grade: Option<Grade>, refusal: Option<&str>| {
        let refusal = refusal.map(str::to_owned);
        run.end = Some(End { ending: "answered".to_owned(), grade, refusal });
        run
    };
    let tiers = [None, Some(Milestone::Median), Some(Milestone::Gold)];
    let mut judged = Judged::default();
    for before in 0..7 {
        for code in CODES {
            let mut turns: Vec<TranscriptTurn> = (0..before).map(filler).collect();
            turns.push(script(code, "finished"));
            turns.push(answer());
            let last = u32::try_from(before).unwrap() + 1;
            let run = run_of(turns.clone());
            for refusal in ["there is no submission", "3 rows are missing", "no column `y`"] {
                let run = ended(run.clone(), None, Some(refusal));
                judged.run(Rule::EarlyAnswer, &run, &[last], &[]);
            }
            for tier in tiers {
                let grade = Some(Grade { score: 0.5, tier });
                let run = ended(run.clone(), grade, None);
                judged.run(Rule::EarlyAnswer, &run, &[], &[last]);
            }
            // A run that is not over, and one that its budget ended.
            judged.run(Rule::EarlyAnswer, &run, &[], &[last]);
            turns.pop();
            let run = ended(run_of(turns), None, Some("there is no submission"));
            judged.run(Rule::EarlyAnswer, &run, &[], &[last - 1]);
        }
    }
    judged.end(Rule::EarlyAnswer);
}

#[test]
fn lost_tier_agrees_on_submissions_that_are_told_worse_or_not() {
    const TIERS: [&str; 5] = ["none", "median", "bronze", "silver", "gold"];
    let told = |rank: usize, form: usize| match form {
        0 => format!("valid submission; tier: {}", TIERS[rank]),
        1 => format!("valid submission; score: 0.5 (higher is better); tier: {}", TIERS[rank]),
        _ => format!("valid submission; tier: {}; thresholds: bronze 0.8, gold 0.9", TIERS[rank]),
    };
    let writers = [
        "sub.to_csv('submission.csv')",
        "sub.to_csv(\"./submission.csv\", index=False)",
        "open('submission.csv', 'w').write(text)",
        "shutil.copy('best.csv', 'submission.csv')",
        "np.savetxt('submission.csv', values)",
    ];
    let mut judged = Judged::default();
    for (place, writer) in writers.into_iter().enumerate() {
        let write = || script_in(styles()[place], writer, Outcome::Finished, "finished");
        for form in 0..3 {
            for before in 0..TIERS.len() {
                for after in 0..TIERS.len() {
                    // The second writer is at fault, and no script that only looks at something.
                    let turns = vec![
                        write(),
                        score(&told(before, form)),
                        write(),
                        filler(3),
                        score(&told(after, form)),
                    ];
                    let is_worse = after < before;
                    let (found, fine) =
                        if is_worse { (&[2][..], &[0][..]) } else { (&[][..], &[2][..]) };
                    judged.run(Rule::LostTier, &run_of(turns), found, fine);
                }
                // One that is not valid any more.
                let worse = score("invalid submission: 3 rows are missing");
                let turns = vec![write(), score(&told(before, form)), write(), worse];
                let found = if before > 0 { &[2][..] } else { &[][..] };
                judged.run(Rule::LostTier, &run_of(turns), found, &[]);
                // Nothing was told of a tier, so nothing is known to be lost.
                let silent = score("valid submission");
                let turns = vec![write(), score(&told(before, form)), write(), silent];
                judged.run(Rule::LostTier, &run_of(turns), &[], &[2]);
            }
        }
    }
    judged.end(Rule::LostTier);
}

#[test]
fn blind_overwrite_agrees_on_files_that_were_looked_at_or_not() {
    let writers = [
        "x.to_csv('NAME')",
        "x.to_parquet(\"./NAME\")",
        "open('NAME', 'w').write(text)",
        "with open('NAME', 'wb') as f:\n    f.write(b)",
        "Path('NAME').write_text(text)",
        "joblib.dump(model, 'NAME')",
        "np.savetxt('NAME', values)",
        "model.save_model('NAME')",
    ];
    let names = ["features.csv", "model.bin", "notes.txt", "out/fold_1.csv", "cache.parquet"];
    let readers = ["pd.read_csv('NAME')", "open('NAME').read()", "os.path.getsize('./NAME')"];
    let mut judged = Judged::default();
    for (place, writer) in writers.into_iter().enumerate() {
        for name in names {
            let of = |code: &str| code.replace("NAME", name);
            let style = styles()[place % 6];
            let write = || script_in(style, &of(writer), Outcome::Finished, "finished");
            for gap in 2..7 {
                let mut turns = vec![write()];
                turns.extend((0..gap).map(filler));
                turns.push(write());
                let last = u32::try_from(gap).unwrap() + 1;
                judged.run(Rule::BlindOverwrite, &run_of(turns), &[last], &[0]);
            }
            // Written or read within two turns, or named in what was shown.
            judged.run(Rule::BlindOverwrite, &run_of(vec![write(), write()]), &[], &[1]);
            let close = vec![write(), filler(0), write()];
            judged.run(Rule::BlindOverwrite, &run_of(close), &[], &[2]);
            for reader in readers {
                for late in [true, false] {
                    let mut turns = vec![write(), filler(0), filler(1), filler(2)];
                    turns[2 + usize::from(late)] = script(&of(reader), "finished");
                    turns.push(write());
                    judged.run(Rule::BlindOverwrite, &run_of(turns), &[], &[4]);
                }
                let changes = format!("{}\n{}", of(reader), of(writer));
                let turns = vec![write(), filler(0), filler(1), script(&changes, "finished")];
                judged.run(Rule::BlindOverwrite, &run_of(turns), &[], &[3]);
            }
            let shown = script("print(os.listdir())", &format!("finished\n[stdout]\n{name} a.txt"));
            let turns = vec![write(), filler(0), shown, filler(1), write()];
            judged.run(Rule::BlindOverwrite, &run_of(turns), &[], &[4]);
            // Another file, and one that is appended to.
            let other = script(&writer.replace("NAME", "other.csv"), "finished");
            let turns = vec![write(), filler(0), filler(1), other];
            judged.run(Rule::BlindOverwrite, &run_of(turns), &[], &[3]);
            let appends = script(&of("open('NAME', 'a').write(line)"), "finished");
            let turns = vec![write(), filler(0), filler(1), appends];
            judged.run(Rule::BlindOverwrite, &run_of(turns), &[], &[3]);
        }
        // The submission is there to be written again.
        let submits = script(&writer.replace("NAME", "submission.csv"), "finished");
        let turns = vec![submits.clone(), filler(0), filler(1), filler(2), submits];
        judged.run(Rule::BlindOverwrite, &run_of(turns), &[], &[4]);
    }
    judged.end(Rule::BlindOverwrite);
}

#[test]
fn forbidden_agrees_on_paths_inside_and_outside() {
    let outside = [
        "/etc/passwd",
        "/proc/1/environ",
        "/home/user/answers.csv",
        "/root/.ssh",
        "/usr/lib/python3",
        "/var/log/x.log",
        "/mnt/data",
        "/opt/models",
        "~/answers.csv",
        "~",
        "..",
        "../answer.csv",
        "../../private/answer.csv",
        "input/../../answer.csv",
        "/work/../etc/passwd",
        "./../x",
        "/sys/kernel",
        "/media/*",
    ];
    let inside = [
        "input/train.csv",
        "./input/train.csv",
        "submission.csv",
        "/work/input/train.csv",
        "/work",
        "/tmp/cache.bin",
        "input/../input/test.csv",
        "a/b",
        "http://example.org/etc/passwd",
        "a ratio of /etc and /usr",
        "*.csv",
        "models/resnet.pt",
        "/",
        "out/./fold",
        "..a",
        "x~",
        "/worker",
        "",
    ];
    let uses = [
        "open('PATH').read()",
        "pd.read_csv(\"PATH\")",
        "os.listdir(path='PATH')",
        "Path('PATH').exists()",
        "shutil.copy('PATH', 'x.csv')",
        "paths = ['PATH', 'b']",
        "x = r'PATH'",
    ];
    let mut judged = Judged::default();
    for (place, code) in uses.into_iter().enumerate() {
        let style = styles()[place % 6];
        let names = |path: &str| {
            script_in(style, &code.replace("PATH", path), Outcome::Finished, "finished")
        };
        for path in outside {
            judged.turn(Rule::Forbidden, &names(path), true, 2);
            // In a comment, in what is printed, or in a turn that runs nothing, it is no path.
            let comment = script(&format!("x = 1  # {}", code.replace("PATH", path)), "finished");
            judged.turn(Rule::Forbidden, &comment, false, 1);
            judged.turn(Rule::Forbidden, &script("print(x)", path), false, 1);
        }
        for path in inside {
            judged.turn(Rule::Forbidden, &names(path), false, 2);
        }
    }
    judged.end(Rule::Forbidden);
}

#[test]
fn advised_agrees_on_turns_that_a_person_drops_with_advice() {
    use GuidanceState::{Acknowledged, Late, Queued, Retracted, Sent};
    const TURNS: u32 = 6;
    let piece = |drop: Option<(u32, u32)>, state: GuidanceState| PostedGuidance {
        id: "g".parse().unwrap(),
        seq: 1,
        by: "ann".to_owned(),
        at: 0,
        what: GuidanceText {
            text: "Look at products of columns.".to_owned(),
            about: None,
            drop: drop.map(|(from, to)| TurnRange { from, to }),
        },
        state,
    };
    let all: Vec<u32> = (0..TURNS).collect();
    let turns: Vec<TranscriptTurn> = (0..TURNS as usize).map(filler).collect();
    let mut judged = Judged::default();
    for from in 0..TURNS {
        // The last range ends behind the run, of which not all turns were told.
        for to in from..=TURNS {
            let dropped: Vec<u32> = (from..=to.min(TURNS - 1)).collect();
            let others: Vec<u32> =
                all.iter().copied().filter(|turn| !dropped.contains(turn)).collect();
            for state in [Queued, Sent, Acknowledged, Late] {
                let mut run = run_of(turns.clone());
                run.guidance.push(piece(Some((from, to)), state));
                judged.run(Rule::Advised, &run, &dropped, &others);
            }
            let mut run = run_of(turns.clone());
            run.guidance.push(piece(Some((from, to)), Retracted));
            run.guidance.push(piece(None, Acknowledged));
            judged.run(Rule::Advised, &run, &[], &dropped);
        }
    }
    judged.end(Rule::Advised);
}
