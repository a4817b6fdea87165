//! Files of cards: tricks and methods in TOML, read strictly.

use super::card::{
    CODE_LINES, CardCost, Method, Slot, Snippet, Stage, TRICK_WORDS, Trick, TrickId,
};
use super::labels::{Label, LabelTree};
use super::source::{CardError, SourceFile};
use super::words::count_words;
use serde::Deserialize;
use std::ops::Range;
use toml::Spanned;

/// A card with the places of what only the whole base can check.
#[derive(Debug)]
pub(super) struct Placed<T> {
    pub(super) card: T,
    pub(super) id: Range<usize>,
    /// Of each of the tricks that it excludes.
    pub(super) excludes: Vec<Range<usize>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TricksFile {
    #[serde(default)]
    trick: Vec<TrickFields>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TrickFields {
    id: Spanned<TrickId>,
    title: Spanned<String>,
    stage: Stage,
    labels: Spanned<Vec<Spanned<Label>>>,
    when: Spanned<String>,
    how: Spanned<String>,
    why: Spanned<String>,
    risk: Spanned<String>,
    cost: CardCost,
    needs: Vec<Spanned<String>>,
    #[serde(default)]
    excludes: Vec<Spanned<TrickId>>,
    slot: Option<Spanned<Slot>>,
    code: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MethodsFile {
    #[serde(default)]
    method: Vec<MethodFields>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MethodFields {
    id: Spanned<TrickId>,
    title: Spanned<String>,
    authors: Spanned<String>,
    venue: Spanned<String>,
    year: Spanned<u16>,
    labels: Spanned<Vec<Spanned<Label>>>,
    task: Spanned<String>,
    data: Spanned<String>,
    domain: Spanned<String>,
    phase: Spanned<String>,
    idea: Spanned<String>,
    inputs: Spanned<String>,
    when: Spanned<String>,
}

/// Reads a file of tricks.
///
/// # Errors
/// [`CardError`] at the first place that is wrong.
pub(super) fn parse_tricks(
    source: SourceFile<'_>,
    tree: &LabelTree,
) -> Result<Vec<Placed<Trick>>, CardError> {
    let file: TricksFile = toml::from_str(source.text).map_err(|error| source.malformed(&error))?;
    file.trick.into_iter().map(|fields| trick(source, tree, fields)).collect()
}

/// Reads a file of methods.
///
/// # Errors
/// [`CardError`] at the first place that is wrong.
pub(super) fn parse_methods(
    source: SourceFile<'_>,
    tree: &LabelTree,
) -> Result<Vec<Placed<Method>>, CardError> {
    let file: MethodsFile =
        toml::from_str(source.text).map_err(|error| source.malformed(&error))?;
    file.method.into_iter().map(|fields| method(source, tree, fields)).collect()
}

fn trick(
    source: SourceFile<'_>,
    tree: &LabelTree,
    fields: TrickFields,
) -> Result<Placed<Trick>, CardError> {
    let words = count_words(fields.how.get_ref());
    if words > TRICK_WORDS {
        let message = format!("it has {words} words, and may have {TRICK_WORDS}");
        return Err(source.error(fields.how.span(), message));
    }
    let snippet = match (fields.slot, fields.code) {
        (Some(slot), Some(code)) => Some(snippet(source, slot.into_inner(), code)?),
        (None, None) => None,
        (Some(slot), None) => {
            return Err(source.error(slot.span(), "a slot needs `code` that goes there"));
        }
        (None, Some(code)) => {
            return Err(source.error(code.span(), "code needs a `slot` to go to"));
        }
    };
    let needs = fields.needs.into_iter().map(|name| filled(source, name));
    let excludes = fields.excludes.iter().map(Spanned::span).collect();
    Ok(Placed {
        id: fields.id.span(),
        excludes,
        card: Trick {
            id: fields.id.into_inner(),
            title: filled(source, fields.title)?,
            stage: fields.stage,
            labels: labels(source, tree, fields.labels)?,
            when: filled(source, fields.when)?,
            how: filled(source, fields.how)?,
            why: filled(source, fields.why)?,
            risk: filled(source, fields.risk)?,
            cost: fields.cost,
            needs: needs.collect::<Result<_, _>>()?,
            excludes: fields.excludes.into_iter().map(Spanned::into_inner).collect(),
            snippet,
        },
    })
}

fn method(
    source: SourceFile<'_>,
    tree: &LabelTree,
    fields: MethodFields,
) -> Result<Placed<Method>, CardError> {
    let text = |field| filled(source, field);
    if !(1900..=2100).contains(fields.year.get_ref()) {
        return Err(source.error(fields.year.span(), "a year is a number from 1900 to 2100"));
    }
    Ok(Placed {
        id: fields.id.span(),
        excludes: Vec::new(),
        card: Method {
            id: fields.id.into_inner(),
            title: text(fields.title)?,
            authors: text(fields.authors)?,
            venue: text(fields.venue)?,
            year: fields.year.into_inner(),
            labels: labels(source, tree, fields.labels)?,
            task: text(fields.task)?,
            data: text(fields.data)?,
            domain: text(fields.domain)?,
            phase: text(fields.phase)?,
            idea: text(fields.idea)?,
            inputs: text(fields.inputs)?,
            when: text(fields.when)?,
        },
    })
}

fn snippet(
    source: SourceFile<'_>,
    slot: Slot,
    code: Spanned<String>,
) -> Result<Snippet, CardError> {
    let lines = code.get_ref().lines().filter(|line| !line.trim().is_empty()).count();
    if lines > CODE_LINES {
        let message = format!("it has {lines} lines, and may have {CODE_LINES}");
        return Err(source.error(code.span(), message));
    }
    let code = filled(source, code)?;
    Ok(Snippet { slot, code: format!("{}\n", code.trim_matches('\n').trim_end()) })
}

/// A text that is not blank.
fn filled(source: SourceFile<'_>, field: Spanned<String>) -> Result<String, CardError> {
    if field.get_ref().trim().is_empty() {
        return Err(source.error(field.span(), "it is empty"));
    }
    Ok(field.into_inner())
}

fn labels(
    source: SourceFile<'_>,
    tree: &LabelTree,
    fields: Spanned<Vec<Spanned<Label>>>,
) -> Result<Vec<Label>, CardError> {
    if fields.get_ref().is_empty() {
        return Err(source.error(fields.span(), "a card needs at least one label"));
    }
    let mut labels: Vec<Label> = Vec::new();
    for field in fields.into_inner() {
        let span = field.span();
        let label = field.into_inner();
        if !tree.contains(&label) {
            let hint = tree.nearest(&label).map(|near| format!("; did you mean `{near}`?"));
            let message = format!("there is no label `{label}`{}", hint.unwrap_or_default());
            return Err(source.error(span, message));
        }
        if labels.contains(&label) {
            return Err(source.error(span, format!("the label `{label}` stands here twice")));
        }
        labels.push(label);
    }
    Ok(labels)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knowledge::fixture::TREE;
    use std::fmt::Write as _;

    const GOOD: &str = r#"[[trick]]
id = "log-target"
title = "Logarithm of a skewed target"
stage = "target"
labels = ["General Machine Learning/Regression"]
when = "amounts over several powers of ten"
how = "Fit log1p of the target and take the exponential of predictions."
why = "Squared errors of large values no longer decide alone."
risk = "negative targets"
cost = "seconds"
needs = ["numpy"]
slot = "target"
code = """
y = np.log1p(y)
undo = np.expm1
"""
"#;

    fn parse(text: &str) -> Result<Vec<Placed<Trick>>, CardError> {
        let tree = LabelTree::parse("labels.toml", TREE).unwrap();
        parse_tricks(SourceFile { name: "tricks/x.toml", text }, &tree)
    }

    #[test]
    fn trick_is_read_with_all_its_keys() {
        let cards = parse(GOOD).unwrap();
        let trick = &cards[0].card;
        assert_eq!((trick.id.as_str(), trick.stage), ("log-target", Stage::Target));
        assert!(trick.excludes.is_empty());
        let snippet = trick.snippet.as_ref().unwrap();
        assert_eq!(
            (snippet.slot, snippet.code.as_str()),
            (Slot::Target, "y = np.log1p(y)\nundo = np.expm1\n")
        );
        assert!(parse("# nothing yet\n").unwrap().is_empty());
    }

    #[test]
    fn wrong_tricks_are_refused_at_their_place() {
        let long = format!("how = \"{}\"", "word ".repeat(121));
        let lines = "x = 1\n".repeat(16);
        let code = format!("code = \"\"\"\n{lines}");
        let how = "how = \"Fit log1p of the target and take the exponential of predictions.\"";
        let mut said = String::new();
        for (from, to) in [
            ("id = \"log-target\"", "id = \"Log target\""),
            ("stage = \"target\"", "stage = \"trian\""),
            ("cost = \"seconds\"", "cost = \"hours\""),
            ("risk = \"negative targets\"", "risk = \" \""),
            ("risk = \"negative targets\"", "rsik = \"negative targets\""),
            ("risk = \"negative targets\"\n", ""),
            ("Machine Learning/Regression", "Machine Learning/Regresion"),
            ("Machine Learning/Regression\"", "Machine Learning\""),
            ("[\"General Machine Learning/Regression\"]", "[]"),
            ("slot = \"target\"\n", ""),
            ("needs = [\"numpy\"]", "needs = \"numpy\""),
            ("when = \"", "when = "),
            (how, &long),
            ("code = \"\"\"\n", &code),
        ] {
            let text = GOOD.replacen(from, to, 1);
            assert_ne!(text, GOOD, "{from}");
            let error = parse(&text).unwrap_err().to_string();
            let shown: Vec<String> =
                error.lines().map(|line| line.chars().take(100).collect()).collect();
            let _ = writeln!(said, "{}\n", shown.join("\n"));
        }
        insta::assert_snapshot!(said);
    }

    #[test]
    fn methods_need_a_year_and_known_keys() {
        let tree = LabelTree::parse("labels.toml", TREE).unwrap();
        let text = "[[method]]\nid = \"m\"\ntitle = \"T\"\nauthors = \"A\"\nvenue = \"V\"\nyear = 2020\n\
                    labels = [\"General Machine Learning/Ensembles\"]\ntask = \"t\"\ndata = \"d\"\n\
                    domain = \"d\"\nphase = \"p\"\nidea = \"i\"\ninputs = \"i\"\nwhen = \"w\"\n";
        let parse = |text: &str| {
            parse_methods(SourceFile { name: "methods/x.toml", text }, &tree)
                .map(|cards| cards.len())
                .map_err(|error| error.to_string())
        };
        assert_eq!(parse(text), Ok(1));
        let error = parse(&text.replace("2020", "20")).unwrap_err();
        assert!(error.starts_with("methods/x.toml, line 6, `year`: a year is"), "{error}");
        assert!(
            parse(&text.replace("idea", "ideas")).unwrap_err().contains("unknown field `ideas`")
        );
    }
}
