//! The conversation of a linear agent: all turns, and which of them it is still shown.

use super::guidance::advice_message;
use super::summary::PastSummary;
use crate::guide::guidance::DeliveredGuidance;
use crate::overflow::{SeenTurn, surplus};
use crate::run::node::NodeId;
use crate::run::player::LinearAgent;
use crate::summary::{REQUEST, summarised_prompt};
use llm::{Message, Role};
use std::collections::BTreeSet;
use tasks::metrics::Direction;

/// Characters that are taken for a token where nothing counts them, as the SandMLE release does.
const TOKEN: usize = 4;

/// A turn that was replied to.
#[derive(Debug, Clone)]
pub(super) struct PastTurn {
    pub(super) answer: String,
    pub(super) reply: String,
    /// Whether it was malformed or its script failed.
    pub(super) failed: bool,
    /// The script that it ran, with the validation score that was printed.
    pub(super) script: Option<(String, Option<f64>)>,
    /// Advice that was delivered after it. It is shown even where the turn no longer is.
    pub(super) heard: Vec<DeliveredGuidance>,
}

impl PastTurn {
    fn tokens(&self) -> usize {
        tokens(&self.answer) + tokens(&self.reply)
    }
}

/// A conversation, in full.
#[derive(Debug, Clone)]
pub(super) struct LinearConversation {
    agent: LinearAgent,
    pub(super) opening: Vec<Message>,
    pub(super) turns: Vec<PastTurn>,
    /// By number.
    left_out: BTreeSet<usize>,
    /// In order. The last one is shown.
    pub(super) summaries: Vec<PastSummary>,
}

impl LinearConversation {
    /// Nothing but its opening.
    pub(super) fn new(agent: LinearAgent, opening: Vec<Message>) -> Self {
        let (turns, left_out, summaries) = (Vec::new(), BTreeSet::new(), Vec::new());
        Self { agent, opening, turns, left_out, summaries }
    }

    /// What is asked with.
    pub(super) fn messages(&self) -> Vec<Message> {
        self.messages_until(self.turns.len())
    }

    /// The opening, with the summary that is shown.
    fn shown_opening(&self) -> Vec<Message> {
        let mut opening = self.opening.clone();
        if let (Some(summary), Some(last)) = (self.summaries.last(), opening.last_mut()) {
            last.content = summarised_prompt(&last.content, &summary.text);
        }
        opening
    }

    /// What is shown of the turns before the turn `end`.
    fn messages_until(&self, end: usize) -> Vec<Message> {
        let mut messages = self.shown_opening();
        for (number, turn) in self.turns[..end].iter().enumerate() {
            let advice = turn.heard.iter().map(advice_message);
            if self.left_out.contains(&number) {
                messages.extend(advice);
                continue;
            }
            let answer =
                if turn.answer.trim().is_empty() { "(nothing)" } else { turn.answer.as_str() };
            messages.push(Message::new(Role::Assistant, answer));
            // As chat templates write the answers of tools.
            let reply = match self.agent {
                LinearAgent::React => format!("<tool_response>\n{}\n</tool_response>", turn.reply),
                LinearAgent::MleAgent => turn.reply.clone(),
            };
            messages.push(Message::new(Role::User, reply));
            messages.extend(advice);
        }
        messages
    }

    /// Turns that are not shown any more.
    pub(super) fn left_out(&self) -> Vec<NodeId> {
        self.left_out.iter().map(|&turn| id(turn)).collect()
    }

    /// Leaves out turns, for good.
    pub(super) fn leave_out(&mut self, turns: impl IntoIterator<Item = usize>) {
        self.left_out.extend(turns);
    }

    /// Leaves out all but the last `recent` turns.
    pub(super) fn keep_recent(&mut self, recent: usize) {
        self.leave_out(0..self.turns.len().saturating_sub(recent));
    }

    /// Its length, at four characters a token.
    pub(super) fn tokens(&self) -> usize {
        self.fixed_tokens() + self.shown().map(|(_, turn)| turn.tokens()).sum::<usize>()
    }

