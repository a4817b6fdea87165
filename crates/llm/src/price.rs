//! What tokens cost.

use crate::chat::Usage;
use camino::Utf8Path;
use fs_err as fs;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io;
use std::str::FromStr;

/// An amount in whole millionths of a US dollar.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct MicroUsd(pub u64);

impl fmt::Display for MicroUsd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "${}.{:06}", self.0 / 1_000_000, self.0 % 1_000_000)
    }
}

/// A text that is no amount.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an amount in US dollars with at most six decimals, such as `12.50`")]
pub struct AmountError(String);

impl FromStr for MicroUsd {
    type Err = AmountError;
    /// Reads dollars as decimal text, exactly.
    fn from_str(text: &str) -> Result<Self, AmountError> {
        let error = || AmountError(text.to_owned());
        let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        if !digits(whole) || !digits(decimals) || decimals.len() > 6 {
            return Err(error());
        }
        let whole: u64 = whole.parse().map_err(|_| error())?;
        let decimals: u64 = format!("{decimals:0<6}").parse().map_err(|_| error())?;
        let amount = whole.checked_mul(1_000_000).and_then(|whole| whole.checked_add(decimals));
        amount.map(Self).ok_or_else(error)
    }
}

/// The price of a model, each per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Price {
    /// Tokens read.
    pub input: MicroUsd,
    /// Tokens read from the provider's prompt cache.
    pub cached: MicroUsd,
    /// Tokens read and written to the provider's prompt cache.
    pub cache_written: MicroUsd,
    /// Tokens written.
    pub output: MicroUsd,
}

impl Price {
    /// The price of models on one's own machines.
    pub const FREE: Self = Self {
        input: MicroUsd(0),
        cached: MicroUsd(0),
        cache_written: MicroUsd(0),
        output: MicroUsd(0),
    };

    /// The cost of a call, rounded up.
    pub fn cost(&self, usage: &Usage) -> MicroUsd {
        let plain = usage.input.saturating_sub(usage.cached).saturating_sub(usage.cache_written);
        sum(&[
            (plain, self.input),
            (usage.cached, self.cached),
            (usage.cache_written, self.cache_written),
            (usage.output, self.output),
        ])
    }

    /// The most that a call can cost which reads at most `input` tokens and writes at most `output`,
    /// rounded up.
    pub fn most(&self, input: u64, output: u64) -> MicroUsd {
        let dearest = self.input.max(self.cached).max(self.cache_written);
        sum(&[(input, dearest), (output, self.output)])
    }
}

fn sum(parts: &[(u64, MicroUsd)]) -> MicroUsd {
    let total: u128 =
        parts.iter().map(|(tokens, price)| u128::from(*tokens) * u128::from(price.0)).sum();
    MicroUsd(u64::try_from(total.div_ceil(1_000_000)).unwrap_or(u64::MAX))
}

/// What is wrong with a list of prices.
#[derive(Debug, thiserror::Error)]
pub enum PriceError {
    /// The file could not be read.
    #[error("failed to read the prices")]
    Io(#[from] io::Error),
    /// The file is not of the form that it must have.
    #[error("the prices are malformed")]
    Malformed(#[from] toml::de::Error),
    /// An amount is malformed.
    #[error("the price of `{model}`")]
    Amount {
        /// Name of the model whose amount is malformed.
        model: String,
        /// What is wrong with it.
        #[source]
        source: AmountError,
    },
    /// A model has two prices.
    #[error("`{0}` has two prices; keep the one that holds")]
    Duplicate(String),
}

/// A price as a file states it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PriceFields {
    model: String,
    input: String,
    cached: Option<String>,
    cache_written: Option<String>,
    output: String,
    /// The day since when it holds, for readers of the file.
    #[serde(rename = "from")]
    _from: Option<toml::value::Datetime>,
    /// Where it was found, for readers of the file.
    #[serde(rename = "source")]
    _source: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PriceFile {
    #[serde(default)]
    price: Vec<PriceFields>,
}

/// Prices of models, from a TOML file. No prices are built in, because they change.
///
/// An entry holds for the model of its name and for the same model under a date
/// (`NAME-2026-08-01`, `NAME-20260801`, `NAME-latest`); an entry that ends with `*` holds for all
/// models that begin with what comes before. The longest entry wins. A plain prefix is not enough:
/// it would price `NAME-pro` like `NAME`.
///
/// # Examples
/// ```rust
/// use llm::{PriceList, Usage};
///
/// let prices = PriceList::from_toml(
///     r#"
///     [[price]]                # US dollars per million tokens, as text
///     model = "some-model"
///     input = "0.15"
///     cached = "0.075"         # default: the same as input
///     output = "0.60"
///     from = 2026-08-01
///     source = "the provider's page of prices"
///     "#,
/// )?;
/// let price = prices.price("some-model-2026-07-18").expect("the same model under a date");
/// let usage = Usage { input: 1000, cached: 200, output: 500, ..Usage::default() };
/// assert_eq!(price.cost(&usage).to_string(), "$0.000435");
/// assert!(prices.price("some-model-pro").is_none());
/// # Ok::<(), llm::PriceError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct PriceList {
    entries: Vec<(String, Price)>,
}

impl PriceList {
    /// Reads a TOML text.
    ///
    /// # Errors
    /// [`PriceError`].
    pub fn from_toml(text: &str) -> Result<Self, PriceError> {
        let mut list = Self::default();
        for fields in toml::from_str::<PriceFile>(text)?.price {
            let amount = |text: &str| {
                text.parse::<MicroUsd>()
                    .map_err(|source| PriceError::Amount { model: fields.model.clone(), source })
            };
            let input = amount(&fields.input)?;
            let optional = |text: Option<&str>| text.map_or(Ok(input), amount);
            let price = Price {
                input,
                cached: optional(fields.cached.as_deref())?,
                cache_written: optional(fields.cache_written.as_deref())?,
                output: amount(&fields.output)?,
            };
            if list.entries.iter().any(|(model, _)| *model == fields.model) {
                return Err(PriceError::Duplicate(fields.model));
            }
            list.entries.push((fields.model, price));
        }
        Ok(list)
    }

