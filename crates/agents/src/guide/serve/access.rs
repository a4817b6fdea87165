//! Who is let in: hosts, origins, tokens, sessions of browsers, and what a role may do.

use super::answer::Failure;
use super::body::Body;
use super::config::PublicUrl;
use super::server::Shared;
use crate::guide::annotators::{Annotators, Role};
use crate::guide::people::Person;
use axum::extract::{Request, State};
use axum::http::header::{
    COOKIE, HOST, HeaderMap, HeaderName, HeaderValue, ORIGIN, SET_COOKIE, WWW_AUTHENTICATE,
};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use serde::Deserialize;
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tasks::stream::unguessable;
use web::token::Token;

/// Name of the cookie of a browser's session.
const SESSION: &str = "guide_session";
/// How long a session lasts.
const SESSION_LASTS: Duration = Duration::from_hours(12);
/// Most sessions; beyond, the oldest ends.
const SESSIONS: usize = 4096;
/// The name under which whoever reaches a server without a list acts.
const LOCAL: &str = "local";

/// What every answer says to browsers.
const HEADERS: [(&str, &str); 4] = [
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' \
         data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cache-control", "no-store"),
];

/// Who may come in, and by which names this server is called.
#[derive(Debug)]
pub(super) struct Access {
    /// `None` on a loopback address without a list.
    pub(super) annotators: Option<Annotators>,
    pub(super) public: Option<PublicUrl>,
    pub(super) address: SocketAddr,
    /// Whether a recorded run is replayed, and the server is read-only.
    pub(super) is_replay: bool,
    /// By the hash of the cookie.
    sessions: Mutex<HashMap<String, Session>>,
}

#[derive(Debug)]
struct Session {
    /// That of the person, so that it ends with the token.
    token: Token,
    began: Instant,
}

/// Who sent a request: an extension of every request that was let in.
#[derive(Debug, Clone)]
pub(super) struct Caller {
    pub(super) name: String,
    /// `None` of whoever may do everything.
    role: Option<Role>,
    /// Whether a recorded run is replayed, and the server is read-only.
    pub(super) is_replay: bool,
}

impl Caller {
    /// Refuses who may not look.
    pub(super) fn reads(&self) -> Result<(), Failure> {
        check(!matches!(self.role, Some(Role::Agent)), "viewer")
    }

    /// A person who may advise; refuses others.
    pub(super) fn advises(&self) -> Result<Person<'_>, Failure> {
        self.changes()?;
        let may = matches!(self.role, None | Some(Role::Annotator | Role::Lead));
        check(may, "annotator")?;
        Ok(Person { name: &self.name, leads: matches!(self.role, None | Some(Role::Lead)) })
    }

    /// Refuses who is no agent.
    pub(super) fn acts(&self) -> Result<(), Failure> {
        self.changes()?;
        check(matches!(self.role, None | Some(Role::Agent)), "agent")
    }

    /// Refuses to change what is told again.
    fn changes(&self) -> Result<(), Failure> {
        if !self.is_replay {
            return Ok(());
        }
        let said = "this is a replay: people can look, and nothing changes";
        Err(Failure::new(StatusCode::FORBIDDEN, "replay", said))
    }
}

fn check(may: bool, needed: &str) -> Result<(), Failure> {
    if may {
        return Ok(());
    }
    let said = format!("this needs the role `{needed}`");
    Err(Failure::new(StatusCode::FORBIDDEN, "role", said))
}

impl Access {
    pub(super) fn new(
        annotators: Option<Annotators>,
        public: Option<PublicUrl>,
        address: SocketAddr,
        is_replay: bool,
    ) -> Self {
        Self { annotators, public, address, is_replay, sessions: Mutex::default() }
    }