    /// Leaves out what does not fit into `room` tokens; returns whether there was anything to leave
    /// out.
    pub(super) fn fit(&mut self, room: usize) -> bool {
        let (numbers, turns): (Vec<usize>, Vec<SeenTurn>) = self
            .shown()
            .map(|(number, turn)| (number, SeenTurn { tokens: turn.tokens(), failed: turn.failed }))
            .unzip();
        let surplus = surplus(self.fixed_tokens(), &turns, room);
        let any = !surplus.is_empty();
        self.leave_out(surplus.into_iter().map(|index| numbers[index]));
        any
    }

    /// The older half of the turns that are shown, by number; nothing if there is but one.
    pub(super) fn older_half(&self) -> Vec<usize> {
        let shown: Vec<usize> = self.shown().map(|(number, _)| number).collect();
        shown[..shown.len() / 2].to_vec()
    }

    /// What asks for a summary of the oldest turns that are shown, `turns`, and the turns that this
    /// question does not show.
    pub(super) fn summary_question(&self, turns: &[usize]) -> (Vec<Message>, Vec<NodeId>) {
        let mut messages = self.messages_until(turns.last().map_or(0, |last| last + 1));
        messages.push(Message::new(Role::User, REQUEST));
        let hidden = (0..self.turns.len()).filter(|turn| !turns.contains(turn)).map(id);
        (messages, hidden.collect())
    }

    /// Puts a summary in the place of the turns that it is of.
    pub(super) fn take_summary(&mut self, summary: PastSummary) {
        self.leave_out(summary.replaces.iter().copied());
        self.summaries.push(summary);
    }

    /// Of the scripts that are shown and did not fail, that with the best validation score.
    pub(super) fn best_script(&self, direction: Direction) -> Option<&str> {
        let scripts = self.shown().filter(|(_, turn)| !turn.failed);
        let scored = scripts.filter_map(|(_, turn)| {
            let (code, metric) = turn.script.as_ref()?;
            Some((code.as_str(), direction.gain((*metric)?)))
        });
        // The earliest of equals.
        scored.reduce(|best, other| if other.1 > best.1 { other } else { best }).map(|best| best.0)
    }

    fn shown(&self) -> impl Iterator<Item = (usize, &PastTurn)> {
        let turns = self.turns.iter().enumerate();
        turns.filter(|(number, _)| !self.left_out.contains(number))
    }

    /// The length of what is always shown: the opening, with a summary if there is one, and advice.
    fn fixed_tokens(&self) -> usize {
        let opening: usize =
            self.shown_opening().iter().map(|message| tokens(&message.content)).sum();
        let heard = self.turns.iter().flat_map(|turn| &turn.heard);
        opening + heard.map(|piece| tokens(&piece.text)).sum::<usize>()
    }
}

fn tokens(text: &str) -> usize {
    text.chars().count().div_ceil(TOKEN)
}

fn id(turn: usize) -> NodeId {
    NodeId(u32::try_from(turn).expect("fewer than 2^32 turns"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(failed: bool, metric: f64) -> PastTurn {
        PastTurn {
            answer: "a".repeat(16),
            reply: "r".repeat(24),
            failed,
            script: Some((format!("script {metric}"), Some(metric))),
            heard: Vec::new(),
        }
    }

    #[test]
    fn turns_that_do_not_fit_are_left_out_for_good() {
        let opening = vec![Message::new(Role::System, "s".repeat(40))];
        let mut conversation = LinearConversation::new(LinearAgent::React, opening);
        let turns = [(false, 1.0), (true, 9.0), (false, 3.0), (false, 2.0)];
        conversation.turns = turns.map(|(failed, metric)| turn(failed, metric)).to_vec();
        assert_eq!(conversation.tokens(), 50);
        assert_eq!(conversation.best_script(Direction::HigherIsBetter), Some("script 3"));
        assert!(!conversation.fit(50));
        assert!(conversation.fit(49));
        assert_eq!((conversation.left_out(), conversation.tokens()), (vec![NodeId(1)], 40));
        assert!(conversation.fit(39));
        assert_eq!(conversation.left_out(), [NodeId(0), NodeId(1), NodeId(2)]);
        assert_eq!(conversation.messages().len(), 3);
        assert_eq!(conversation.best_script(Direction::HigherIsBetter), Some("script 2"));
        assert!(!conversation.fit(1), "the last turn stays");
    }
}
