//! Pages that give the rule away.

use super::*;

#[test]
fn a_description_that_prints_the_rule_is_seen() {
    let bench = binary();
    let rule = bench.staged.draft.facts.blueprint.targets[0].rule.as_ref().unwrap();
    for text in [rule.to_string(), rule.terms[1].expr.to_string().replace(' ', "  ")] {
        let task = bench.with(|draft| draft.description.push_str(&text));
        assert_eq!(code(check(&task)), "rule_printed");
    }
}

#[test]
fn half_a_term_in_other_spacing_is_seen() {
    let bench = regression();
    let rule = bench.staged.draft.facts.blueprint.targets[0].rule.as_ref().unwrap();
    for term in &rule.terms {
        let tokens = printed::tokens(&term.expr.to_string());
        let half = &tokens[..tokens.len().div_ceil(2).max(4).min(tokens.len())];
        let text = format!("\nThink of ` {} ` first.\n", half.join("`  `"));
        let task = bench.with(|draft| draft.description.push_str(&text));
        assert_eq!(code(check(&task)), "rule_printed", "{text}");
    }
}

#[test]
fn a_number_of_the_rule_is_seen() {
    let bench = regression();
    let rule = bench.staged.draft.facts.blueprint.targets[0].rule.as_ref().unwrap().to_string();
    let tokens = printed::tokens(&rule);
    let number = tokens.iter().find(|token| printed::digits(token) >= 3).unwrap();
    let task =
        bench.with(|draft| draft.description.push_str(&["\nLook near ", number, ".\n"].concat()));
    assert_eq!(code(check(&task)), "rule_printed");
}
