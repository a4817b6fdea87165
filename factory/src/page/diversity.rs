//! How different the description pages of a corpus are.
//!
//! Words are runs of the letters a to z and of digits, in lower case. The *prose* of a page is what
//! is neither a heading, nor a line of a table, nor in a fence, nor in a section whose form is
//! fixed: `At a glance`, `Evaluation`, `Submission format`, `Files`.
//!
//! A sentence is *masked* by putting `_` for names, which are what stands in backquotes and words
//! that begin with a capital within a sentence, and `#` for numbers; successive names are one.

use super::bleu::self_bleu;
use super::english::{masked, sentences, words};
use super::rouge::NumberedTexts;
use crate::numeric::intervals::Quantiles;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use tasks::description::without_glance;

/// Largest number of pages that are compared with each other.
pub const MOST_PAGES: usize = 200;
/// Number of consecutive words in an n-gram.
const GRAM: usize = 4;
/// Fewest words of a text that counts as a sentence.
const SENTENCE: usize = 3;
/// Headings of the sections whose form is fixed.
const FIXED: [&str; 4] = ["## At a glance", "## Evaluation", "## Submission format", "## Files"];

/// How many runs of four words differ from each other.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DistinctGrams {
    /// Number of runs, each occurrence counted.
    pub all: usize,
    /// Number of different runs.
    pub distinct: usize,
    /// `distinct` over `all`, in [0, 1]; 0 without any.
    pub share: f64,
}

impl DistinctGrams {
    /// Counts the runs within each of several texts.
    fn from_texts(texts: &[Vec<String>]) -> Self {
        let grams = texts.iter().flat_map(|text| text.windows(GRAM));
        let distinct = grams.clone().collect::<BTreeSet<&[String]>>().len();
        let all = grams.count();
        Self { all, distinct, share: distinct as f64 / all.max(1) as f64 }
    }
}

/// How different the description pages of a corpus are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PageDiversity {
    /// Number of pages that were looked at: all, or [`MOST_PAGES`] evenly spaced ones.
    pub pages: usize,
    /// Quantiles of the number of words of a page; `None` without pages.
    pub words: Option<Quantiles>,
    /// Runs of four words within whole pages, over all pages together.
    pub whole: DistinctGrams,
    /// Runs of four words within the prose.
    pub prose: DistinctGrams,
    /// ROUGE-L F1 of each whole page with the page that is most like it, averaged, in [0, 1].
    pub nearest_rouge_l: f64,
    /// Number of sentences of the prose with three words or more.
    pub sentences: usize,
    /// Those of them whose words occur as a sentence of another page too.
    pub shared_sentences: usize,
    /// Their share, in [0, 1].
    pub shared_sentences_share: f64,
    /// Self-BLEU-4 of pages without their `At a glance` list, as language models are given them, in
    /// [0, 1]: the BLEU-4 of a page with other pages as references, averaged.
    pub self_bleu_4: f64,
    /// The same of the prose alone.
    pub self_bleu_4_prose: f64,
    /// The masked sentence of the prose that the most pages have, and the share of pages that have
    /// it; `None` without sentences.
    pub most_frequent_masked_sentence: Option<MaskedSentence>,
    /// The same of whole pages, that is, of all sections.
    pub most_frequent_masked_sentence_whole: Option<MaskedSentence>,
}

/// A sentence without its names and numbers, and how common it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MaskedSentence {
    /// Its words in lower case, with `_` for names and `#` for numbers.
    pub sentence: String,
    /// Share of the pages that have it, in [0, 1].
    pub share: f64,
}

impl MaskedSentence {
    /// The most common one of several texts.
    fn most_frequent(texts: &[String]) -> Option<Self> {
        let mut pages: BTreeMap<String, usize> = BTreeMap::new();
        for text in texts {
            let found = sentences(text).into_iter().map(masked);
            let found: BTreeSet<Vec<String>> =
                found.filter(|words| words.len() >= SENTENCE).collect();
            for sentence in found {
                *pages.entry(sentence.join(" ")).or_default() += 1;
            }
        }
        let (sentence, pages) = pages.into_iter().max_by_key(|(_, pages)| *pages)?;
        Some(Self { sentence, share: pages as f64 / texts.len() as f64 })
    }
}

impl PageDiversity {
    /// Compares the pages of a corpus, in order of their tasks.
    pub fn from_pages(pages: &[&str]) -> Self {
        let count = pages.len().min(MOST_PAGES);
        let pages: Vec<&str> = (0..count).map(|at| pages[at * pages.len() / count]).collect();
        let whole: Vec<Vec<String>> = pages.iter().map(|page| words(page)).collect();
        let read = |page: &&str| words(&without_glance(page));
        let read: Vec<Vec<String>> = pages.iter().map(read).collect();
        let texts: Vec<String> = pages.iter().map(|page| text_of(page, &[])).collect();
        let prose: Vec<String> = pages.iter().map(|page| text_of(page, &FIXED)).collect();
        let prose_words: Vec<Vec<String>> = prose.iter().map(|text| words(text)).collect();

        let of_pages: Vec<Vec<String>> = prose.iter().map(|text| normalised(text)).collect();
        let mut found: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
        for (page, sentences) in of_pages.iter().enumerate() {
            for sentence in sentences {
                found.entry(sentence).or_default().insert(page);
            }
        }
        let shared = |sentence: &&String| found[sentence.as_str()].len() > 1;
        let sentences = of_pages.iter().map(Vec::len).sum();
        let shared_sentences = of_pages.iter().flatten().filter(shared).count();

        let numbered = NumberedTexts::new(&whole);
        let nearest: Vec<f64> =
            (0..count).into_par_iter().map(|page| numbered.nearest(page)).collect();
        Self {
            pages: count,
            words: Quantiles::of(whole.iter().map(|words| words.len() as f64).collect::<Vec<_>>()),
            whole: DistinctGrams::from_texts(&whole),
            prose: DistinctGrams::from_texts(&prose_words),
            nearest_rouge_l: nearest.iter().sum::<f64>() / count.max(1) as f64,
            sentences,
            shared_sentences,
            shared_sentences_share: shared_sentences as f64 / sentences.max(1) as f64,
            self_bleu_4: self_bleu(&read),
            self_bleu_4_prose: self_bleu(&prose_words),
            most_frequent_masked_sentence: MaskedSentence::most_frequent(&prose),
            most_frequent_masked_sentence_whole: MaskedSentence::most_frequent(&texts),
        }
    }
}