    /// Whether a request is for this server under a name of its own. A page from elsewhere could
    /// otherwise have its name resolved to this machine, and read what is here.
    fn is_known_host(&self, host: &str) -> bool {
        if self.public.as_ref().is_some_and(|public| public.host.eq_ignore_ascii_case(host)) {
            return true;
        }
        let port = self.address.port();
        let Some(name) = host.strip_suffix(&format!(":{port}")).or(match port {
            80 => Some(host),
            _ => None,
        }) else {
            return false;
        };
        if self.address.ip().is_loopback() && name.eq_ignore_ascii_case("localhost") {
            return true;
        }
        // Names can be resolved to anything; addresses are what they are.
        let name = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
        match name.parse::<IpAddr>() {
            Ok(ip) => ip == self.address.ip() || self.address.ip().is_unspecified(),
            Err(_) => false,
        }
    }

    /// Checks by which name the server is called, and from which page.
    fn check_origin(&self, headers: &HeaderMap) -> Result<(), Failure> {
        let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
        if !self.is_known_host(host) {
            let host = tasks::text::one_line(host);
            let said = format!(
                "`{host}` is no name of this server; use its address, or start it with `--public-url`"
            );
            return Err(Failure::new(StatusCode::FORBIDDEN, "host", said));
        }
        let Some(origin) = headers.get(ORIGIN) else { return Ok(()) };
        let origin = origin.to_str().unwrap_or_default();
        let is_own = origin.eq_ignore_ascii_case(&format!("http://{host}"))
            || self
                .public
                .as_ref()
                .is_some_and(|public| public.origin.eq_ignore_ascii_case(origin));
        if is_own {
            return Ok(());
        }
        Err(Failure::new(StatusCode::FORBIDDEN, "origin", "pages from elsewhere are not served"))
    }

    /// Who sent a request.
    fn caller(&self, headers: &HeaderMap, method: &Method) -> Result<Caller, Failure> {
        let Some(annotators) = &self.annotators else {
            let is_replay = self.is_replay;
            return Ok(Caller { name: LOCAL.to_owned(), role: None, is_replay });
        };
        let (token, by_cookie) = match Token::shown_in(headers) {
            Some(token) => (Some(token), false),
            None => (self.session(headers), true),
        };
        let Some(annotator) = token.and_then(|token| annotators.find(&token)) else {
            let said = "show a token, as `Authorization: Bearer TOKEN`, or sign in";
            return Err(Failure::new(StatusCode::UNAUTHORIZED, "token", said));
        };
        let changes = !matches!(*method, Method::GET | Method::HEAD);
        if by_cookie && changes && !headers.contains_key(ORIGIN) {
            let said = "a change from a browser says from which page it comes";
            return Err(Failure::new(StatusCode::FORBIDDEN, "origin", said));
        }
        let role = Some(annotator.role);
        Ok(Caller { name: annotator.name, role, is_replay: self.is_replay })
    }

    /// The token of the session whose cookie a request has.
    fn session(&self, headers: &HeaderMap) -> Option<Token> {
        let key = hash(&cookie(headers)?);
        let sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let session = sessions.get(&key)?;
        (session.began.elapsed() < SESSION_LASTS).then(|| session.token.clone())
    }
}

fn hash(secret: &str) -> String {
    blake3::hash(secret.as_bytes()).to_hex().to_string()
}

fn cookie(headers: &HeaderMap) -> Option<String> {
    let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs =
        cookies.flat_map(|value| value.split(';')).filter_map(|pair| pair.split_once('='));
    pairs.find(|(name, _)| name.trim() == SESSION).map(|(_, value)| value.trim().to_owned())
}

/// Gives every answer what browsers must know.
fn guarded(mut response: Response) -> Response {
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    response
}

/// Refuses requests under foreign names, from foreign pages, and of nobody.
pub(super) async fn admit(
    State(shared): State<Arc<Shared>>,
    mut request: Request,
    next: Next,
) -> Response {
    let access = &shared.access;
    let headers = request.headers();
    let admitted =
        access.check_origin(headers).and_then(|()| access.caller(headers, request.method()));
    guarded(match admitted {
        Ok(caller) => {
            request.extensions_mut().insert(caller);
            next.run(request).await
        }
        Err(failure) if failure.status == StatusCode::UNAUTHORIZED => {
            // Not `Basic`: browsers would ask for a name themselves, over the page's own form.
            let how = [(WWW_AUTHENTICATE, "Bearer")];
            (how, failure).into_response()
        }
        Err(failure) => failure.into_response(),
    })
}

