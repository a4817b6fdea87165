//! Flags that name the files about chat models: where they are reached, and what they cost.

use anyhow::{Context as _, Result};
use camino::Utf8PathBuf;
use clap::Args;
use llm::{Endpoints, PriceList};

#[derive(Debug, Args)]
pub(super) struct ModelFiles {
    /// Endpoints of models [default: `openai` and `anthropic`].
    #[arg(long, value_name = "FILE")]
    models: Option<Utf8PathBuf>,
    /// Prices of models, in US dollars per million tokens.
    #[arg(long, value_name = "FILE")]
    prices: Option<Utf8PathBuf>,
}

impl ModelFiles {
    /// The endpoints, the built-in ones without a file.
    pub(super) fn endpoints(&self) -> Result<Endpoints> {
        match &self.models {
            Some(path) => Endpoints::from_file(path)
                .with_context(|| format!("failed to read the endpoints in `{path}`")),
            None => Ok(Endpoints::builtin()),
        }
    }

    /// The prices, none without a file.
    pub(super) fn prices(&self) -> Result<PriceList> {
        match &self.prices {
            Some(path) => PriceList::from_file(path)
                .with_context(|| format!("failed to read the prices in `{path}`")),
            None => Ok(PriceList::default()),
        }
    }
}
