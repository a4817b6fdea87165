//! Where runs and episodes get their channels, by what flags and settings name.

use super::channel::{GuideLink, GuideSource, HttpChannel, LocalChannel, OnLost};
use super::error::StoreError;
use super::ids::ConversationId;
use super::person::{BadPersonRules, LockstepPerson, PersonRules};
use super::store::Store;
use super::wire::PORT;
use crate::remote::{RemoteError, ServerAddress};
use camino::Utf8Path;
use std::io;
use std::sync::Arc;

/// Why there is no guide.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The store cannot be opened.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The scripted person cannot be used.
    #[error(transparent)]
    Person(#[from] BadPersonRules),
    /// The address is none.
    #[error(transparent)]
    Address(#[from] RemoteError),
    /// A scripted person and a server.
    #[error(
        "a scripted person keeps step with the agent in one process, so the guide is a folder; at a \
         server: `agents guide person --url {0} --rules FILE`"
    )]
    PersonAtServer(ServerAddress),
}

/// Where runs get their channels.
#[derive(Debug)]
pub enum RunGuide {
    /// Nobody reads along.
    Unguided,
    /// A server.
    Server(ServerAddress, OnLost),
    /// A store of this process.
    Store(Arc<Store>, OnLost),
    /// A scripted person of this process.
    Person(LockstepPerson),
}

impl RunGuide {
    /// The guide at `place`: a server, if it is an address, with `token` where that has none; else the
    /// folder of a store, in which a scripted `person` advises if there is one. `on_lost` is what agents
    /// do while it does not answer.
    ///
    /// # Errors
    /// [`SourceError`].
    pub fn open(
        place: &str,
        token: Option<&str>,
        person: Option<&Utf8Path>,
        on_lost: OnLost,
    ) -> Result<Self, SourceError> {
        if place.contains("://") {
            let address = server_address(place, token)?;
            if person.is_some() {
                return Err(SourceError::PersonAtServer(address));
            }
            return Ok(Self::Server(address, on_lost));
        }
        let rules = person.map(PersonRules::from_file).transpose()?;
        let store = Arc::new(Store::open(Utf8Path::new(place))?);
        Ok(match rules {
            None => Self::Store(store, on_lost),
            Some(rules) => Self::Person(LockstepPerson::new(store, rules, on_lost)?),
        })
    }
}

/// The address of a guide server; `token` is sent where it has none itself.
///
/// # Errors
/// [`RemoteError::Address`].
pub fn server_address(url: &str, token: Option<&str>) -> Result<ServerAddress, RemoteError> {
    let address = ServerAddress::parse_with_port(url, PORT)?;
    Ok(match token {
        Some(token) => address.with_token(token),
        None => address,
    })
}

impl GuideSource for RunGuide {
    fn link(&self) -> Option<GuideLink> {
        match self {
            Self::Unguided => None,
            Self::Person(person) => person.link(),
            Self::Server(address, on_lost) => {
                let channel = Box::new(HttpChannel::new(address.clone()));
                Some(GuideLink { channel, on_lost: *on_lost })
            }
            Self::Store(store, on_lost) => {
                let channel = Box::new(LocalChannel(Arc::clone(store)));
                Some(GuideLink { channel, on_lost: *on_lost })
            }
        }
    }

    fn name(&self, key: &str) -> io::Result<ConversationId> {
        match self {
            Self::Person(person) => person.name(key),
            Self::Unguided | Self::Server(..) | Self::Store(..) => ConversationId::draw(),
        }
    }
}
