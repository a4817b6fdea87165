//! What is printed is read back, and what is not in the notation is refused with its place.

use super::*;
use proptest::prelude::*;

fn parse(text: &str) -> Expr {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn refusal(text: &str) -> String {
    text.parse::<Expr>().unwrap_err().to_string()
}

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        -1e6..1e6_f64,
        (-500..500_i32).prop_map(|tenths| f64::from(tenths) / 10.0),
        Just(0.0),
        Just(1e-9)
    ]
}

fn positive() -> impl Strategy<Value = f64> {
    number().prop_map(|value| value.abs() + 0.25)
}

fn column() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z][a-z0-9_]{0,8}",
        "[a-z_]{1,6}\\.[a-z0-9_]{1,6}",
        // Words of the notation.
        prop::sample::select(vec![
            "if", "then", "else", "and", "is", "log", "sin", "count", "lag2"
        ])
        .prop_map(str::to_owned),
    ]
}

fn single() -> impl Strategy<Value = Test> {
    prop_oneof![
        (column(), number()).prop_map(|(column, threshold)| Test::Above { column, threshold }),
        (column(), number()).prop_map(|(column, threshold)| Test::AtMost { column, threshold }),
        (column(), "[a-z0-9_]{1,8}").prop_map(|(column, value)| Test::Is { column, value }),
    ]
}

fn condition() -> impl Strategy<Value = Test> {
    let several = prop::collection::vec(single(), 2..4).prop_map(|of| Test::All { of });
    prop_oneof![single(), several]
}