/// The same where nobody need be known.
pub(super) async fn admit_anybody(
    State(shared): State<Arc<Shared>>,
    request: Request,
    next: Next,
) -> Response {
    guarded(match shared.access.check_origin(request.headers()) {
        Ok(()) => next.run(request).await,
        Err(failure) => failure.into_response(),
    })
}

/// The body of `POST /session`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SignIn {
    name: String,
    token: String,
}

/// Answers `POST /session` with a cookie.
pub(super) async fn sign_in(
    State(shared): State<Arc<Shared>>,
    Body(SignIn { name, token }): Body<SignIn>,
) -> Result<Response, Failure> {
    let access = &shared.access;
    let wrong =
        || Failure::new(StatusCode::UNAUTHORIZED, "token", "the name or the token is wrong");
    let Some(annotators) = &access.annotators else {
        return Ok(StatusCode::NO_CONTENT.into_response());
    };
    let token = Token::new(&token, 1).map_err(|_| wrong())?;
    annotators.find(&token).filter(|annotator| annotator.name == name).ok_or_else(wrong)?;
    let secret = unguessable().map_err(|error| {
        Failure::new(StatusCode::INTERNAL_SERVER_ERROR, "failed", error.to_string())
    })?;
    let mut sessions = access.sessions.lock().unwrap_or_else(PoisonError::into_inner);
    sessions.retain(|_, session| session.began.elapsed() < SESSION_LASTS);
    if sessions.len() >= SESSIONS {
        let oldest = sessions.iter().min_by_key(|(_, session)| session.began);
        if let Some(oldest) = oldest.map(|(key, _)| key.clone()) {
            sessions.remove(&oldest);
        }
    }
    sessions.insert(hash(&secret), Session { token, began: Instant::now() });
    Ok(set_cookie(access, &secret, SESSION_LASTS))
}

/// Answers `DELETE /session`: the session is over.
pub(super) async fn sign_out(State(shared): State<Arc<Shared>>, headers: HeaderMap) -> Response {
    if let Some(secret) = cookie(&headers) {
        let sessions = &shared.access.sessions;
        sessions.lock().unwrap_or_else(PoisonError::into_inner).remove(&hash(&secret));
    }
    set_cookie(&shared.access, "", Duration::ZERO)
}

fn set_cookie(access: &Access, value: &str, lasts: Duration) -> Response {
    let secure =
        if access.public.as_ref().is_some_and(|public| public.is_secure) { "; Secure" } else { "" };
    let cookie = format!(
        "{SESSION}={value}; Path=/; Max-Age={}; HttpOnly; SameSite=Strict{secure}",
        lasts.as_secs()
    );
    (StatusCode::NO_CONTENT, [(SET_COOKIE, cookie)]).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_addresses_of_the_server_and_its_public_name() {
        let public = PublicUrl {
            origin: "https://guide.org".to_owned(),
            host: "guide.org".to_owned(),
            is_secure: true,
        };
        let local = Access::new(None, Some(public), "127.0.0.1:8300".parse().unwrap(), false);
        for known in ["127.0.0.1:8300", "localhost:8300", "LOCALHOST:8300", "guide.org"] {
            assert!(local.is_known_host(known), "{known}");
        }
        for foreign in
            ["", "127.0.0.1", "evil.org:8300", "10.0.0.1:8300", "localhost.evil.org:8300"]
        {
            assert!(!local.is_known_host(foreign), "{foreign}");
        }
        let open = Access::new(None, None, "0.0.0.0:80".parse().unwrap(), false);
        assert!(open.is_known_host("10.0.0.1") && open.is_known_host("[::1]:80"));
        assert!(!open.is_known_host("guide.org") && !open.is_known_host("localhost"));
    }
}
