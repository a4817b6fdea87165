//! From the rewards of a group to advantages, and from log-probabilities to GRPO's loss and its
//! gradient. The numbers are those of `docs/GRPO.md`'s kind: small enough to check by hand.
//!
//! ```text
//! cargo run -p rl --example advantages_and_loss
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use rl::train::advantage::{Inclusion, Normalisation, advantages};
use rl::train::loss::{Aggregation, Clip, Kl, Objective, Tokens};
use tch::Tensor;

fn main() {
    // Four trajectories of one task; the last one was masked, as when a script timed out.
    let group = [
        (0.0, Inclusion::Trained),
        (0.3, Inclusion::Trained),
        (1.0, Inclusion::Trained),
        (0.3, Inclusion::Masked),
    ];
    let advantages = advantages(&group, Normalisation::default());
    println!("advantages: {advantages:?}");

    // Two tokens of the first, one of the second, two of the third.
    let owners = [0, 0, 1, 2, 2];
    let counts = [2, 1, 2];
    let of_tokens = |values: &[f64]| Tensor::from_slice(&owners.map(|owner: usize| values[owner]));
    let sampler = Tensor::from_slice(&[-1.0, -0.5, -2.0, -0.7, -1.2]);
    let new = Tensor::from_slice(&[-0.6, -0.7, -1.0, -0.7, -0.8]).set_requires_grad(true);
    let tokens = Tokens {
        new: new.shallow_clone(),
        sampler,
        // Where these are not given, they are the sampler's.
        old: None,
        reference: None,
        advantages: of_tokens(&advantages),
        weights: of_tokens(&Aggregation::SeqMeanTokenMean.weights(&counts)),
    };
    let objective = Objective { clip: Clip::default(), kl: Kl::default(), tis_cap: 0.0 };
    let loss = objective.loss(&tokens);
    println!("loss: {:.6}", loss.loss.double_value(&[]));
    println!("clipped tokens: {}", loss.clipped.double_value(&[]));
    loss.loss.backward();
    println!("gradient: {:?}", Vec::<f64>::try_from(new.grad()));
}
