//! Which terms make a rule, and why others do not.

use super::*;
use crate::roles::briefs::BriefSet;
use crate::roles::strategist;
use crate::spec::rule::Family;

/// What comes of terms that are made from the requests for the rules of a kind of task; a request
/// for which none are made is left out.
fn verdicts(
    cell: &str,
    count: u64,
    make: impl Fn(&RuleRequest<'_>) -> Option<Vec<Expr>>,
) -> Vec<Result<Rule, RoleRefusal>> {
    let set = BriefSet::new(cell, count);
    let mut verdicts = Vec::new();
    for brief in set.briefs() {
        strategist::strategise_with(&brief, &brief.scenario.story, &mut |request| {
            verdicts.extend(make(request).map(|terms| request.rule(&terms)));
            Ok::<_, RoleRefusal>(request.drafted())
        })
        .unwrap();
    }
    assert!(!verdicts.is_empty(), "{cell}: no request of the kind");
    verdicts
}

fn parse(text: &str) -> Expr {
    text.parse().unwrap()
}

/// The first number column that a rule may use.
fn first<'a>(request: &RuleRequest<'a>) -> &'a RuleColumn {
    &request.columns.numbers[0]
}

#[test]
fn terms_of_a_draft_make_the_rule_of_the_draft() {
    let cells = ["tabular/binary", "image/multiclass", "tabular/ranking", "graph/multiclass"];
    for cell in cells.into_iter().chain(["time_series/forecasting"]) {
        let set = BriefSet::new(cell, 12);
        for brief in set.briefs() {
            strategist::strategise_with(&brief, &brief.scenario.story, &mut |request| {
                assert_eq!(request.rule(&request.drafted())?, request.draft.rule, "{cell}");
                Ok::<_, RoleRefusal>(request.drafted())
            })
            .unwrap();
        }
    }
}