/// A page without its headings, tables, fences and the sections under some headings.
fn text_of(page: &str, without: &[&str]) -> String {
    let (mut fixed, mut fenced) = (false, false);
    let mut text = String::new();
    for line in page.lines() {
        if line.starts_with("```") {
            fenced = !fenced;
            continue;
        }
        if line.starts_with('#') && !fenced {
            fixed = without.contains(&line.trim_end());
            continue;
        }
        if !fenced && !fixed && !line.starts_with('|') {
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

/// The sentences of a text as their words, separated by blanks.
fn normalised(text: &str) -> Vec<String> {
    let all = sentences(text).into_iter().map(words);
    all.filter(|words| words.len() >= SENTENCE).map(|words| words.join(" ")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# Title here now\n\n## Overview\nOne two three. Four five six seven.\n\n\
        ## At a glance\n- Rows: 7 train, 9 test\n\n## Data\nEight nine ten.\n\n| a | b | c |\n\n\
        ```\nin a fence here\n```\n- Eleven twelve thirteen.\n\n## Files\n- `train.csv`: a table\n";

    #[test]
    fn prose_leaves_out_fixed_sections_tables_and_fences() {
        let expected = ["one two three", "four five six seven", "eight nine ten"];
        let found = normalised(&text_of(PAGE, &FIXED));
        assert_eq!(found[..3], expected);
        assert_eq!(found[3..], ["eleven twelve thirteen"]);
    }

    #[test]
    fn sentences_of_two_pages_are_shared() {
        let other = "# T\n\n## Background\nONE two, three! Quite another sentence.\nToo short.\n";
        let measured = PageDiversity::from_pages(&[PAGE, other]);
        assert_eq!((measured.pages, measured.sentences, measured.shared_sentences), (2, 6, 2));
        assert!((measured.shared_sentences_share - 1.0 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn sentences_are_the_same_if_only_names_and_numbers_differ() {
        let pages = [
            "## Data\nIn `a_b`, Bryn finds 3 to 4.5. Only one page says this.\n",
            "## Data\nIn `c`, Ada Holm finds 17 to 20.\n\n## Files\nOnly in the files.\n",
            "## Data\nNothing of that kind here.\n\n## Files\nOnly in the files.\n",
            "## Data\nNothing at all, it seems.\n\n## Files\nOnly in the files.\n",
        ];
        let measured = PageDiversity::from_pages(&pages);
        let found =
            |sentence: &str, share| Some(MaskedSentence { sentence: sentence.to_owned(), share });
        assert_eq!(measured.most_frequent_masked_sentence, found("in _ finds # to #", 0.5));
        let whole = found("only in the files", 0.75);
        assert_eq!(measured.most_frequent_masked_sentence_whole, whole);
        assert_eq!(PageDiversity::from_pages(&[]).most_frequent_masked_sentence, None);
    }

    #[test]
    fn self_bleu_does_not_look_at_the_glance_list() {
        let page =
            |text: &str| format!("# {text}\n\n## At a glance\n- One two three four five six\n");
        let alike = PageDiversity::from_pages(&[&page("a b c d e f"), &page("a b c d e f")]);
        assert!((alike.self_bleu_4 - 1.0).abs() < 1e-12);
        let other = PageDiversity::from_pages(&[&page("a b c d e f"), &page("g h i j k l")]);
        assert_eq!(other.self_bleu_4, 0.0);
    }

    #[test]
    fn runs_of_four_words_are_counted_once_if_they_repeat() {
        // abcd bcde | abcd: two distinct of three.
        let measured = PageDiversity::from_pages(&["a b c d e", "a b c d"]);
        assert_eq!((measured.whole.all, measured.whole.distinct), (3, 2));
        assert!((measured.whole.share - 2.0 / 3.0).abs() < 1e-12);
        assert!((measured.nearest_rouge_l - 8.0 / 9.0).abs() < 1e-12);
        let alone = PageDiversity::from_pages(&["a b c d e"]);
        assert_eq!((alone.whole.share, alone.nearest_rouge_l), (1.0, 0.0));
        assert_eq!(PageDiversity::from_pages(&[]).words, None);
    }

    #[test]
    fn pages_that_are_looked_at_are_evenly_spaced() {
        let pages: Vec<String> = (0..500).map(|page| format!("page{page}")).collect();
        let pages: Vec<&str> = pages.iter().map(String::as_str).collect();
        assert_eq!(PageDiversity::from_pages(&pages).pages, MOST_PAGES);
    }
}
