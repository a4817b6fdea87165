//! The example in `docs/GRPO.md`: every number in its tables is what the code computes.

use fs_err as fs;
use rl::train::advantage::{Inclusion, Normalisation, StdNorm, advantages};
use rl::train::loss::{
    Aggregation, Clip, Kl, KlEstimator, Objective, Tokens, importance, kl, surrogate,
};
use tch::{Kind, Tensor};

/// Half a unit of the last place, and rounding in f32.
const TOLERANCE: f64 = 6e-7;

/// Rows of the `number`th table below a heading, cells as text.
fn table(heading: &str, number: usize) -> Vec<Vec<String>> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/GRPO.md");
    let text = fs::read_to_string(path).unwrap();
    let section = text.split("\n## ").find(|section| section.starts_with(heading)).unwrap();
    let tables: Vec<&str> =
        section.split("\n\n").filter(|block| block.trim_start().starts_with('|')).collect();
    let rows = tables[number].trim().lines().skip(2);
    let cells = |row: &str| row.trim_matches('|').split('|').map(|c| c.trim().to_owned()).collect();
    rows.map(cells).collect()
}

/// A column of numbers.
fn column(rows: &[Vec<String>], index: usize) -> Vec<f64> {
    rows.iter().map(|row| row[index].parse().unwrap()).collect()
}

fn agree(what: &str, found: &[f64], written: &[f64]) {
    assert_eq!(found.len(), written.len(), "{what}");
    for (found, written) in found.iter().zip(written) {
        assert!(
            (found - written).abs() < TOLERANCE,
            "{what}: {found}, and the page says {written}"
        );
    }
}

fn values(tensor: &Tensor) -> Vec<f64> {
    Vec::try_from(tensor.to_kind(Kind::Double)).unwrap()
}

/// The example's trajectories, from the page.
struct Example {
    advantages: Vec<f64>,
    /// Which trajectory each token belongs to.
    owners: Vec<usize>,
    old: Vec<f64>,
    new: Vec<f64>,
}

impl Example {
    fn read() -> Self {
        let tokens = table("Log-probabilities", 0);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "1, 2 and 3")]
        let owners = column(&tokens, 0).into_iter().map(|owner| owner as usize - 1).collect();
        let rewards = column(&table("Rewards", 0), 1);
        Self {
            advantages: of_group(&rewards, StdNorm::Sample),
            owners,
            old: column(&tokens, 2),
            new: column(&tokens, 3),
        }
    }

    fn spread(&self, values: &[f64]) -> Tensor {
        let spread: Vec<f64> = self.owners.iter().map(|&owner| values[owner]).collect();
        Tensor::from_slice(&spread)
    }

    fn weights(&self, aggregation: Aggregation) -> Tensor {
        let count = |owner| self.owners.iter().filter(|&&other| other == owner).count();
        self.spread(&aggregation.weights(&[count(0), count(1), count(2)]))
    }

    fn loss(&self, change: impl FnOnce(&mut Objective, &mut Tokens)) -> f64 {
        let mut objective = Objective { clip: Clip::default(), kl: Kl::default(), tis_cap: 0.0 };
        let mut tokens = Tokens {
            new: Tensor::from_slice(&self.new),
            sampler: Tensor::from_slice(&self.old),
            old: None,
            reference: None,
            advantages: self.spread(&self.advantages),
            weights: self.weights(Aggregation::SeqMeanTokenMean),
        };
        change(&mut objective, &mut tokens);
        objective.loss(&tokens).loss.double_value(&[])
    }
}

fn of_group(rewards: &[f64], spread: StdNorm) -> Vec<f64> {
    let group: Vec<(f64, Inclusion)> = rewards.iter().map(|&r| (r, Inclusion::Trained)).collect();
    advantages(&group, Normalisation { std: spread, ..Normalisation::default() })
}

#[test]
fn advantages_are_as_written() {
    let rows = table("Rewards", 0);
    let rewards = column(&rows, 1);
    for (spread, index) in [(StdNorm::Sample, 2), (StdNorm::Population, 3), (StdNorm::None, 4)] {
        agree("advantages", &of_group(&rewards, spread), &column(&rows, index));
    }
}

