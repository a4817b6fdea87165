//! `GET /`: the conversations, in plain HTML. The page on which people work is not made yet.

use super::access::Caller;
use super::answer::{Failure, in_store};
use super::server::Shared;
use crate::guide::conversation::Headline;
use crate::guide::defuse::for_page;
use axum::Extension;
use axum::extract::State;
use axum::response::Html;
use maud::{DOCTYPE, html};
use std::sync::Arc;

/// Answers `GET /`.
pub(super) async fn index(
    State(shared): State<Arc<Shared>>,
    Extension(caller): Extension<Caller>,
) -> Result<Html<String>, Failure> {
    caller.reads()?;
    let headlines = in_store(&shared, |store| Ok(store.headlines())).await?;
    Ok(Html(page(&headlines, &caller.name)))
}

fn page(headlines: &[Headline], name: &str) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head { meta charset="utf-8"; title { "Guided runs" } }
            body {
                h1 { "Guided runs" }
                p {
                    "You are " strong { (for_page(name)) } ". This is a list as of now: there is no page \
                     to work on yet. Guidance is given over the interface "
                    code { "/api/v1" } ", which docs/GUIDANCE.md describes with examples for curl."
                }
                @if headlines.is_empty() {
                    p { "No agent has opened a conversation yet." }
                } @else {
                    table {
                        thead { tr {
                            @for column in ["run", "task", "agent", "state", "turns", "last turn", "waiting"] {
                                th scope="col" { (column) }
                            }
                        } }
                        tbody { @for headline in headlines { tr {
                            td { a href={ "/api/v1/conversations/" (headline.id) } { (headline.id) } }
                            td { (for_page(&headline.task)) }
                            td { (for_page(&headline.agent)) " #" (headline.attempt) }
                            td { (headline.state.name()) }
                            td { (headline.turns) " of " (headline.budget) }
                            td { (for_page(headline.last.as_deref().unwrap_or("none"))) }
                            td { (headline.queued) }
                        } } }
                    }
                }
            }
        }
    };
    page.into_string()
}
