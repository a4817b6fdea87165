//! Asking a server how it is.

use serde::Deserialize;
use std::net::SocketAddr;
use std::time::Duration;

/// Time for an answer.
const ANSWER: Duration = Duration::from_secs(3);

/// What a server says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Health {
    /// It takes episodes.
    Live {
        /// Sessions in use, by any client.
        sessions: usize,
        /// Sessions at most.
        most: usize,
    },
    /// It is shutting down, or does not answer as it should: why.
    Down(String),
}

/// The body of `GET /health`. Other servers of OpenEnv leave the numbers out.
#[derive(Deserialize)]
struct HealthPage {
    status: String,
    active_sessions: Option<usize>,
    max_sessions: Option<usize>,
}

/// Asks the server at `at`, which is called `authority`.
pub(super) fn ask(at: SocketAddr, authority: &str) -> Health {
    let config = ureq::Agent::config_builder()
        .timeout_global(Some(ANSWER))
        .http_status_as_error(false)
        .proxy(None)
        .max_redirects(0)
        .build();
    let agent: ureq::Agent = config.into();
    let answer = agent.get(format!("http://{at}/health")).header("Host", authority).call();
    let text = match answer.and_then(|mut answer| answer.body_mut().read_to_string()) {
        Ok(text) => text,
        Err(error) => return Health::Down(error.to_string()),
    };
    read(&text)
}

fn read(text: &str) -> Health {
    match serde_json::from_str::<HealthPage>(text) {
        Ok(HealthPage { status, active_sessions: Some(sessions), max_sessions: Some(most) })
            if status == "healthy" =>
        {
            Health::Live { sessions, most }
        }
        Ok(HealthPage { status, .. }) if status == "draining" => {
            Health::Down("is shutting down".to_owned())
        }
        _ => Health::Down("does not answer as `sandbox serve` of this version does".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_health_are_read() {
        let live =
            r#"{"status": "healthy", "active_sessions": 3, "max_sessions": 8, "open_episodes": 2}"#;
        assert_eq!(read(live), Health::Live { sessions: 3, most: 8 });
        for (page, words) in [
            (r#"{"status": "draining", "active_sessions": 3, "max_sessions": 8}"#, "shutting down"),
            (r#"{"status": "healthy"}"#, "this version"),
            ("<html>", "this version"),
        ] {
            let Health::Down(why) = read(page) else { panic!("{page}") };
            assert!(why.contains(words), "{why}");
        }
    }
}
