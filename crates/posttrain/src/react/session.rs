//! The loop: a conversation with a model, a tool a turn.

use super::limits::ReactLimits;
use super::prompt::Briefing;
use super::step::{Step, Tool};
use super::tools::Workbench;
use super::transcript::{Transcript, Turn};
use llm::{ChatError, ChatModel, Completion, Finish, Message, Purpose, Request, Role};
use std::io;

/// Answers in a row that are no step, after which the agent gives up.
const UNREADABLE: usize = 8;
/// Characters that a token has, about.
const CHARACTERS: usize = 4;

/// How a session ended.
#[derive(Debug)]
pub enum ReactEnd {
    /// The model finished; its summary.
    Finished(String),
    /// Its turns are used up.
    Turns,
    /// Its tokens are used up.
    Tokens,
    /// It answered too often with what is no step.
    Unreadable,
    /// It could not be asked any more.
    Model(ChatError),
}

/// A session of a model with its tools.
#[derive(Debug)]
pub struct Session<'a, M> {
    model: M,
    /// The model, as its endpoint has it.
    name: String,
    briefing: Briefing,
    limits: ReactLimits,
    bench: Workbench<'a>,
    transcript: Transcript,
}

impl<'a, M: ChatModel> Session<'a, M> {
    /// A session that goes on from what is in its transcript.
    pub fn new(
        (model, name): (M, String),
        briefing: Briefing,
        limits: ReactLimits,
        bench: Workbench<'a>,
        transcript: Transcript,
    ) -> Self {
        Self { model, name, briefing, limits, bench, transcript }
    }

    /// Works until the model finishes or a limit is reached. `show` gets each turn as it ends.
    ///
    /// # Errors
    /// An I/O error if the transcript cannot be written.
    pub fn work(mut self, mut show: impl FnMut(&Turn)) -> io::Result<ReactEnd> {
        let mut unreadable = 0;
        // Shrinks if the model's own context turns out to be smaller.
        let mut context = self.limits.context;
        loop {
            let past = self.transcript.turns();
            if let Some(Ok(Step { tool: Tool::Finish { summary }, .. })) =
                past.last().map(|turn| Step::read(&turn.answer))
            {
                return Ok(ReactEnd::Finished(summary));
            }
            if unreadable >= UNREADABLE {
                return Ok(ReactEnd::Unreadable);
            }
            let (number, used) = (past.len() as u64 + 1, past.iter().map(|turn| turn.tokens).sum());
            if number > self.limits.turns {
                return Ok(ReactEnd::Turns);
            }
            if self.limits.tokens.is_some_and(|most| most <= used) {
                return Ok(ReactEnd::Tokens);
            }
            let request = self.request(context * CHARACTERS);
            let purpose = Purpose { slot: 0, role: "react".to_owned(), ..Purpose::default() };
            let completion = match self.model.complete(&request, &purpose) {
                Ok(completion) => completion,
                Err(ChatError::ContextTooLong { .. }) if context > self.limits.context / 8 => {
                    context /= 2;
                    continue;
                }
                Err(error) => return Ok(ReactEnd::Model(error)),
            };
            let turn = self.turn(number, used, completion);
            unreadable = if turn.tool.is_some() { 0 } else { unreadable + 1 };
            show(&turn);
            self.transcript.add(turn)?;
        }
    }

    /// Reads an answer and carries it out.
    fn turn(&self, number: u64, used: u64, completion: Completion) -> Turn {
        let tokens = completion.usage.input + completion.usage.output;
        let step = match completion.finish {
            Finish::Stop => Step::read(&completion.text).map_err(|bad| bad.to_string()),
            Finish::Length => Err(format!(
                "the answer was cut after {} tokens; do less in one turn, such as a file in two parts",
                completion.usage.output
            )),
            Finish::Refusal | Finish::Filter => {
                Err("the answer was declined; go on with the task in another way".to_owned())
            }
        };
        let (tool, told) = match &step {
            Ok(step) => (Some(step.tool.name().to_owned()), self.bench.carry_out(&step.tool)),
            Err(bad) => (None, format!("error: {bad}")),
        };
        let left = match self.limits.tokens {
            Some(most) => format!(", {} of {most} tokens left", most.saturating_sub(used + tokens)),
            None => String::new(),
        };
        let observation = format!("{told}\n\n[turn {number} of {}{left}]", self.limits.turns);
        // Providers take no empty message.
        let answer =
            if completion.text.is_empty() { "(nothing)".to_owned() } else { completion.text };
        Turn::new(number, answer, tool, observation, tokens)
    }