    /// Reads a TOML file.
    ///
    /// # Errors
    /// [`PriceError`].
    pub fn from_file(path: &Utf8Path) -> Result<Self, PriceError> {
        Self::from_toml(&fs::read_to_string(path)?)
    }

    /// The price of a model by the provider's name.
    pub fn price(&self, model: &str) -> Option<Price> {
        let matching = self.entries.iter().filter(|(entry, _)| holds_for(entry, model));
        matching.max_by_key(|(entry, _)| entry.len()).map(|(_, price)| *price)
    }
}

fn holds_for(entry: &str, model: &str) -> bool {
    if let Some(beginning) = entry.strip_suffix('*') {
        return model.starts_with(beginning);
    }
    let Some(rest) = model.strip_prefix(entry) else { return false };
    let is_date = |text: &str| {
        let digits = text.bytes().filter(u8::is_ascii_digit).count();
        digits == 8 && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
    };
    match rest.strip_prefix(['-', '@']) {
        Some(suffix) => suffix == "latest" || is_date(suffix),
        None => rest.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn entry(model: &str, input: &str, output: &str) -> String {
        format!("[[price]]\nmodel = \"{model}\"\ninput = \"{input}\"\noutput = \"{output}\"\n")
    }

    #[test]
    fn amount_decimal_text_is_exact() {
        assert_eq!("0.15".parse(), Ok(MicroUsd(150_000)));
        assert_eq!("12".parse(), Ok(MicroUsd(12_000_000)));
        assert_eq!("0.000001".parse(), Ok(MicroUsd(1)));
        assert_eq!(MicroUsd(1_500_000).to_string(), "$1.500000");
        for wrong in ["", ".5", "5.", "-1", "1e3", "0.0000001", "1,5", "+1", "99999999999999999999"]
        {
            assert!(wrong.parse::<MicroUsd>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn price_longest_entry_wins_and_other_models_have_none() {
        let text = [
            entry("a", "1", "1"),
            entry("a-mini", "2", "2"),
            entry("b*", "3", "3"),
            entry("b-x*", "4", "4"),
        ];
        let prices = PriceList::from_toml(&text.concat()).unwrap();
        let input = |model: &str| prices.price(model).map(|price| price.input.0 / 1_000_000);
        for (model, expected) in [
            ("a", Some(1)),
            ("a-2026-08-01", Some(1)),
            ("a-20260801", Some(1)),
            ("a@20260801", Some(1)),
            ("a-latest", Some(1)),
            ("a-mini", Some(2)),
            ("a-mini-2026-08-01", Some(2)),
            ("a-pro", None),
            ("a-5", None),
            ("ab", None),
            ("b", Some(3)),
            ("b-x7", Some(4)),
            ("c", None),
        ] {
            assert_eq!(input(model), expected, "{model}");
        }
    }

    #[test]
    fn price_wrong_files_are_refused() {
        let twice = entry("a", "1", "1").repeat(2);
        assert!(matches!(PriceList::from_toml(&twice), Err(PriceError::Duplicate(_))));
        let amount = PriceList::from_toml(&entry("a", "one", "1"));
        assert!(matches!(amount, Err(PriceError::Amount { .. })));
        let unknown = format!("{}currency = \"EUR\"\n", entry("a", "1", "1"));
        assert!(matches!(PriceList::from_toml(&unknown), Err(PriceError::Malformed(_))));
    }

    #[test]
    fn cost_cached_tokens_have_their_own_price() {
        let price = Price {
            input: MicroUsd(3_000_000),
            cached: MicroUsd(300_000),
            cache_written: MicroUsd(3_750_000),
            output: MicroUsd(15_000_000),
        };
        let usage =
            Usage { input: 1000, cached: 600, cache_written: 100, output: 10, ..Usage::default() };
        // 300 x 3 + 600 x 0.3 + 100 x 3.75 + 10 x 15, in millionths of a dollar.
        assert_eq!(price.cost(&usage), MicroUsd(1605));
        assert_eq!(price.most(1000, 10), MicroUsd(3900));
    }

    proptest! {
        #[test]
        fn cost_is_never_above_the_most(
            prices in prop::array::uniform4(0u64..100_000_000),
            input in 0u64..1_000_000, percents in (0u64..=100, 0u64..=100), output in 0u64..100_000,
        ) {
            let [a, b, c, d] = prices.map(MicroUsd);
            let price = Price { input: a, cached: b, cache_written: c, output: d };
            let cached = input * percents.0 / 100;
            let cache_written = (input - cached) * percents.1 / 100;
            let usage = Usage { input, cached, cache_written, output, ..Usage::default() };
            prop_assert!(price.cost(&usage) <= price.most(input, output));
            prop_assert_eq!(price.cost(&Usage::default()), MicroUsd(0));
        }

        #[test]
        fn amount_round_trips(amount: u64) {
            let text = MicroUsd(amount).to_string();
            prop_assert_eq!(text.trim_start_matches('$').parse(), Ok(MicroUsd(amount)));
        }
    }
}