/// Expressions of every kind, at most four within each other.
fn expression() -> impl Strategy<Value = Expr> {
    let words = prop::collection::btree_map("[a-z0-9_]{1,8}", number(), 1..5);
    let leaf = prop_oneof![
        number().prop_map(|value| Expr::Number { value }),
        (column(), number(), positive()).prop_map(|(column, reference, scale)| {
            Expr::Deviation { column, reference, scale }
        }),
        (column(), column(), number()).prop_map(|(over, under, shift)| Expr::Ratio {
            over,
            under,
            shift
        }),
        (column(), number()).prop_map(|(column, shift)| Expr::Log { column, shift }),
        (column(), positive(), number()).prop_map(|(column, period, phase)| Expr::Wave {
            column,
            period,
            phase
        }),
        prop::collection::vec(condition(), 1..4).prop_map(|of| Expr::Count { of }),
        (column(), words).prop_map(|(column, values)| Expr::Offset { column, values }),
    ];
    leaf.prop_recursive(3, 12, 2, |inner| {
        let boxed = || inner.clone().prop_map(Box::new);
        prop_oneof![
            (boxed(), boxed()).prop_map(|(left, right)| Expr::Product { left, right }),
            (boxed(), boxed()).prop_map(|(left, right)| Expr::Difference { left, right }),
            boxed().prop_map(|of| Expr::Absolute { of }),
            boxed().prop_map(|of| Expr::Square { of }),
            (condition(), boxed(), boxed()).prop_map(|(test, then, otherwise)| Expr::If {
                test,
                then,
                otherwise
            }),
            (boxed(), 0..9_usize).prop_map(|(of, steps)| Expr::Lag { of, steps }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn printed_expression_is_read_back(expr in expression()) {
        let text = expr.to_string();
        prop_assert_eq!(text.parse::<Expr>().map_err(|error| error.to_string()), Ok(expr), "{}", text);
    }

    #[test]
    fn any_text_never_panics(text in ".{0,60}") {
        let _ = text.parse::<Expr>();
    }

    #[test]
    fn pieces_of_the_notation_never_panic_and_errors_lie_in_the_text(
        pieces in prop::collection::vec(prop::sample::select(vec![
            "(", ")", "((", "|", "[", "]", "{", "}", "^2", "^", " * ", " - ", " + ", " / ", "a", "b.c",
            "if ", " then ", " else ", " and ", " is ", "count[", "lag2[", "log(", "sin(2 pi (", "1", "2.5",
            "1e999", ": ", "; ", ", ", " > ", " <= ", "é", " ",
        ]), 0..24)
    ) {
        let text = pieces.concat();
        match text.parse::<Expr>() {
            // What is read is read back from its own printing.
            Ok(expr) => prop_assert_eq!(expr.to_string().parse::<Expr>(), Ok(expr)),
            Err(error) => prop_assert!((1..=text.chars().count() + 1).contains(&error.position)),
        }
    }
}

#[test]
fn one_expression_of_every_kind_is_read() {
    let a = || Box::new(Expr::deviation("a", 3.0, 2.0));
    let b = || Box::new(Expr::deviation("b.c", -20.0, 0.5));
    let above = || Test::Above { column: "a".to_owned(), threshold: -3.5 };
    let cases = [
        ("-1.5", Expr::Number { value: -1.5 }),
        ("((a - 3) / 2)", *a()),
        ("(b.c + 20) / 0.5", *b()),
        ("((a - 3) / 2) * ((b.c + 20) / 0.5)", Expr::Product { left: a(), right: b() }),
        ("(((a - 3) / 2) - ((b.c + 20) / 0.5))", Expr::Difference { left: a(), right: b() }),
        ("((a - 3)/2)-((b.c - -20)/0.5e0)", Expr::Difference { left: a(), right: b() }),
        ("a / b", Expr::Ratio { over: "a".to_owned(), under: "b".to_owned(), shift: 0.0 }),
        ("a / (b + 4)", Expr::Ratio { over: "a".to_owned(), under: "b".to_owned(), shift: 4.0 }),
        ("|((a - 3) / 2)|", Expr::Absolute { of: a() }),
        ("((a - 3) / 2)^2", Expr::Square { of: a() }),
        ("log(a + 0.5)", Expr::Log { column: "a".to_owned(), shift: 0.5 }),
        ("sin(2 pi (a - 1) / 12)", Expr::Wave { column: "a".to_owned(), period: 12.0, phase: 1.0 }),
        (
            "(if a > -3.5 and w is red then 1 else ((a - 3) / 2))",
            Expr::If {
                test: Test::All {
                    of: vec![above(), Test::Is { column: "w".to_owned(), value: "red".to_owned() }],
                },
                then: Box::new(Expr::Number { value: 1.0 }),
                otherwise: a(),
            },
        ),
        (
            "count[a > -3.5; a <= 1e2]",
            Expr::Count {
                of: vec![above(), Test::AtMost { column: "a".to_owned(), threshold: 100.0 }],
            },
        ),
        (
            "w{red: 1, 2nd: -0.5}",
            Expr::Offset {
                column: "w".to_owned(),
                values: [("red".to_owned(), 1.0), ("2nd".to_owned(), -0.5)].into(),
            },
        ),
        ("lag12[((a - 3) / 2)]", Expr::Lag { of: a(), steps: 12 }),
    ];
    for (text, expr) in cases {
        assert_eq!(parse(text), expr, "{text}");
    }
}

#[test]
fn parentheses_tell_trees_apart_that_would_print_alike() {
    let trees = [
        "(((a - 1) / 2) * ((b - 1) / 2))^2",
        "((a - 1) / 2) * ((b - 1) / 2)^2",
        "((a - 1) / 2) * (((b - 1) / 2) * ((c - 1) / 2))",
        "(((a - 1) / 2) * ((b - 1) / 2)) * ((c - 1) / 2)",
        "(a / b)^2",
        "((a / b) - ((c - 1) / 2))",
        "(-2)^2",
    ];
    for text in trees {
        assert_eq!(parse(text).to_string(), text);
    }
}

#[test]
fn wrong_texts_are_refused_with_place_expectation_and_find() {
    let cases = [
        ("", "character 1: expected a number, a column, `(`, `|`"),
        ("moisture", "character 1: expected a value: a number column is measured as"),
        ("((a - 3) / 2) * load", "character 17: expected a value"),
        ("((a - b) / 2)", "character 7: expected a number: a column is measured as"),
        ("(a - 3)", "character 8: expected `/` and a scale"),
        ("((a - 3) / 0)", "character 12: expected the scale, a number above 0, found `0`"),
        ("((a - 3) / 2) + ((b - 3) / 2)", "character 15: expected `*`, `-` or the end"),
        ("a / 3", "character 5: expected a column, or `(column + number)`"),
        ("a / b^2", "character 6: expected `*`, `-` or the end"),
        ("-2^2", "character 3: expected `*`, `-` or the end"),
        ("((a - 3) / 2)^3", "character 15: expected `2`, found `3`"),
        ("(if a >= 3 then 1 else 0)", "character 7: expected `>`, `<=` or `is`, found `>`"),
        ("(if a > 3 then 1)", "character 17: expected `else`, found `)`"),
        ("count[]", "character 7: expected the column of a condition, found `]`"),
        ("w{red: 1, red: 2}", "character 11: expected each word once, found `red`"),
        ("1e999", "character 1: expected a number"),
        ("log(a)", "character 6: expected `+` or `-` and a number, found `)`"),
        ("é", "character 1: expected a number, a column"),
        ("((a - 3) / 2", "character 13: expected `)`, found the end"),
    ];
    for (text, expected) in cases {
        assert!(refusal(text).starts_with(expected), "{text}: {}", refusal(text));
    }
}

#[test]
fn texts_without_end_and_without_bottom_are_refused() {
    assert!(refusal(&"(".repeat(3000)).contains("24 brackets"));
    assert!(refusal(&"1 * ".repeat(2000)).contains("4000 characters"));
}
