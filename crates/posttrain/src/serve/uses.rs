//! `POST /v1/uses`: what the toolbox's wrappers report. It bears on no score.

use super::access::read_json;
use super::answers::{Answer, OURS};
use super::shared::Shared;
use crate::record::UseEvent;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::json;
use std::sync::{Arc, PoisonError};

/// The body of the request.
#[derive(Debug, Deserialize)]
struct UseReport {
    /// The use that ended; none for a new one.
    #[serde(default, rename = "use")]
    number: Option<u64>,
    #[serde(flatten)]
    event: UseEvent,
}

pub(super) async fn report(State(shared): State<Arc<Shared>>, request: Request) -> Answer {
    let report: UseReport = match read_json(request).await {
        Ok(report) => report,
        Err(answer) => return answer,
    };
    // A line is synced to the disk.
    let written = tokio::task::spawn_blocking(move || write(&shared, report)).await;
    written.unwrap_or_else(|error| {
        tracing::error!(%error, "a use of the toolbox was not written down");
        Answer::error(StatusCode::SERVICE_UNAVAILABLE, OURS)
    })
}

fn write(shared: &Shared, report: UseReport) -> Answer {
    let Some(uses) = &shared.uses else {
        return Answer::error(StatusCode::NOT_FOUND, "this server keeps no record of a toolbox");
    };
    let used_ms = shared.run().ledger.used_ms();
    let time = humantime::format_rfc3339_millis(std::time::SystemTime::now()).to_string();
    let mut uses = uses.lock().unwrap_or_else(PoisonError::into_inner);
    match uses.append(report.number, report.event, used_ms, time) {
        Ok(Some(number)) => Answer::ok(json!({ "use": number })),
        Ok(None) => {
            let message = "the record is full, or there is no such use; nothing depends on it";
            Answer::error(StatusCode::CONFLICT, message)
        }
        Err(error) => {
            tracing::warn!(%error, "a use of the toolbox could not be written down");
            Answer::error(StatusCode::SERVICE_UNAVAILABLE, OURS)
        }
    }
}
