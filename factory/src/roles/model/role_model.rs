//! A chat model that plays roles.

use llm::{ChatModel, Price, Usage};
use std::fmt;
use std::sync::Arc;

/// A chat model that plays roles, under the name that settings use.
#[derive(Clone)]
pub struct RoleModel {
    /// What answers: a provider, a cache in front of one, or a recording.
    pub chat: Arc<dyn ChatModel>,
    /// The provider's name of the model.
    pub name: String,
    /// Its price; `None` if it is not known.
    pub price: Option<Price>,
}

impl fmt::Debug for RoleModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { chat: _, name, price } = self;
        f.debug_struct("RoleModel")
            .field("name", name)
            .field("price", price)
            .finish_non_exhaustive()
    }
}

impl RoleModel {
    /// The price of an answer in millionths of a US dollar, the same whether or not it came from a
    /// cache; `None` if the price is not known.
    pub(super) fn cost(&self, usage: &Usage) -> Option<u64> {
        self.price.map(|price| price.cost(usage).0)
    }
}