    /// The conversation so far, in at most about so many characters: the oldest observations are left
    /// out, and what the model said itself stays.
    fn request(&self, most: usize) -> Request {
        let Briefing { system, task } = &self.briefing;
        let turns = self.transcript.turns();
        let mut length = system.len() + task.len();
        length +=
            turns.iter().map(|turn| turn.answer.len() + turn.observation.len()).sum::<usize>();
        let mut messages = vec![
            Message::new(Role::System, system.as_str()),
            Message::new(Role::User, task.as_str()),
        ];
        for (index, turn) in turns.iter().enumerate() {
            messages.push(Message::new(Role::Assistant, turn.answer.as_str()));
            let is_last = index + 1 == turns.len();
            if length > most && !is_last {
                let left_out = format!("[left out: {} characters]", turn.observation.len());
                length = length.saturating_sub(turn.observation.len()) + left_out.len();
                messages.push(Message::new(Role::User, left_out));
            } else {
                messages.push(Message::new(Role::User, turn.observation.as_str()));
            }
        }
        Request::new(self.name.as_str(), messages, self.limits.answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use camino::{Utf8Path, Utf8PathBuf};
    use llm::Usage;
    use serde_json::Value;
    use std::sync::Mutex;

    /// Answers in their order, and keeps what it was asked.
    #[derive(Debug, Default)]
    struct Script {
        answers: Vec<&'static str>,
        asked: Mutex<Vec<Request>>,
    }

    impl ChatModel for &Script {
        fn complete(&self, request: &Request, _: &Purpose) -> Result<Completion, ChatError> {
            let mut asked = self.asked.lock().unwrap();
            asked.push(request.clone());
            let Some(text) = self.answers.get(asked.len() - 1) else {
                return Err(ChatError::Budget { reason: "no more".to_owned() });
            };
            Ok(Completion {
                text: (*text).to_owned(),
                thoughts: None,
                finish: if text.ends_with('…') { Finish::Length } else { Finish::Stop },
                refusal: None,
                usage: Usage { input: 90, output: 10, ..Usage::default() },
                model: "m".to_owned(),
                id: String::new(),
            })
        }
    }

    const LOOK: &str =
        r#"{"thought": "t", "tool": "shell", "arguments": {"command": "echo found"}}"#;
    const END: &str = r#"{"thought": "t", "tool": "finish", "arguments": {"summary": "done"}}"#;

    struct Place {
        _kept: tempfile::TempDir,
        folder: Utf8PathBuf,
    }

    fn place() -> Place {
        let kept = tempfile::tempdir().unwrap();
        let folder = Utf8Path::from_path(kept.path()).unwrap().to_owned();
        Place { _kept: kept, folder }
    }

    fn work(place: &Place, script: &Script, limits: ReactLimits) -> (ReactEnd, Vec<Turn>) {
        let server = |_: &str, _: Option<&Value>| Err("no server".to_owned());
        let bench = Workbench { folder: place.folder.clone(), server: &server };
        let path = place.folder.join("transcript.jsonl");
        let briefing = Briefing { system: "s".to_owned(), task: "t".to_owned() };
        let transcript = Transcript::open(&path).unwrap();
        let session = Session::new((script, "m".to_owned()), briefing, limits, bench, transcript);
        let end = session.work(|_| {}).unwrap();
        (end, Transcript::open(&path).unwrap().turns().to_vec())
    }

    #[test]
    fn turns_are_carried_out_and_errors_are_told_back() {
        let script =
            Script { answers: vec![LOOK, "prose", "{\"thought\": …", END], ..Script::default() };
        let (end, turns) = work(&place(), &script, ReactLimits::default());
        assert!(matches!(end, ReactEnd::Finished(summary) if summary == "done"));
        let tools: Vec<Option<&str>> = turns.iter().map(|turn| turn.tool.as_deref()).collect();
        assert_eq!(tools, [Some("shell"), None, None, Some("finish")]);
        assert!(turns[0].observation.starts_with("found\nexit code 0\n\n[turn 1 of 100]"));
        assert!(turns[1].observation.contains("cannot be read"), "{turns:?}");
        assert!(turns[2].observation.contains("was cut after 10 tokens"), "{turns:?}");
        let asked = script.asked.lock().unwrap();
        assert!(asked.iter().all(|request| request.check().is_ok()));
        assert_eq!(asked[1].messages[3].content, turns[0].observation);
    }

    #[test]
    fn limits_end_a_session_with_their_name() {
        let script = Script { answers: vec![LOOK; 5], ..Script::default() };
        let limits = ReactLimits { turns: 2, ..ReactLimits::default() };
        assert!(
            matches!(work(&place(), &script, limits), (ReactEnd::Turns, turns) if turns.len() == 2)
        );
        let script = Script { answers: vec![LOOK; 5], ..Script::default() };
        let limits = ReactLimits { tokens: Some(201), ..ReactLimits::default() };
        let (end, turns) = work(&place(), &script, limits);
        assert!(matches!(end, ReactEnd::Tokens) && turns.len() == 3);
        assert!(turns[0].observation.ends_with("101 of 201 tokens left]"), "{turns:?}");
        let script = Script { answers: vec!["prose"; 9], ..Script::default() };
        let (end, turns) = work(&place(), &script, ReactLimits::default());
        assert!(matches!(end, ReactEnd::Unreadable) && turns.len() == UNREADABLE);
        let (end, _) = work(&place(), &Script::default(), ReactLimits::default());
        assert!(matches!(end, ReactEnd::Model(ChatError::Budget { .. })));
    }

    #[test]
    fn interrupted_session_goes_on_from_its_transcript() {
        let place = place();
        let script = Script { answers: vec![LOOK], ..Script::default() };
        work(&place, &script, ReactLimits::default());
        let script = Script { answers: vec![END], ..Script::default() };
        let (end, turns) = work(&place, &script, ReactLimits::default());
        assert!(matches!(end, ReactEnd::Finished(_)) && turns.len() == 2);
        assert_eq!(script.asked.lock().unwrap()[0].messages.len(), 4);
        let (end, _) = work(&place, &Script::default(), ReactLimits::default());
        assert!(matches!(end, ReactEnd::Finished(_)), "nobody is asked again");
    }

    #[test]
    fn oldest_observations_are_left_out_of_a_long_conversation() {
        let script = Script { answers: vec![LOOK, LOOK, LOOK, END], ..Script::default() };
        let limits = ReactLimits { context: 80, ..ReactLimits::default() };
        work(&place(), &script, limits);
        let asked = script.asked.lock().unwrap();
        let last: Vec<&str> =
            asked[3].messages.iter().map(|message| message.content.as_str()).collect();
        assert_eq!(last.iter().filter(|text| **text == LOOK).count(), 3, "what it said stays");
        assert!(last[3].starts_with("[left out: "), "{last:?}");
        assert!(last[7].starts_with("found"), "{last:?}");
    }
}
