//! Guided rollouts: where an episode gets its conversation with people.

use super::EpisodeRequest;
use crate::run::settings::{SettingsError, require};
use agents::guide::advice::guided_system;
use agents::guide::channel::{GuideSource, OnLost};
use agents::guide::guided_episode::GuidedEpisode;
use agents::guide::source::{RunGuide, SourceError, server_address};
use agents::guide::turn::Opening;
use agents::prompt::Prompt;
use camino::{Utf8Path, Utf8PathBuf};
use llm::{Message, Role};
use sandbox::env::Feedback;
use serde::{Deserialize, Serialize};
use std::io;
use std::time::Duration;

/// People who may advise the episodes of a rollout. All episodes are then guided: their prompts say that
/// advice may come, and their trajectories that it could.
#[derive(Debug, Clone, Copy)]
pub struct RolloutGuide<'a> {
    /// Where each episode gets its channel.
    pub source: &'a dyn GuideSource,
    /// The most turns of an episode, for people.
    pub turns: u32,
    /// What policies are told of the test rows, for people.
    pub feedback: Option<Feedback>,
}

impl RolloutGuide<'_> {
    /// The prompt of a guided episode, from that of an unguided one.
    pub(super) fn prompt(prompt: Prompt) -> Prompt {
        Prompt { system: guided_system(&prompt.system), ..prompt }
    }

    /// The end of the conversation about an episode of `agent` that an episode has; nothing is sent yet.
    /// `None` if its source guides nobody.
    ///
    /// # Errors
    /// The system's, if it has no randomness for the name of the conversation.
    pub(super) fn episode(
        &self,
        job: &EpisodeRequest<'_>,
        agent: &str,
        prompt: &Prompt,
        wall_limit: Duration,
    ) -> io::Result<Option<GuidedEpisode>> {
        let Some(link) = self.source.link() else { return Ok(None) };
        let opening = Opening {
            task: job.task.clone(),
            agent: agent.to_owned(),
            attempt: job.attempt,
            turns: self.turns,
            seconds: wall_limit.as_secs(),
            feedback: self.feedback,
            prompt: vec![
                Message::new(Role::System, &prompt.system),
                Message::new(Role::User, &prompt.user),
            ],
        };
        // The stream is that of this episode alone, also where a task is played again later.
        let key = format!("{}-{}-{agent}-{:016x}", job.task, job.attempt, job.stream.seed());
        let id = self.source.name(&key)?;
        Ok(Some(GuidedEpisode::new(link, id, opening)))
    }
}

/// The token of a guide server.
const TOKEN: &str = "GUIDE_TOKEN";

/// Who advises policies.
///
/// | field | default | purpose |
/// | --- | --- | --- |
/// | `place` | a folder of the run, with `person` | address of a guide server, or folder of a guide store |
/// | `person` | none | file with the rules of a scripted person, who keeps step with the policies |
/// | `on_lost` | `continue` | what episodes do while a server does not answer: `continue`, `stop`, `wait=2m` |
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GuideSettings {
    /// Address of a guide server, or folder of a guide store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// The rules of a scripted person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub person: Option<Utf8PathBuf>,
    /// What episodes do while a server does not answer.
    pub on_lost: OnLost,
}

impl GuideSettings {
    /// Checks what types cannot.
    ///
    /// # Errors
    /// [`SettingsError::Range`] naming the key.
    pub fn check(&self) -> Result<(), SettingsError> {
        require(
            self.place.is_some() || self.person.is_some(),
            "guide.place",
            &"missing",
            "the address of a guide server or the folder of a guide store, unless there is a `guide.person`",
        )?;
        let Some(place) = self.place.as_ref().filter(|place| place.contains("://")) else {
            return Ok(());
        };
        require(
            self.person.is_none(),
            "guide.place",
            &"an address beside a `guide.person`",
            "a folder: a scripted person keeps step with the policies in one process (at a server: `agents \
             guide person`)",
        )?;
        match server_address(place, None) {
            // As the error shows it: what was given may have a token in it.
            Err(error) => {
                require(false, "guide.place", &error, "an address such as `http://10.0.0.5:8300`")
            }
            Ok(address) => require(
                !address.has_token(),
                "guide.place",
                &format!("{address} with a token"),
                "an address without one, since settings are written to disk: set GUIDE_TOKEN",
            ),
        }
    }

    /// The guide, with a store in `folder` for a scripted person where no place is named. A token comes
    /// from `GUIDE_TOKEN`.
    ///
    /// # Errors
    /// [`SourceError`].
    pub fn open(&self, folder: &Utf8Path) -> Result<RunGuide, SourceError> {
        let token = std::env::var(TOKEN).ok().filter(|token| !token.is_empty());
        let place = self.place.as_deref().unwrap_or(folder.as_str());
        RunGuide::open(place, token.as_deref(), self.person.as_deref(), self.on_lost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guide_is_a_server_or_a_folder_and_a_person_needs_neither() {
        let guide = |place: Option<&str>, person: Option<&str>| GuideSettings {
            place: place.map(str::to_owned),
            person: person.map(Utf8PathBuf::from),
            on_lost: OnLost::Continue,
        };
        for (place, person) in [
            (Some("http://127.0.0.1:8300"), None),
            (Some("guide"), None),
            (Some("guide"), Some("ann.toml")),
            (None, Some("ann.toml")),
        ] {
            guide(place, person).check().unwrap();
        }
        for (place, person, words) in [
            (None, None, "folder of a guide store"),
            (Some("http://a"), Some("ann.toml"), "`agents guide person`"),
            (Some("http://agent:secret@a"), None, "GUIDE_TOKEN"),
            (Some("ftp://a"), None, "http://10.0.0.5:8300"),
        ] {
            let refused = guide(place, person).check().unwrap_err().to_string();
            assert!(refused.contains("guide.place") && refused.contains(words), "{refused}");
            assert!(!refused.contains("secret"), "{refused}");
        }
    }
}
