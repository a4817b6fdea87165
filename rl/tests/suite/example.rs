//! The example in `docs/GRPO.md`: every number in its tables is what the code computes.

use agents::guide::transcript::Transcript;
use agents::guide::verdicts::Verdicts;
use agents::trajectory::Trajectory;
use fs_err as fs;
use rl::train::advantage::{Inclusion, Normalisation, StdNorm, advantages};
use rl::train::grpo::{Credit, Lesson};
use rl::train::loss::{
    Aggregation, Clip, Kl, KlEstimator, Objective, Tokens, importance, kl, surrogate,
};
use serde_json::json;
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

/// The example's episode with a dropped turn, from the page.
fn of_two_turns(rows: &[Vec<String>]) -> Trajectory {
    let turns = [1.0, 2.0].map(|turn| {
        let of_turn = rows.iter().filter(|row| row[0].parse::<f64>().unwrap() == turn);
        let old: Vec<f64> = of_turn.map(|row| row[2].parse().unwrap()).collect();
        let ids: Vec<usize> = (0..old.len()).collect();
        json!({"source": "model", "text": "", "ids": ids, "log_probs": old})
    });
    let [first, second] = turns;
    let record = |tool| json!({"tool": tool, "has_thought": true, "outcome": null, "seconds": 0.0});
    serde_json::from_value(json!({
        "version": 2, "task": "t", "agent": "a", "attempt": 0,
        "segments": [
            {"source": "prompt", "text": "", "ids": [7, 8]}, first,
            {"source": "environment", "text": "", "ids": [9]}, second,
        ],
        // A rule drops what is malformed.
        "turns": [record("malformed"), record("act")],
        "ending": "answered", "timed_out": false,
        "outcome": {"mle": {"grade": null, "refusal": null}},
        "reward": {"format": 0.0, "execution": 0.0, "tier": 0.0},
    }))
    .unwrap()
}

#[test]
fn credit_of_turns_is_as_written() {
    let (tokens, losses) = (table("Credit", 1), table("Credit", 2));
    let episode = of_two_turns(&tokens);
    let verdicts = Verdicts::of(&Transcript::of_episode(&episode), Vec::new());
    let (old, new) = (column(&tokens, 2), column(&tokens, 3));
    let ratio: Vec<f64> = old.iter().zip(&new).map(|(old, new)| (new - old).exp()).collect();
    agree("ratios", &ratio, &column(&tokens, 4));
    for (row, cell) in losses.iter().zip([5, 6]) {
        let advantage: f64 = row[0].parse().unwrap();
        // Tokens that leave the loss have no number on the page.
        let counts: Vec<bool> = tokens.iter().map(|token| token[cell] != "–").collect();
        let written: Vec<f64> =
            tokens.iter().filter_map(|token| token[cell].parse().ok()).collect();
        for credit in [Credit::Drop, Credit::Signed] {
            let lesson = Lesson::new(&episode, &verdicts, credit, advantage);
            let sampled = episode.mask();
            let kept = lesson.sample.trained.iter().zip(sampled).filter(|(_, sampled)| *sampled);
            assert_eq!(kept.map(|(kept, _)| *kept).collect::<Vec<_>>(), counts, "{credit:?}");
            let kept = |values: &[f64]| -> Vec<f64> {
                values.iter().zip(&counts).filter(|(_, counts)| **counts).map(|(v, _)| *v).collect()
            };
            let count = lesson.sample.trained_count();
            assert_eq!(count, row[1].parse::<usize>().unwrap());
            let weight = Aggregation::SeqMeanTokenMean.weights(&[count])[0];
            let full = |value: f64| Tensor::from_slice(&vec![value; count]);
            let (new, old) = (Tensor::from_slice(&kept(&new)), Tensor::from_slice(&kept(&old)));
            let each: Vec<f64> = kept(&ratio).iter().map(|ratio| -advantage * ratio).collect();
            agree("tokens", &each, &written);
            let found = surrogate(&new, &old, &full(advantage), &full(weight), Clip::default());
            agree("loss", &[found.loss.double_value(&[])], &[row[2].parse().unwrap()]);
        }
        let off = Lesson::new(&episode, &verdicts, Credit::Off, advantage);
        assert_eq!((off.sample.trained_count(), off.dropped), (4, 0));
    }
}
