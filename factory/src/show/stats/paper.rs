//! What the paper says of its own corpus.
//!
//! Paper: §5.2 and figure 3 (domains, modalities, formulations), figure 5 (sizes), appendix C.1
//! (the funnel).

use tasks::task::{Formulation, Modality};

/// What everything that the paper does not name is counted as.
pub const OTHER: &str = "other";

/// Figure 3, left, in percent.
pub const DOMAINS: [(&str, f64); 5] = [
    ("healthcare", 25.0),
    ("retail", 18.2),
    ("manufacturing", 14.3),
    ("it_operations", 13.2),
    (OTHER, 29.3),
];

/// Figure 3, centre, in percent. Series are counted with tables.
pub const MODALITIES: [(&str, f64); 6] = [
    ("image", 48.7),
    ("tabular", 24.8),
    ("text", 10.4),
    ("multimodal", 10.3),
    ("graph", 3.5),
    ("audio", 2.3),
];

/// Figure 3, right, in percent.
pub const FORMULATIONS: [(&str, f64); 4] =
    [("classification", 56.2), ("regression", 14.5), ("ranking", 2.9), (OTHER, 26.4)];

/// Appendix C.1: tasks begun, with verified data, with an evaluator, and after the last checks.
pub const FUNNEL: [usize; 4] = [1200, 1119, 1106, 912];

/// Samples that a task is meant to have (§4.1).
pub const SIZES: (usize, usize) = (50, 200);

/// Samples that most tasks have (figure 5).
pub const USUAL_SIZES: (usize, usize) = (120, 150);

/// The name under which a domain is counted.
pub fn domain(domain: &str) -> &str {
    DOMAINS.iter().map(|(name, _)| *name).find(|name| *name == domain).unwrap_or(OTHER)
}

/// The name under which a modality is counted.
pub fn modality(modality: Modality) -> &'static str {
    match modality {
        Modality::Image => "image",
        Modality::Tabular | Modality::TimeSeries => "tabular",
        Modality::Text => "text",
        Modality::Multimodal => "multimodal",
        Modality::Graph => "graph",
        Modality::Audio => "audio",
    }
}

/// The name under which a formulation is counted.
pub fn formulation(formulation: Formulation) -> &'static str {
    match formulation {
        Formulation::Binary | Formulation::Multiclass | Formulation::Multilabel => "classification",
        Formulation::Regression | Formulation::MultiTarget | Formulation::Quantiles => "regression",
        Formulation::Ranking => "ranking",
        Formulation::Forecasting
        | Formulation::Matching
        | Formulation::Segmentation
        | Formulation::Detection
        | Formulation::Reconstruction
        | Formulation::Normalisation
        | Formulation::Extraction
        | Formulation::Retrieval
        | Formulation::Recommendation
        | Formulation::Positions => OTHER,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_is_whole() {
        for shares in [&DOMAINS[..], &MODALITIES, &FORMULATIONS] {
            let sum: f64 = shares.iter().map(|(_, percent)| percent).sum();
            assert!((sum - 100.0).abs() < 1e-9, "{sum}");
        }
    }

    #[test]
    fn whatever_is_made_has_its_place() {
        for cell in crate::spec::mix::Cell::all() {
            assert!(MODALITIES.iter().any(|(name, _)| *name == modality(cell.modality)));
            assert!(FORMULATIONS.iter().any(|(name, _)| *name == formulation(cell.formulation)));
        }
        assert_eq!(domain("retail"), "retail");
        assert_eq!(domain("astronomy"), OTHER);
    }
}
