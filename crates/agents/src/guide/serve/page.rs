//! The page on which people guide agents: files that are part of the program.
//!
//! They are the same for everybody and need no token: without one the page has a form to sign in, and
//! nothing of a conversation is in them.

use super::answer::Failure;
use super::views::unknown;
use axum::extract::Path;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};
use std::borrow::Cow;
use web::page::style_sheet;

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

macro_rules! scripts {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../web/guide/", $name)))),*]
    };
}

/// The modules, by name.
const SCRIPTS: &[(&str, &str)] = scripts![
    "api.js",
    "code.js",
    "compose.js",
    "context.js",
    "conversation.js",
    "dom.js",
    "draft.js",
    "keys.js",
    "list.js",
    "main.js",
    "panes.js",
    "proposals.js",
    "replay.js",
    "review.js",
    "run.js",
    "runs.js",
    "search.js",
    "signin.js",
    "step.js",
    "steps.js",
    "stream.js",
];

/// Answers `GET /`.
pub(super) async fn index() -> Response {
    file(HTML, include_str!("../../../web/guide/index.html"))
}

/// Answers `GET /assets/{name}`.
pub(super) async fn asset(Path(name): Path<String>) -> Result<Response, Failure> {
    if name == "style.css" {
        return Ok(file(CSS, style_sheet() + include_str!("../../../web/guide/style.css")));
    }
    match SCRIPTS.iter().find(|(known, _)| *known == name) {
        Some((_, text)) => Ok(file(SCRIPT, *text)),
        None => Err(unknown().await),
    }
}

fn file(kind: &'static str, text: impl Into<Cow<'static, str>>) -> Response {
    ([(CONTENT_TYPE, kind)], text.into()).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_import_of_a_module_is_served() {
        for (name, text) in SCRIPTS {
            for imported in text.split("from \"./").skip(1) {
                let imported = imported.split('"').next().unwrap();
                assert!(SCRIPTS.iter().any(|(known, _)| *known == imported), "{name}: {imported}");
            }
        }
    }

    #[test]
    fn nothing_in_the_page_makes_markup_of_text() {
        for (name, text) in SCRIPTS {
            for way in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("] {
                assert!(!text.contains(way), "{name}: {way}");
            }
        }
    }
}
