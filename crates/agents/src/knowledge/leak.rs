//! The leak check: what must not be used for a task, because it may come from the same competition or
//! reads what it must not. It fails closed, and every exclusion has a reason.
//!
//! | | excluded is | if |
//! | --- | --- | --- |
//! | a | a post | its origin or title is the task's id, or both are of one family of competitions |
//! | b | a post | the cosine of the descriptions is at least .6, or they share 3 runs of 8 words that do not overlap |
//! | c | a post | it is among the best 20, and a model says that it is the same competition or data, or cannot be understood |
//! | d | a trick | its code names a path outside `input/`, or starts a process or a connection |
//! | e | a trick or method | it shares a run of 5 words or the name of a column with the description |

use super::audit::{page_runs, shared_text};
use super::base::Knowledge;
use super::card_code::code_reads;
use super::compared_page::ComparedPage;
use super::embed::{EmbedError, Embedder};
use super::exclusions::{ExclusionReason, Exclusions};
use super::jobs::JobFault;
use super::posts::Post;
use super::query::Query;
use super::retrieve::{EntryKind, RetrievalSettings, retrieve};
use super::same_task::{SameAnswer, SameTask};
use super::words::{slug, words};

/// Cosine of two descriptions from which on they are taken for one.
const SAME_DESCRIPTION: f64 = 0.6;
/// Shared runs of words from which on two descriptions are taken for one.
const SHARED_RUNS: usize = 3;
/// Posts that a model is asked about.
const ASKED: usize = 20;

