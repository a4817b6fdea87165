//! The models that a run's agent may ask, and where they are.

use super::settings::{GatewayError, GatewaySettings};
use camino::Utf8Path;
use llm::{Price, Relay, Replay, WireProtocol};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How a model is named that answers from a recording.
const REPLAY: &str = "replay";

/// A model that may be asked.
#[derive(Debug)]
pub(super) struct OfferedModel {
    /// As the agent has it.
    pub(super) id: String,
    /// As the run has it.
    pub(super) name: String,
    /// As the provider has it.
    pub(super) provider_name: String,
    /// How it is spoken to.
    pub(super) protocol: WireProtocol,
    /// None if it is not known.
    pub(super) price: Option<Price>,
    pub(super) source: ModelSource,
}

/// What answers for a model.
#[derive(Debug)]
pub(super) enum ModelSource {
    /// Its provider.
    Provider(Arc<Relay>),
    /// A recording.
    Recording(Replay),
}

/// The models that a run's agent may ask, at least one, with their keys and recordings.
#[derive(Debug)]
pub struct OfferedModels(Vec<Arc<OfferedModel>>);

impl OfferedModels {
    /// Those of the settings. No connection is opened.
    ///
    /// # Errors
    /// [`GatewayError`] but for [`GatewayError::Io`].
    pub fn open(settings: &GatewaySettings) -> Result<Self, GatewayError> {
        let mut all: Vec<OfferedModel> = Vec::new();
        let mut relays: BTreeMap<String, Arc<Relay>> = BTreeMap::new();
        for name in &settings.models {
            if all.iter().any(|model| model.name == *name) {
                return Err(GatewayError::Twice(name.clone()));
            }
            all.push(match name.split_once(':') {
                Some((REPLAY, file)) => recorded(name, Utf8Path::new(file))?,
                _ => served(name, settings, &mut relays)?,
            });
        }
        if all.is_empty() {
            return Err(GatewayError::NoModel);
        }
        // The provider's name is enough where no other model has it.
        let names: Vec<String> = all.iter().map(|model| model.provider_name.clone()).collect();
        for model in &mut all {
            if names.iter().filter(|name| **name == model.provider_name).count() > 1 {
                model.id.clone_from(&model.name);
            }
        }
        Ok(Self(all.into_iter().map(Arc::new).collect()))
    }

    /// The model that an agent calls so.
    pub(super) fn find(&self, asked: &str) -> Option<&Arc<OfferedModel>> {
        self.0.iter().find(|model| model.id == asked || model.name == asked)
    }

    /// All of them; at least one.
    pub(super) fn all(&self) -> &[Arc<OfferedModel>] {
        &self.0
    }
}

fn recorded(name: &str, file: &Utf8Path) -> Result<OfferedModel, GatewayError> {
    let replay = Replay::open(file).map_err(GatewayError::recording(file))?;
    Ok(OfferedModel {
        // The path is the host's.
        id: REPLAY.to_owned(),
        name: name.to_owned(),
        provider_name: REPLAY.to_owned(),
        protocol: WireProtocol::OpenAi,
        price: Some(Price::FREE),
        source: ModelSource::Recording(replay),
    })
}

fn served(
    name: &str,
    settings: &GatewaySettings,
    relays: &mut BTreeMap<String, Arc<Relay>>,
) -> Result<OfferedModel, GatewayError> {
    let (endpoint, provider_name) = settings.endpoints.resolve(name)?;
    let provider_name = provider_name.to_owned();
    let price =
        if endpoint.free { Some(Price::FREE) } else { settings.prices.price(&provider_name) };
    if price.is_none() {
        if settings.caps.cost.is_some() {
            return Err(GatewayError::Price(provider_name));
        }
        tracing::warn!(model = name, "its price is unknown, so the cost of this run will be too");
    }
    let protocol = endpoint.protocol;
    let relay = if let Some(relay) = relays.get(&endpoint.name) {
        Arc::clone(relay)
    } else {
        let key = endpoint.name.clone();
        let relay = Arc::new(Relay::new(endpoint)?);
        relays.insert(key, Arc::clone(&relay));
        relay
    };
    Ok(OfferedModel {
        id: provider_name.clone(),
        name: name.to_owned(),
        provider_name,
        protocol,
        price,
        source: ModelSource::Provider(relay),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::Caps;
    use llm::{Endpoints, PriceList};

    fn settings(models: &[&str]) -> GatewaySettings {
        let text = "[endpoint.a]\nprotocol = \"openai\"\nbase_url = \"http://localhost:1\"\nfree = true\n\
                    [endpoint.b]\nprotocol = \"anthropic\"\nbase_url = \"http://localhost:2\"\n";
        GatewaySettings {
            models: models.iter().map(|&name| name.to_owned()).collect(),
            caps: Caps::default(),
            endpoints: Endpoints::from_toml(text).unwrap(),
            prices: PriceList::default(),
            is_recorded: false,
        }
    }

    #[test]
    fn models_are_found_by_the_providers_name_unless_two_have_it() {
        let models = OfferedModels::open(&settings(&["a:m", "b:m", "b:other"])).unwrap();
        let ids: Vec<&str> = models.all().iter().map(|model| model.id.as_str()).collect();
        assert_eq!(ids, ["a:m", "b:m", "other"]);
        assert!(models.find("m").is_none());
        assert_eq!(models.find("b:m").unwrap().protocol, WireProtocol::Anthropic);
        assert_eq!(models.find("b:other").unwrap().id, "other");
        assert_eq!(models.find("a:m").unwrap().price, Some(Price::FREE));
        assert!(models.find("a:other").is_none());
    }

    #[test]
    fn settings_that_cannot_hold_are_refused() {
        let open = |settings| OfferedModels::open(&settings).unwrap_err().to_string();
        assert!(open(settings(&[])).contains("--gateway-models"));
        assert!(open(settings(&["a:m", "a:m"])).contains("named twice"));
        assert!(open(settings(&["c:m"])).contains("no endpoint `c`"));
        assert!(open(settings(&["replay:/nowhere"])).contains("/nowhere"));
        let caps = Caps { cost: Some(llm::MicroUsd(1)), ..Caps::default() };
        let priced = GatewaySettings { caps, ..settings(&["b:m"]) };
        assert!(open(priced).contains("model = \"m\""));
    }
}
