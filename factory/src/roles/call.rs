//! One call of a role: why it is made, what it returns and what it costs.

use super::{RoleName, RoleRefusal, WorkPermit};
use serde::{Deserialize, Serialize};
use std::ops::AddAssign;

/// Why a role's last work was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoleFeedback {
    /// The role whose work was refused.
    pub role: RoleName,
    /// Reason code, as in ledgers.
    pub code: &'static str,
    /// The reason in words.
    pub detail: String,
}

/// The circumstances of one call.
#[derive(Debug, Clone, Copy)]
pub struct RoleCall<'a> {
    /// Number of calls of this role in this attempt before this one.
    pub index: u64,
    /// Why this role's work was refused: by the call before this one, or else by the attempt
    /// before this one. A role never gets the feedback of another.
    pub feedback: Option<&'a RoleFeedback>,
    /// The slot's permit to use a processor, of no use while a role waits for a chat model.
    pub permit: &'a WorkPermit<'a>,
}

/// What the chat models of a role consumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoleCost {
    /// Number of requests to a model.
    pub calls: u64,
    /// Tokens that models read.
    pub prompt_tokens: u64,
    /// Tokens that models generated.
    pub completion_tokens: u64,
    /// Price in millionths of a US dollar; `None` where a price is not known.
    pub cost_micro_usd: Option<u64>,
}

impl RoleCost {
    /// The cost of a role that asks no model.
    pub const ZERO: Self =
        Self { calls: 0, prompt_tokens: 0, completion_tokens: 0, cost_micro_usd: Some(0) };
}

impl AddAssign for RoleCost {
    /// Adds up; a sum with an unknown price has an unknown price.
    fn add_assign(&mut self, other: Self) {
        self.calls += other.calls;
        self.prompt_tokens += other.prompt_tokens;
        self.completion_tokens += other.completion_tokens;
        let prices = self.cost_micro_usd.zip(other.cost_micro_usd);
        self.cost_micro_usd = prices.map(|(one, other)| one + other);
    }
}

/// The chat model that made a role's product.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoleAuthor {
    /// Name of the model, `endpoint:name`.
    pub model: String,
    /// BLAKE3 of the prompts that it was given, in hexadecimal.
    pub prompt: String,
}

/// The result of one call, and its cost whatever the result is.
#[derive(Debug)]
pub struct RoleReply<T> {
    /// What the role delivers, or why it cannot.
    pub product: Result<T, RoleRefusal>,
    /// What the call consumed.
    pub cost: RoleCost,
    /// The model that made the product; `None` where a built-in procedure did.
    pub author: Option<RoleAuthor>,
}

impl<T> RoleReply<T> {
    /// The same reply with what `change` makes of its product.
    pub fn and_then<U>(self, change: impl FnOnce(T) -> Result<U, RoleRefusal>) -> RoleReply<U> {
        let Self { product, cost, author } = self;
        RoleReply { product: product.and_then(change), cost, author }
    }
}

impl<T> From<Result<T, RoleRefusal>> for RoleReply<T> {
    /// The reply of a role that asks no model.
    fn from(product: Result<T, RoleRefusal>) -> Self {
        Self { product, cost: RoleCost::ZERO, author: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sum_with_an_unknown_price_has_an_unknown_price() {
        let one = |cost_micro_usd| RoleCost {
            calls: 1,
            prompt_tokens: 20,
            completion_tokens: 3,
            cost_micro_usd,
        };
        let mut sum = RoleCost::ZERO;
        sum += one(Some(7));
        sum += one(Some(5));
        assert_eq!((sum.calls, sum.prompt_tokens, sum.completion_tokens), (2, 40, 6));
        assert_eq!(sum.cost_micro_usd, Some(12));
        sum += one(None);
        sum += one(Some(1));
        assert_eq!((sum.calls, sum.cost_micro_usd), (4, None));
    }
}