/// Why the check cannot be made. Nothing may be used then.
#[derive(Debug, thiserror::Error)]
pub enum LeakError {
    /// Posts cannot be ranked.
    #[error(transparent)]
    Embed(#[from] EmbedError),
    /// The model that is asked does not answer.
    #[error("failed to ask whether posts are of the same competition")]
    Job(#[from] JobFault),
}

/// Everything of a base that must not be used for a task. `same_task` is asked about the best 20 posts
/// that the rules leave.
///
/// # Errors
/// [`LeakError`]; never with [`super::NobodyAsked`] and the base's own [`Knowledge::lexical`].
pub fn check_leaks(
    base: &Knowledge,
    query: &Query,
    same_task: &dyn SameTask,
    settings: &RetrievalSettings,
    embedder: &dyn Embedder,
) -> Result<Exclusions, LeakError> {
    let mut exclusions = Exclusions::default();
    let ours = ComparedPage::new(base.lexical(), &query.description, &query.statement);
    for (post, theirs) in base.posts().iter().zip(base.compared_posts()) {
        for reason in post_reasons(base, query, &ours, post, theirs) {
            exclusions.add(post.id.clone(), reason);
        }
    }
    let page = words(&query.description);
    let page = page_runs(&page);
    for trick in base.tricks() {
        let reads = code_reads(trick).map(|what| ExclusionReason::Reads { what });
        let shared = shared_text(&trick.prose(), &page, &query.columns);
        let shared = shared.map(|what| ExclusionReason::SharedText { what });
        for reason in reads.into_iter().chain(shared) {
            exclusions.add(trick.id.clone(), reason);
        }
    }
    for method in base.methods() {
        if let Some(what) = shared_text(&method.prose(), &page, &query.columns) {
            exclusions.add(method.id.clone(), ExclusionReason::SharedText { what });
        }
    }
    if base.posts().is_empty() || !same_task.asks() {
        return Ok(exclusions);
    }
    let ranked = retrieve(base, query, &exclusions, settings, embedder)?;
    let posts = ranked.entries.iter().filter(|entry| entry.kind == EntryKind::Post);
    for entry in posts.take(ASKED) {
        let Some(post) = base.post(&entry.id) else { continue };
        let reason = match same_task.same(query, post)? {
            SameAnswer::No => continue,
            SameAnswer::Yes { why } => ExclusionReason::ModelSays { why },
            SameAnswer::Unreadable { what } => ExclusionReason::Unreadable { what },
        };
        exclusions.add(post.id.clone(), reason);
    }
    Ok(exclusions)
}

fn post_reasons(
    base: &Knowledge,
    query: &Query,
    page: &ComparedPage,
    post: &Post,
    theirs: &ComparedPage,
) -> Vec<ExclusionReason> {
    let mut reasons = Vec::new();
    let (task, origin) = (slug(&query.task), slug(&post.origin));
    let title = query.description.lines().find_map(|line| line.strip_prefix("# ")).map(slug);
    let names = [origin.clone(), slug(&post.title)];
    let is_named =
        |name: &String| !name.is_empty() && (*name == task || Some(name) == title.as_ref());
    let families = base.families();
    let family = families.family(&query.task).or_else(|| families.family(&task));
    let other = families.family(&post.origin).or_else(|| families.family(&origin));
    if names.iter().any(is_named) {
        reasons.push(ExclusionReason::SameCompetition { origin: post.origin.clone() });
    } else if let (Some(family), Some(other)) = (family, other)
        && family == other
    {
        let (origin, family) = (post.origin.clone(), family.to_owned());
        reasons.push(ExclusionReason::SameFamily { origin, family });
    }
    let cosine = page.cosine(theirs);
    if cosine >= SAME_DESCRIPTION {
        reasons.push(ExclusionReason::SameDescription { cosine });
    }
    let shared = page.shared_runs(theirs);
    if let Some(example) = shared.first()
        && shared.len() >= SHARED_RUNS
    {
        let (runs, example) = (shared.len(), example.join(" "));
        reasons.push(ExclusionReason::SharedWords { runs, example });
    }
    reasons
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knowledge::card::TrickId;
    use crate::knowledge::fixture::{base, files, post, query};
    use crate::knowledge::same_task::NobodyAsked;
    use crate::knowledge::statement::statement;
    use std::sync::Mutex;

    fn check(base: &Knowledge, query: &Query, same_task: &dyn SameTask) -> Exclusions {
        let settings = RetrievalSettings::default();
        check_leaks(base, query, same_task, &settings, base.lexical()).unwrap()
    }

    fn with_posts(posts: &[Post]) -> Knowledge {
        let mut files = files();
        let lines: String = posts.iter().map(|post| post.to_line().unwrap()).collect();
        files.insert("posts.jsonl".to_owned(), lines);
        Knowledge::from_files(&files).unwrap()
    }

    #[derive(Debug, serde::Deserialize)]
    struct Page {
        id: String,
        page: String,
    }

    /// Pages of the factory: 20 that posts are about, 40 others.
    fn pages() -> Vec<Page> {
        let text = include_str!("fixture/pages.jsonl");
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn task(id: &str, page: &str) -> Query {
        Query {
            statement: statement(page),
            description: page.to_owned(),
            ..query(id, &["General Machine Learning/Classification"])
        }
    }

    /// The page under another title, in other units, its paragraphs in another order.
    fn planted(page: &str, number: usize) -> String {
        let body = page.split_once('\n').map_or(page, |(_, body)| body);
        let mut paragraphs: Vec<String> = body
            .split("\n\n")
            .map(|paragraph| {
                paragraph
                    .split(' ')
                    .map(|word| match word {
                        "km" => "miles".to_owned(),
                        "kg" => "pounds".to_owned(),
                        "hours" => "minutes".to_owned(),
                        word => match word.parse::<f64>() {
                            Ok(value) => format!("{:.1}", value * 0.62),
                            Err(_) => word.to_owned(),
                        },
                    })
                    .collect::<Vec<_>>()
                    .join(" ")
            })
            .collect();
        let middle = number % paragraphs.len().max(1);
        paragraphs.rotate_left(middle);
        paragraphs.reverse();
        format!("# Challenge number {number}\n\n{}", paragraphs.join("\n\n"))
    }

    #[test]
    fn planted_copies_are_excluded_and_innocent_neighbours_are_not() {
        let pages = pages();
        let (copied, others) = pages.split_at(20);
        assert_eq!(others.len(), 40);
        let posts: Vec<Post> = copied.iter().map(|page| post(&page.id, &page.page)).collect();
        let base = with_posts(&posts);
        for (number, page) in copied.iter().enumerate() {
            let query = task(&format!("challenge-{number}"), &planted(&page.page, number));
            let exclusions = check(&base, &query, &NobodyAsked);
            let found: Vec<&Post> =
                base.posts().iter().filter(|post| exclusions.has(&post.id)).collect();
            assert!(found.iter().any(|post| post.origin == page.id), "{} is let through", page.id);
        }
        let mut wrong = Vec::new();
        for page in others {
            let query = task(&page.id, &page.page);
            let exclusions = check(&base, &query, &NobodyAsked);
            let excluded = exclusions.iter().find(|(id, _)| base.post(id).is_some());
            if let Some((id, reasons)) = excluded {
                wrong.push(format!("{}: {id} {reasons:?}", page.id));
            }
        }
        assert!(wrong.len() <= 1, "{wrong:#?}");
    }

    #[test]
    fn competition_and_its_family_are_excluded() {
        let posts = ["birdclef-2021", "leaf-shapes"].map(|origin| post(origin, "Some words."));
        let base = with_posts(&posts);
        let reasons = |id: &str| {
            let exclusions = check(&base, &task(id, "Other text."), &NobodyAsked);
            exclusions.iter().flat_map(|(_, r)| r.to_vec()).collect::<Vec<_>>()
        };
        let origin = || "birdclef-2021".to_owned();
        assert_eq!(
            reasons("BirdCLEF-2021"),
            [ExclusionReason::SameCompetition { origin: origin() }]
        );
        let family = "Birds by sound".to_owned();
        assert_eq!(
            reasons("birdclef-2022"),
            [ExclusionReason::SameFamily { origin: origin(), family }]
        );
        assert!(reasons("whales").is_empty());
        let titled = check(&base, &task("x", "# Leaf shapes\n\nOther text."), &NobodyAsked);
        assert_eq!(titled.len(), 1);
    }

    /// Answers by a post's origin, and notes whom it was asked about.
    #[derive(Debug, Default)]
    struct Judge(Mutex<Vec<String>>);

    impl SameTask for Judge {
        fn same(&self, _query: &Query, post: &Post) -> Result<SameAnswer, JobFault> {
            self.0.lock().unwrap().push(post.origin.clone());
            Ok(match post.origin.as_str() {
                "o-3" => SameAnswer::Yes { why: "the same birds".to_owned() },
                "o-4" => SameAnswer::Unreadable { what: "no JSON".to_owned() },
                _ => SameAnswer::No,
            })
        }
    }

    #[test]
    fn model_is_asked_about_the_best_twenty_and_unreadable_excludes() {
        let posts: Vec<Post> = (0..25)
            .map(|n| {
                let text = if n < 20 { "Birds sing in gardens." } else { "?" };
                post(&format!("o-{n}"), &format!("{text} {n}"))
            })
            .collect();
        let base = with_posts(&posts);
        let judge = Judge::default();
        let query = task("t", "Garden birds that are singing, by kind of bird.");
        let exclusions = check(&base, &query, &judge);
        let asked = judge.0.lock().unwrap().clone();
        assert_eq!(asked.len(), 20);
        assert!((0..20).all(|n| asked.contains(&format!("o-{n}"))), "{asked:?}");
        let said: Vec<String> =
            exclusions.iter().map(|(_, reasons)| reasons[0].to_string()).collect();
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(said.iter().any(|said| said.contains("the same birds")));
        assert!(said.iter().any(|said| said.contains("unreadable: no JSON")));
    }

    #[test]
    fn trick_that_repeats_the_description_is_excluded() {
        let base = base();
        let same = TrickId::new("same").unwrap();
        let how = &base.trick(&same).unwrap().how;
        let query = task("t", &format!("Long before. {how} And after."));
        let exclusions = check(&base, &query, &NobodyAsked);
        assert!(exclusions.has(&same) && exclusions.len() == 1);
        let json = serde_json::to_string(&exclusions).unwrap();
        assert_eq!(serde_json::from_str::<Exclusions>(&json).unwrap(), exclusions);
    }
}
