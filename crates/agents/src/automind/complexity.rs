//! How hard a plan is to code, without a model.

/// Words that name stages of a pipeline.
const STAGES: [&[&str]; 9] = [
    &["read", "load"],
    &["clean", "impute", "missing"],
    &["split", "fold"],
    &["feature", "column"],
    &["target"],
    &["model", "train", "fit"],
    &["validat"],
    &["post", "calibrat", "clip"],
    &["augment", "pretrain", "fine-tun"],
];
/// Words of plans that read items rather than a table.
const ITEMS: [&str; 7] = ["picture", "image", "recording", "audio", "text", "graph", "frames"];
/// Words of plans that write a model of their own.
const OWN: [&str; 4] = ["network of its own", "custom", "from scratch", "torch"];

/// 1, and a half for each stage that is named beyond three, and 1 where the plan writes a model of
/// its own, and 1 where rows are items instead of a table; 5 at most.
///
/// # Examples
/// ```rust
/// use agents::automind::complexity::by_rules;
///
/// assert_eq!(by_rules("Fit a forest and validate it."), 1.0);
/// assert!(by_rules("Read pictures, clean, build features, train a custom model, validate.") > 3.0);
/// ```
pub fn by_rules(plan: &str) -> f64 {
    let plan = plan.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| plan.contains(word));
    let stages = STAGES.iter().filter(|words| has(words)).count();
    let beyond = stages.saturating_sub(3) as f64;
    let more = |holds: bool| f64::from(u8::from(holds));
    (1.0 + 0.5 * beyond + more(has(&OWN)) + more(has(&ITEMS))).clamp(1.0, 5.0)
}
