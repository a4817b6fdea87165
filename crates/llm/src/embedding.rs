//! Texts as vectors of a model.

use crate::chat::ChatError;

/// Makes vectors of texts. Any number of threads may share one.
pub trait EmbeddingModel: Send + Sync {
    /// A vector for each text, in their order, by the model that the provider calls `model`.
    ///
    /// # Errors
    /// [`ChatError`].
    fn embed(&self, model: &str, texts: &[&str]) -> Result<Vec<Vec<f32>>, ChatError>;
}
