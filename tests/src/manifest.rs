//! The manifest of a small task of two classes.

/// For `test` rows, with thresholds from gold down to the median.
pub fn manifest(id: &str, test: usize, thresholds: [f64; 4]) -> String {
    let [gold, silver, bronze, median] = thresholds;
    serde_json::json!({
        "version": tasks::task::MANIFEST_VERSION, "id": id, "title": "A task", "seed_task": "none",
        "domain": "retail", "modality": "tabular", "formulation": "binary", "metric": "roc_auc",
        "id_column": "id", "prediction": {"kind": "probability", "column": "y"},
        "thresholds": {
            "gold_threshold": gold, "silver_threshold": silver, "bronze_threshold": bronze,
            "median_threshold": median
        },
        "baselines": {"ladder": [0.5, 0.6, 0.7, 0.9], "ceiling": 0.95},
        "rows": {"train": 2, "test": test}, "split": "train", "provenance": null,
        "hashes": {}
    })
    .to_string()
}
