//! Texts as vectors without a model: words, pairs of words, and 3 to 5 characters in a row of each
//! word, hashed to 2^16 places, weighted by TF-IDF, of length 1.
//!
//! The weight of a feature is tf · (ln((1 + n) / (1 + df)) + 1), where n texts are in the base and df
//! of them have the feature, as scikit-learn's `TfidfVectorizer` has it.

use super::embed::{EmbedError, Embedder};
use super::words::words;
use std::collections::BTreeMap;

/// Places of a vector.
pub const LEXICAL_PLACES: usize = 1 << 16;

/// Places with their weights, in the order of places.
pub(super) type SparseVector = Vec<(u32, f32)>;

/// The lexical embedder, fitted to the texts of a base.
#[derive(Debug, Clone)]
pub struct Lexical {
    /// The weight of each place.
    weights: Vec<f32>,
    /// Vectors of the texts that it is fitted to.
    known: BTreeMap<String, SparseVector>,
}

impl Lexical {
    /// Weights features by how few of `texts` have them.
    pub fn fit(texts: impl IntoIterator<Item = String>) -> Self {
        let counts: Vec<(String, SparseVector)> =
            texts.into_iter().map(|text| (text.clone(), count(&text))).collect();
        let mut having = vec![0_u32; LEXICAL_PLACES];
        for (place, _) in counts.iter().flat_map(|(_, vector)| vector) {
            having[*place as usize] += 1;
        }
        let all = counts.len() as f32;
        let weight = |df: &u32| ((1.0 + all) / (1.0 + *df as f32)).ln() + 1.0;
        let weights: Vec<f32> = having.iter().map(weight).collect();
        let known = counts.into_iter().map(|(text, vector)| (text, weighted(vector, &weights)));
        let known = known.collect();
        Self { weights, known }
    }

    /// The cosine of two texts, 0 to 1; 0 if either has no word.
    pub fn cosine(&self, a: &str, b: &str) -> f64 {
        dot(&self.vector(a), &self.vector(b))
    }

    /// The vector of a text, of length 1 or empty.
    pub(super) fn vector(&self, text: &str) -> SparseVector {
        match self.known.get(text) {
            Some(vector) => vector.clone(),
            None => weighted(count(text), &self.weights),
        }
    }
}

impl Embedder for Lexical {
    /// Dense vectors of [`LEXICAL_PLACES`] numbers each.
    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let dense = |text: &&str| {
            let mut vector = vec![0.0; LEXICAL_PLACES];
            for (place, weight) in self.vector(text) {
                vector[place as usize] = weight;
            }
            vector
        };
        Ok(texts.iter().map(dense).collect())
    }

    fn cosines(&self, query: &str, texts: &[&str]) -> Result<Vec<f64>, EmbedError> {
        let query = self.vector(query);
        let cosine = |text: &&str| match self.known.get(*text) {
            Some(vector) => dot(&query, vector),
            None => dot(&query, &self.vector(text)),
        };
        Ok(texts.iter().map(cosine).collect())
    }

    fn compares_labels(&self) -> bool {
        false
    }
}

/// How often each feature occurs.
fn count(text: &str) -> SparseVector {
    let mut places = Vec::new();
    let words = words(text);
    for pair in words.windows(2) {
        places.push(place(2, &[pair[0].as_bytes(), b" ", pair[1].as_bytes()]));
    }
    for word in &words {
        places.push(place(1, &[word.as_bytes()]));
        // Spaces mark the ends of a word.
        let padded: Vec<char> = format!(" {word} ").chars().collect();
        for length in 3..=5 {
            for part in padded.windows(length) {
                let part: String = part.iter().collect();
                places.push(place(0, &[part.as_bytes()]));
            }
        }
    }
    places.sort_unstable();
    let mut vector: SparseVector = Vec::new();
    for place in places {
        match vector.last_mut() {
            Some((last, count)) if *last == place => *count += 1.0,
            _ => vector.push((place, 1.0)),
        }
    }
    vector
}

/// The place of a feature of a kind: FNV-1a of 64 bits, folded. The standard library's hash may change
/// with its version, and scores must not.
fn place(kind: u8, parts: &[&[u8]]) -> u32 {
    let bytes = std::iter::once(&kind).chain(parts.iter().copied().flatten());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let folded = (hash ^ (hash >> 32) ^ (hash >> 16)) & (LEXICAL_PLACES as u64 - 1);
    u32::try_from(folded).expect("it is below 2^16")
}

/// Counts times weights, of length 1.
#[expect(clippy::cast_possible_truncation, reason = "vectors have the precision of f32")]
fn weighted(mut vector: SparseVector, weights: &[f32]) -> SparseVector {
    for (place, count) in &mut vector {
        *count *= weights[*place as usize];
    }
    let length: f64 = vector.iter().map(|(_, x)| f64::from(*x).powi(2)).sum::<f64>().sqrt();
    for (_, weight) in &mut vector {
        *weight = (f64::from(*weight) / length) as f32;
    }
    vector
}

/// The cosine of two vectors of length 1, 0 to 1.
pub(super) fn dot(a: &[(u32, f32)], b: &[(u32, f32)]) -> f64 {
    let (mut i, mut j, mut sum) = (0, 0, 0.0);
    while let (Some((left, x)), Some((right, y))) = (a.get(i), b.get(j)) {
        match left.cmp(right) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => {
                sum += f64::from(*x) * f64::from(*y);
                i += 1;
                j += 1;
            }
        }
    }
    sum.clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fitted() -> Lexical {
        let texts = ["leaves of trees by picture", "sales of shops by day", "sounds of birds"];
        Lexical::fit(texts.map(str::to_owned))
    }

    #[test]
    fn like_texts_are_nearer() {
        let lexical = fitted();
        let near = lexical.cosine("pictures of a leaf", "leaves of trees by picture");
        let far = lexical.cosine("pictures of a leaf", "sales of shops by day");
        assert!(near > 0.2 && far < 0.1, "{near} {far}");
        assert!((lexical.cosine("daily sales", "daily sales") - 1.0).abs() < 1e-6);
        assert_eq!(lexical.cosine("", "sales"), 0.0);
    }

    #[test]
    fn dense_and_sparse_vectors_agree() {
        let lexical = fitted();
        let (query, texts) = ("bird sounds by day", ["sounds of birds", "sales by day", "?"]);
        let sparse = lexical.cosines(query, &texts).unwrap();
        let dense = lexical.embed(&[query]).unwrap().remove(0);
        for (vector, cosine) in lexical.embed(&texts).unwrap().iter().zip(sparse) {
            let sum: f32 = dense.iter().zip(vector).map(|(a, b)| a * b).sum();
            assert!((f64::from(sum) - cosine).abs() < 1e-5);
        }
    }

    proptest! {
        #[test]
        fn cosine_is_symmetric_and_within_bounds(a in ".{0,40}", b in "[a-d ]{0,40}") {
            let lexical = fitted();
            let cosine = lexical.cosine(&a, &b);
            prop_assert!((0.0..=1.0).contains(&cosine));
            prop_assert_eq!(cosine, lexical.cosine(&b, &a));
        }
    }
}