/// A change of drafted terms, and the code and the words of the refusal that it causes.
type Case = (&'static str, &'static str, fn(&RuleRequest<'_>, terms: &mut Vec<Expr>));

#[test]
fn every_fault_of_terms_has_its_code() {
    let cases: [Case; 12] = [
        ("rule_grammar", "2 to 5 terms", |_, terms| terms.truncate(1)),
        ("rule_grammar", "occurs twice", |_, terms| terms[1] = terms[0].clone()),
        ("rule_grammar", "no order", |_, terms| {
            terms[0] = Expr::Lag { of: Box::new(terms[0].clone()), steps: 1 };
        }),
        ("rule_grammar", "within each other", |_, terms| {
            for _ in 0..4 {
                terms[0] = Expr::Square { of: Box::new(terms[0].clone()) };
            }
        }),
        ("rule_column", "no number column `nowhere`", |_, terms| {
            terms[0] = parse("((nowhere - 1) / 2)");
        }),
        ("rule_column", "no word column `nowhere`", |_, terms| {
            terms[0] = parse("nowhere{a: 1, b: -1}");
        }),
        ("rule_column", "no word `nowhere`", |request, terms| {
            let column = &request.columns.words[0].name;
            terms[0] = parse(&format!("{column}{{nowhere: 1}}"));
        }),
        ("rule_family", "a product of two columns' deviations", |_, terms| {
            terms.retain(|term| !Family::Products.is_in(std::slice::from_ref(term)));
        }),
        ("rule_share", "the same value in every row", |request, terms| {
            let WordColumn { name, words } = &request.columns.words[0];
            terms[0] = parse(&format!("(if {name} is {} then 1 else 1)", words[0]));
        }),
        ("rule_values", "a fifth of the column's range", |request, terms| {
            let RuleColumn { name, low, high, .. } = first(request);
            terms[0] = parse(&format!("sin(2 pi ({name} - 0) / {})", (high - low) / 20.0));
        }),
        ("rule_values", "too large to be squared", |request, terms| {
            let (name, zeros) = (&first(request).name, "0".repeat(200));
            terms[0] = parse(&format!("(({name} - 0) / 0.{zeros}1)"));
        }),
        ("rule_values", "standard deviations from its mean", |request, terms| {
            // The denominator is close to 0 in a few rows of many.
            let numbers = &request.population.numbers;
            let column = request.columns.numbers.iter().map(|column| &column.name);
            let values = column.flat_map(|name| numbers[name].iter().map(move |v| (name, v)));
            let rows = |(name, value): &(&String, &f64)| {
                numbers[*name].iter().filter(|other| other == value).count()
            };
            let (name, value) = values.min_by_key(rows).unwrap();
            let shift = 1e-9 - value;
            terms[0] = Expr::Ratio { over: name.clone(), under: name.clone(), shift };
        }),
    ];
    for (code, said, change) in cases {
        let verdicts = verdicts("tabular/regression", 24, |request| {
            (request.family() == Family::Products).then(|| {
                let mut terms = request.drafted();
                change(request, &mut terms);
                terms
            })
        });
        for verdict in verdicts {
            let refusal = verdict.unwrap_err();
            assert!(refusal.code == code && refusal.detail.contains(said), "{code}: {refusal:?}");
        }
    }
}

#[test]
fn rule_uses_what_records_tell() {
    let recorded = |request: &RuleRequest<'_>| {
        let records = request.blueprint.structure.records.as_ref()?;
        let terms = request.drafted().into_iter();
        Some(terms.filter(|term| !term.number_columns().contains(&*records.of)).collect())
    };
    let verdicts = verdicts("tabular/regression", 60, |request| {
        let whole =
            |terms: &Vec<Expr>| TERMS.contains(&terms.len()) && request.family().is_in(terms);
        recorded(request).filter(whole)
    });
    for verdict in verdicts {
        let refusal = verdict.unwrap_err();
        assert!(refusal.detail.contains("which the row's records tell"), "{refusal:?}");
    }
}

#[test]
fn term_that_another_one_cancels_is_named_with_its_share() {
    let verdicts = verdicts("tabular/regression", 24, |request| {
        (request.family() == Family::Products).then(|| {
            let mut terms = request.drafted();
            let RuleColumn { name, mean, spread, .. } = first(request);
            // Far from its kink, an absolute value is the deviation itself.
            let far = Expr::deviation(name, mean - 400.0 * spread, *spread);
            terms[0] = Expr::deviation(name, *mean, *spread);
            terms[1] = Expr::Absolute { of: Box::new(far) };
            terms
        })
    });
    let refusals: Vec<RoleRefusal> = verdicts.into_iter().filter_map(Result::err).collect();
    assert!(!refusals.is_empty(), "signs are opposite at times");
    for refusal in refusals {
        assert_eq!(refusal.code, "rule_share");
        let text = &refusal.detail;
        assert!(text.starts_with("term ") && text.contains("0.10 is the least"), "{text}");
    }
}

#[test]
fn further_terms_of_an_author_get_shares_from_a_stream_of_their_own() {
    let rules = verdicts("tabular/regression", 24, |request| {
        let mut terms = request.drafted();
        let used: Vec<String> =
            terms.iter().flat_map(Expr::number_columns).map(str::to_owned).collect();
        let free = request.columns.numbers.iter().find(|column| !used.contains(&column.name))?;
        terms.push(Expr::deviation(&free.name, free.mean, free.spread));
        Some(terms)
    });
    let longer: Vec<&Rule> = rules.iter().flatten().collect();
    assert!(longer.len() * 2 > rules.len(), "{} of {}", longer.len(), rules.len());
    let signs: Vec<bool> =
        longer.iter().map(|rule| rule.terms.last().unwrap().weight > 0.0).collect();
    assert!(signs.contains(&true) && signs.contains(&false));
}

#[test]
fn lags_of_series_are_within_their_limits() {
    let lagged = |steps: usize| {
        move |request: &RuleRequest<'_>| {
            let mut terms = request.drafted();
            let name = &request.columns.numbers[0].name;
            terms[2] = parse(&format!("lag{steps}[(({name} - 1) / 1)]"));
            Some(terms)
        }
    };
    let code = |steps: usize| -> Vec<Option<&'static str>> {
        let verdicts = verdicts("time_series/forecasting", 8, lagged(steps));
        verdicts.into_iter().map(|verdict| verdict.err().map(|refusal| refusal.code)).collect()
    };
    for steps in [0, 9] {
        assert!(code(steps).iter().all(|code| *code == Some("rule_grammar")), "{steps}");
    }
    for steps in [1, 8] {
        assert!(code(steps).iter().all(|code| *code != Some("rule_grammar")), "{steps}");
    }
}
