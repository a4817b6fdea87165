//! Texts as vectors: without a model ([`Lexical`](super::lexical::Lexical)), or by a provider's
//! `/v1/embeddings` ([`ProviderEmbedder`]).

use llm::{ChatError, EmbeddingModel};
use std::fmt::{self, Debug};
use std::sync::Arc;

/// Texts that one request embeds.
const BATCH: usize = 64;

/// Why texts have no vectors.
#[derive(Debug, thiserror::Error)]
pub enum EmbedError {
    /// The provider does not answer.
    #[error("failed to embed texts with `{model}`")]
    Provider {
        /// The provider's name of the model.
        model: String,
        /// Why.
        #[source]
        source: ChatError,
    },
    /// The vectors are not what was asked for.
    #[error("the vectors of `{model}` cannot be used: {what}")]
    Form {
        /// The provider's name of the model.
        model: String,
        /// What is wrong.
        what: String,
    },
}

/// Makes vectors of texts. Any number of threads may share one.
pub trait Embedder: Debug + Send + Sync {
    /// A vector for each text, all of one length.
    ///
    /// # Errors
    /// [`EmbedError`].
    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError>;

    /// The cosine of `query` and each of the texts, -1 to 1, after the mean of the vectors of `texts`
    /// is subtracted from all.
    ///
    /// # Errors
    /// [`EmbedError`].
    fn cosines(&self, query: &str, texts: &[&str]) -> Result<Vec<f64>, EmbedError> {
        let all: Vec<&str> = std::iter::once(query).chain(texts.iter().copied()).collect();
        let mut vectors = self.embed(&all)?;
        let mean = mean(&vectors[1..]);
        for vector in &mut vectors {
            vector.iter_mut().zip(&mean).for_each(|(x, mean)| *x -= mean);
        }
        Ok(vectors[1..].iter().map(|vector| cosine(&vectors[0], vector)).collect())
    }

    /// Whether labels are compared by vectors too; else by the tree and, for words of a model's own,
    /// by [`Embedder::cosines`].
    fn compares_labels(&self) -> bool {
        true
    }
}

/// The mean of vectors of one length; empty without one.
#[expect(clippy::cast_possible_truncation, reason = "vectors have the precision of f32")]
pub(super) fn mean(vectors: &[Vec<f32>]) -> Vec<f32> {
    let Some(first) = vectors.first() else { return Vec::new() };
    let mut sums = vec![0.0_f64; first.len()];
    for vector in vectors {
        sums.iter_mut().zip(vector).for_each(|(sum, x)| *sum += f64::from(*x));
    }
    sums.into_iter().map(|sum| (sum / vectors.len() as f64) as f32).collect()
}

/// The cosine of two vectors, -1 to 1; 0 if either is zero.
pub(super) fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let product = |a: &[f32], b: &[f32]| -> f64 {
        a.iter().zip(b).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum()
    };
    let lengths = (product(a, a) * product(b, b)).sqrt();
    if lengths > 0.0 { (product(a, b) / lengths).clamp(-1.0, 1.0) } else { 0.0 }
}

/// The vectors of a provider.
#[derive(Clone)]
pub struct ProviderEmbedder {
    client: Arc<dyn EmbeddingModel>,
    model: String,
}

impl ProviderEmbedder {
    /// The model that its provider calls `model`.
    pub fn new(client: Arc<dyn EmbeddingModel>, model: impl Into<String>) -> Self {
        Self { client, model: model.into() }
    }

    /// The provider's name of the model.
    pub fn model(&self) -> &str {
        &self.model
    }
}

impl Debug for ProviderEmbedder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProviderEmbedder").field("model", &self.model).finish_non_exhaustive()
    }
}

impl Embedder for ProviderEmbedder {
    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut vectors: Vec<Vec<f32>> = Vec::with_capacity(texts.len());
        for batch in texts.chunks(BATCH) {
            // Providers refuse empty texts.
            let batch: Vec<&str> =
                batch.iter().map(|text| if text.trim().is_empty() { "-" } else { *text }).collect();
            let embedded = self.client.embed(&self.model, &batch);
            vectors.extend(
                embedded
                    .map_err(|source| EmbedError::Provider { model: self.model.clone(), source })?,
            );
        }
        let form =
            |what: &str| EmbedError::Form { model: self.model.clone(), what: what.to_owned() };
        if vectors.len() != texts.len() {
            return Err(form("there are more or fewer than texts"));
        }
        if vectors.windows(2).any(|pair| pair[0].len() != pair[1].len()) {
            return Err(form("they differ in length"));
        }
        if vectors.iter().flatten().any(|x| !x.is_finite()) {
            return Err(form("a number is not finite"));
        }
        Ok(vectors)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each text is its numbers.
    #[derive(Debug)]
    struct Numbers;

    impl EmbeddingModel for Numbers {
        fn embed(&self, _model: &str, texts: &[&str]) -> Result<Vec<Vec<f32>>, ChatError> {
            let numbers = |text: &&str| text.split(' ').filter_map(|n| n.parse().ok()).collect();
            Ok(texts.iter().map(numbers).collect())
        }
    }

    fn numbers() -> ProviderEmbedder {
        ProviderEmbedder::new(Arc::new(Numbers), "m")
    }

    #[test]
    fn mean_of_the_base_is_subtracted() {
        // All lie far from the origin in one direction; only what differs counts.
        let cosines = numbers().cosines("11 10", &["12 10", "8 10"]).unwrap();
        assert_eq!(cosines, [1.0, -1.0]);
        assert_eq!(cosine(&[0.0], &[1.0]), 0.0);
    }

    #[test]
    fn vectors_of_other_lengths_and_infinite_ones_are_refused() {
        assert!(
            numbers().embed(&["1 2", "1"]).unwrap_err().to_string().contains("differ in length")
        );
        assert!(numbers().embed(&["1 inf"]).unwrap_err().to_string().contains("not finite"));
        let many = vec!["1"; 150];
        assert_eq!(numbers().embed(&many).unwrap().len(), 150);
    }
}
