//! A reference script for each competition of MLE-bench-lite: what a first look gives, in at most 60
//! lines of numpy, pandas, scikit-learn and Pillow. They prove that files are read and written
//! right, and are players that need no model.

/// Names of competitions and scripts.
const SCRIPTS: [(&str, &str); 22] = [
    ("aerial-cactus-identification", include_str!("../reference/aerial-cactus-identification.py")),
    (
        "aptos2019-blindness-detection",
        include_str!("../reference/aptos2019-blindness-detection.py"),
    ),
    ("denoising-dirty-documents", include_str!("../reference/denoising-dirty-documents.py")),
    (
        "detecting-insults-in-social-commentary",
        include_str!("../reference/detecting-insults-in-social-commentary.py"),
    ),
    ("dog-breed-identification", include_str!("../reference/dog-breed-identification.py")),
    (
        "dogs-vs-cats-redux-kernels-edition",
        include_str!("../reference/dogs-vs-cats-redux-kernels-edition.py"),
    ),
    (
        "histopathologic-cancer-detection",
        include_str!("../reference/histopathologic-cancer-detection.py"),
    ),
    (
        "jigsaw-toxic-comment-classification-challenge",
        include_str!("../reference/jigsaw-toxic-comment-classification-challenge.py"),
    ),
    ("leaf-classification", include_str!("../reference/leaf-classification.py")),
    ("mlsp-2013-birds", include_str!("../reference/mlsp-2013-birds.py")),
    (
        "new-york-city-taxi-fare-prediction",
        include_str!("../reference/new-york-city-taxi-fare-prediction.py"),
    ),
    (
        "nomad2018-predict-transparent-conductors",
        include_str!("../reference/nomad2018-predict-transparent-conductors.py"),
    ),
    ("plant-pathology-2020-fgvc7", include_str!("../reference/plant-pathology-2020-fgvc7.py")),
    ("random-acts-of-pizza", include_str!("../reference/random-acts-of-pizza.py")),
    (
        "ranzcr-clip-catheter-line-classification",
        include_str!("../reference/ranzcr-clip-catheter-line-classification.py"),
    ),
    (
        "siim-isic-melanoma-classification",
        include_str!("../reference/siim-isic-melanoma-classification.py"),
    ),
    ("spooky-author-identification", include_str!("../reference/spooky-author-identification.py")),
    (
        "tabular-playground-series-dec-2021",
        include_str!("../reference/tabular-playground-series-dec-2021.py"),
    ),
    (
        "tabular-playground-series-may-2022",
        include_str!("../reference/tabular-playground-series-may-2022.py"),
    ),
    (
        "text-normalization-challenge-english-language",
        include_str!("../reference/text-normalization-challenge-english-language.py"),
    ),
    (
        "text-normalization-challenge-russian-language",
        include_str!("../reference/text-normalization-challenge-russian-language.py"),
    ),
    (
        "the-icml-2013-whale-challenge-right-whale-redux",
        include_str!("../reference/the-icml-2013-whale-challenge-right-whale-redux.py"),
    ),
];

/// The reference script of a competition; `None` for any other task.
pub fn script(competition: &str) -> Option<&'static str> {
    SCRIPTS.iter().find(|(id, _)| *id == competition).map(|(_, script)| *script)
}
