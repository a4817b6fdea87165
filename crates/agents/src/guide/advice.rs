//! What guided agents are told of advice, and how a piece of it is shown to them.

/// What the system prompt of a guided run says, after all that it says without.
const SENTENCES: &str = "\n\nA person may read along and advise you: what they say stands between \
    `<real_user>` and `</real_user>`, after an observation. Follow it, and then go on by yourself.";

/// The system prompt of a guided run, from that of an unguided one; may be empty.
pub fn guided_system(system: &str) -> String {
    if system.is_empty() {
        SENTENCES.trim_start().to_owned()
    } else {
        format!("{system}{SENTENCES}")
    }
}

/// A text of the opening of a guided run as that of an unguided one has it; `None` if a message has
/// nothing else to say.
pub fn unguided_text(text: &str) -> Option<&str> {
    if text == SENTENCES.trim_start() {
        return None;
    }
    Some(text.strip_suffix(SENTENCES).unwrap_or(text))
}

/// The message with a piece of advice: that of a user, marked so that it is told from everything else.
/// `advice` is what the agent may read of it
/// ([`DeliveredGuidance::advice`](super::guidance::DeliveredGuidance::advice)).
pub fn advice_message(advice: &str) -> String {
    format!("<real_user>\n{advice}\n</real_user>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn system_prompt_of_a_guided_run_is_that_of_an_unguided_one_and_two_sentences() {
        for system in ["Solve it.", ""] {
            let guided = guided_system(system);
            assert!(guided.starts_with(system) && guided.contains("real_user"), "{guided}");
            assert_eq!(unguided_text(&guided).unwrap_or_default(), system);
        }
        assert_eq!(unguided_text("Solve it."), Some("Solve it."));
    }
}
