//! What an agent is answered with in place of an answer of the model.

use super::account::CapReached;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use llm::{MicroUsd, PassedFault};
use serde_json::{Value, json};
use std::time::Duration;

/// An error in the form of both protocols.
#[derive(Debug, Clone)]
pub(super) struct Denial {
    pub(super) status: StatusCode,
    /// Why, in a word; also in the file of the run.
    pub(super) code: &'static str,
    /// `error`: type, code, message, and what else is to be said.
    error: Value,
    /// When to ask again.
    retry_after: Option<Duration>,
    /// Whether asking again is of use; none leaves it to the client.
    should_retry: Option<bool>,
}

impl Denial {
    /// A mistake of the agent's, with what to do.
    pub(super) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        let kind = match status {
            StatusCode::UNAUTHORIZED => "authentication_error",
            StatusCode::FORBIDDEN => "permission_error",
            StatusCode::NOT_FOUND => "not_found_error",
            StatusCode::TOO_MANY_REQUESTS => "rate_limit_error",
            status if status.is_server_error() => "api_error",
            _ => "invalid_request_error",
        };
        let error = json!({ "type": kind, "code": code, "message": message.into(), "param": null });
        Self { status, code, error, retry_after: None, should_retry: Some(false) }
    }

    /// A fault of ours, whose details are for the operator.
    pub(super) fn ours() -> Self {
        let message = "the gateway failed, which is not your fault; ask again";
        let denial = Self::new(StatusCode::SERVICE_UNAVAILABLE, "gateway", message);
        Self { should_retry: None, ..denial }
    }

    /// A cap has no room for the request.
    pub(super) fn cap(reached: CapReached) -> Self {
        let CapReached { cap, limit, used, reserved, needed } = reached;
        let show = |value: u64| match cap {
            "cost" => MicroUsd(value).to_string(),
            _ => value.to_string(),
        };
        let (of, what) = if cap == "cost" { ("money", "") } else { ("tokens", " tokens") };
        let left = reached.left();
        let mut message = format!(
            "this run's cap on {of} is {}{what}: {} are used, {} are reserved for requests in flight, {} \
             are left, and this request may take {}",
            show(limit),
            show(used),
            show(reserved),
            show(left),
            show(needed)
        );
        let is_passing = reached.may_fit_later();
        message += if is_passing {
            "; ask again when the requests in flight have ended"
        } else if left > 0 {
            "; send a shorter conversation or a smaller `max_tokens`"
        } else {
            "; no further request is passed on"
        };
        let mut denial = Self::new(StatusCode::TOO_MANY_REQUESTS, cap, message);
        denial.error["cap"] = cap.into();
        for (name, value) in [
            ("limit", limit),
            ("used", used),
            ("reserved", reserved),
            ("left", left),
            ("needed", needed),
        ] {
            // Money in US dollars, as people write it.
            denial.error[name] =
                if cap == "cost" { (value as f64 / 1e6).into() } else { value.into() };
        }
        if is_passing {
            denial.retry_after = Some(Duration::from_secs(1));
            denial.should_retry = Some(true);
        }
        denial
    }

    /// What the provider answered, or that it did not.
    pub(super) fn fault(fault: &PassedFault) -> Self {
        let (status, code, message) = match fault.status {
            // The key is the operator's, and so is its failure.
            Some(401 | 403 | 407) => (
                StatusCode::BAD_GATEWAY,
                "key",
                "the provider refuses the key of this run; its operator has to see to it"
                    .to_owned(),
            ),
            Some(status @ 400..=599) => {
                let status = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
                (status, "provider", fault.message.clone())
            }
            // Redirects are not followed.
            Some(_) => (
                StatusCode::BAD_GATEWAY,
                "provider",
                "the provider answers with a status that is no answer".to_owned(),
            ),
            None => (
                StatusCode::BAD_GATEWAY,
                "provider",
                format!("the provider gave no whole answer: {}", fault.message),
            ),
        };
        let mut denial = Self::new(status, code, message);
        if code == "provider" {
            for (name, value) in [("type", &fault.kind), ("code", &fault.code)] {
                if !value.is_empty() {
                    denial.error[name] = value.as_str().into();
                }
            }
            denial.should_retry = None;
            denial.retry_after = fault.retry_after;
        }
        denial
    }

    /// The body.
    pub(super) fn body(&self) -> Value {
        json!({ "type": "error", "error": self.error })
    }
}

impl IntoResponse for Denial {
    fn into_response(self) -> Response {
        let text = self.body().to_string() + "\n";
        let mut response =
            (self.status, [(CONTENT_TYPE, "application/json")], text).into_response();
        let headers = response.headers_mut();
        if let Some(time) = self.retry_after {
            headers.insert(
                RETRY_AFTER,
                HeaderValue::from(time.as_secs() + u64::from(time.subsec_nanos() > 0)),
            );
        }
        if let Some(should) = self.should_retry {
            let word = if should { "true" } else { "false" };
            headers.insert("x-should-retry", HeaderValue::from_static(word));
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use llm::Usage;

    #[test]
    fn cap_says_which_one_it_is_and_what_is_left() {
        let reached = CapReached { cap: "tokens", limit: 100, used: 60, reserved: 0, needed: 70 };
        let denial = Denial::cap(reached);
        assert_eq!(denial.status, StatusCode::TOO_MANY_REQUESTS);
        let body = denial.body();
        assert_eq!((&body["error"]["cap"], &body["error"]["left"]), (&json!("tokens"), &json!(40)));
        assert!(body["error"]["message"].as_str().unwrap().contains("smaller `max_tokens`"));
        assert_eq!(denial.into_response().headers()["x-should-retry"], "false");
        let reached = CapReached {
            cap: "cost",
            limit: 2_000_000,
            used: 500_000,
            reserved: 1_000_000,
            needed: 900_000,
        };
        let denial = Denial::cap(reached);
        assert_eq!(denial.body()["error"]["left"], 0.5);
        assert_eq!(denial.into_response().headers()["retry-after"], "1");
    }

    #[test]
    fn refused_key_is_not_the_agents_and_says_nothing_of_the_provider() {
        let fault = |status| PassedFault {
            name: format!("status_{status}"),
            status: Some(status),
            kind: "t".to_owned(),
            code: "c".to_owned(),
            message: "bad key sk-ab…yz".to_owned(),
            retry_after: Some(Duration::from_millis(1_500)),
            may_be_billed: false,
            usage: Usage::default(),
        };
        let denial = Denial::fault(&fault(401));
        assert_eq!(denial.status, StatusCode::BAD_GATEWAY);
        assert!(!denial.body().to_string().contains("sk-"), "{}", denial.body());
        let denial = Denial::fault(&fault(429));
        assert_eq!((denial.status.as_u16(), &denial.body()["error"]["code"]), (429, &json!("c")));
        assert_eq!(denial.into_response().headers()["retry-after"], "2");
    }
}