#[test]
fn losses_are_as_written() {
    let (example, rows) = (Example::read(), table("Log-probabilities", 0));
    let (new, old) = (Tensor::from_slice(&example.new), Tensor::from_slice(&example.old));
    let advantage = example.spread(&example.advantages);
    let ratio = (&new - &old).exp();
    agree("ratios", &values(&ratio), &column(&rows, 4));
    agree("unclipped", &values(&(&ratio * &advantage)), &column(&rows, 5));
    agree("clipped", &values(&(ratio.clamp(0.8, 1.28) * &advantage)), &column(&rows, 6));
    for (index, expected) in column(&rows, 7).into_iter().enumerate() {
        let one = |tensor: &Tensor| tensor.narrow(0, i64::try_from(index).unwrap(), 1);
        let weight = Tensor::from_slice(&[1.0]);
        let found =
            surrogate(&one(&new), &one(&old), &one(&advantage), &weight, Clip::default()).loss;
        agree("token", &[found.double_value(&[])], &[expected]);
    }
    let rows = table("Losses", 0);
    let aggregations = [
        Aggregation::SeqMeanTokenMean,
        Aggregation::TokenMean,
        Aggregation::DrGrpo { length: 4 },
        Aggregation::SeqMeanTokenSum,
    ];
    for (row, aggregation) in rows.iter().zip(aggregations) {
        let name = serde_json::to_value(aggregation).unwrap();
        let name = name.as_str().map_or_else(|| "dr-grpo".to_owned(), str::to_owned);
        assert!(row[0].starts_with(&format!("`{name}`")), "{row:?}");
        let found = example.loss(|_, tokens| tokens.weights = example.weights(aggregation));
        agree(&name, &[found], &[row[1].parse().unwrap()]);
    }
    assert_eq!(rows.len(), aggregations.len());
}

#[test]
fn kl_estimates_are_as_written() {
    let (example, rows) = (Example::read(), table("KL penalty", 0));
    assert_eq!(column(&rows, 2), example.new);
    let reference = column(&rows, 3);
    let totals = table("KL penalty", 1);
    let estimators = [KlEstimator::K1, KlEstimator::K2, KlEstimator::K3];
    for (index, estimator) in estimators.into_iter().enumerate() {
        let reference = || Tensor::from_slice(&reference);
        let found = kl(&Tensor::from_slice(&example.new), &reference(), estimator);
        agree("kl", &values(&found), &column(&rows, 4 + index));
        let loss = example.loss(|objective, tokens| {
            objective.kl = Kl { beta: 0.1, estimator };
            tokens.reference = Some(reference());
        });
        agree("penalized loss", &[loss], &[totals[index][1].parse().unwrap()]);
    }
}

#[test]
fn importance_is_as_written() {
    let (example, rows) = (Example::read(), table("When the sampler", 0));
    assert_eq!(column(&rows, 2), example.old);
    let (old, sampler) = (Tensor::from_slice(&example.old), column(&rows, 3));
    let sampler = || Tensor::from_slice(&sampler);
    agree("importance", &values(&importance(&old, &sampler(), 2.0)), &column(&rows, 4));
    for row in table("When the sampler", 1) {
        let loss = example.loss(|objective, tokens| {
            objective.tis_cap = row[0].parse().unwrap();
            (tokens.old, tokens.sampler) = (Some(old.copy()), sampler());
        });
        agree("corrected", &[loss], &[row[1].parse().unwrap()]);
    }
}

#[test]
fn the_dual_clip_is_as_written() {
    let mut example = Example::read();
    let second = example.owners.iter().position(|&owner| owner == 1).unwrap();
    example.new[second] = -0.6;
    for row in table("A limit", 0) {
        let loss = example.loss(|objective, _| objective.clip.dual = row[0].parse().unwrap());
        agree("dual", &[loss], &[row[1].parse().unwrap()]);
    }
}
