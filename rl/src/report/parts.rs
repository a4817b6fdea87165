//! The parts of a script: the estimators, transforms and functions that it calls.
//!
//! `script -> syntax tree -> calls -> parts`
//!
//! What is handed on without a call, or named by a string as in `agg("rank")`, is not seen. Scripts
//! that finished are meant: of one that is no Python, few parts or none can be made out.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;
use tree_sitter::{Node, Parser, Tree};

/// The parts of a script, or of the last finished script of an episode.
pub type Combination = BTreeSet<String>;

/// Names whose calls are plumbing: reading and writing files, selecting columns, fitting,
/// predicting. `plumbing.txt` beside this file lists them.
static PLUMBING: LazyLock<BTreeSet<&str>> = LazyLock::new(|| {
    let lines = include_str!("plumbing.txt").lines().filter(|line| !line.starts_with('#'));
    lines.flat_map(str::split_whitespace).collect()
});

/// The parts of a script, each once: the last segment of every name that it calls, such as
/// `RandomForestRegressor`, or `log1p` of `np.log1p(x)`. What was imported under another name
/// counts under its own. A decorator is a call. Not among the parts are plumbing
/// (`rl/src/report/plumbing.txt`), dunder methods, and what the script names itself: its functions
/// and classes, its variables, attributes of `self`.
///
/// # Examples
/// ```rust
/// use rl::report::parts::parts;
///
/// let script = "from sklearn.linear_model import Ridge as Model\n\
///               x = pd.get_dummies(pd.read_csv(\"input/train.csv\")).rank()  # not median()\n\
///               m = Model(1.0).fit(x, np.log1p(y))\n";
/// let found: Vec<String> = parts(script).into_iter().collect();
/// assert_eq!(found, ["Ridge", "get_dummies", "log1p", "rank"]);
/// ```
pub fn parts(script: &str) -> Combination {
    let tree = parse(script);
    let nodes = nodes(&tree);
    let own = OwnNames::find(script, &nodes);
    let called = nodes.iter().filter_map(|node| match node.kind() {
        "call" => node.child_by_field_name("function"),
        // One with arguments is a call as well.
        "decorator" => node.named_child(0),
        _ => None,
    });
    called
        .filter_map(|function| own.name_of(function))
        .filter(|name| !PLUMBING.contains(name) && !name.starts_with("__"))
        .map(str::to_owned)
        .collect()
}

fn parse(script: &str) -> Tree {
    let mut parser = Parser::new();
    let language = tree_sitter_python::LANGUAGE.into();
    parser.set_language(&language).expect("the grammar is one that this parser reads");
    parser.parse(script, None).expect("only a parser without a language, or stopped, has no tree")
}

/// All nodes, parents first. The tree of a script may be deeper than a stack.
fn nodes(tree: &Tree) -> Vec<Node<'_>> {
    let mut cursor = tree.walk();
    let mut nodes = vec![cursor.node()];
    loop {
        if !cursor.goto_first_child() {
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    return nodes;
                }
            }
        }
        nodes.push(cursor.node());
    }
}

/// What a script names itself.
struct OwnNames<'a> {
    script: &'a str,
    /// Its functions and classes.
    defined: BTreeSet<&'a str>,
    /// Its variables, parameters and targets of loops.
    bound: BTreeSet<&'a str>,
    /// Names that it gives to what it imports, each with the name that the module has.
    aliases: BTreeMap<&'a str, &'a str>,
}

impl<'a> OwnNames<'a> {
    fn find(script: &'a str, nodes: &[Node<'_>]) -> Self {
        let mut own = Self {
            script,
            defined: BTreeSet::new(),
            bound: BTreeSet::new(),
            aliases: BTreeMap::new(),
        };
        for node in nodes {
            let field = |name: &str| node.child_by_field_name(name);
            match node.kind() {
                "function_definition" | "class_definition" => {
                    own.defined.extend(field("name").map(|name| own.text(name)));
                }
                "assignment" | "for_statement" | "for_in_clause" => own.bind(field("left")),
                "named_expression" => own.bind(field("name")),
                "as_pattern_target" | "parameters" | "lambda_parameters" => own.bind(Some(*node)),
                "aliased_import" => {
                    if let (Some(name), Some(alias)) = (field("name"), field("alias")) {
                        let name = own.text(name);
                        let last = name.rsplit('.').next().unwrap_or(name);
                        own.aliases.insert(own.text(alias), last);
                    }
                }
                _ => {}
            }
        }
        own
    }

    fn text(&self, node: Node<'_>) -> &'a str {
        self.script.get(node.byte_range()).unwrap_or_default()
    }

    /// Binds the names in a target of an assignment, or in a list of parameters.
    fn bind(&mut self, target: Option<Node<'_>>) {
        let mut open: Vec<Node<'_>> = target.into_iter().collect();
        while let Some(node) = open.pop() {
            match node.kind() {
                "identifier" => {
                    self.bound.insert(self.text(node));
                }
                "default_parameter" | "typed_default_parameter" => {
                    open.extend(node.child_by_field_name("name"));
                }
                // Beside the name stands its type.
                "typed_parameter" => open.extend(node.named_child(0)),
                // What is assigned to an attribute or an item names nothing.
                "attribute" | "subscript" => {}
                _ => open.extend(node.named_children(&mut node.walk())),
            }
        }
    }

    /// The name under which a called function is known outside of the script; `None` for its own.
    fn name_of(&self, function: Node<'_>) -> Option<&'a str> {
        match function.kind() {
            "identifier" => {
                let name = self.text(function);
                let is_own = self.defined.contains(name) || self.bound.contains(name);
                (!is_own).then(|| self.aliases.get(name).copied().unwrap_or(name))
            }
            "attribute" => {
                let owner = self.text(function.child_by_field_name("object")?);
                let name = self.text(function.child_by_field_name("attribute")?);
                let is_own = ["self", "cls"].contains(&owner) || self.defined.contains(name);
                (!is_own).then_some(name)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The parts in one line.
    fn of(script: &str) -> String {
        parts(script).into_iter().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn strings_and_comments_call_nothing() {
        for (script, expected) in [
            ("a = 'rank(' # log1p(x)\nb = \"cut(\"; c = rank(b)", "rank"),
            ("a = \"\"\"rank(\n'exp(' \"\" sqrt(\n\"\"\"\nlog1p(a)", "log1p"),
        ] {
            assert_eq!(of(script), expected, "{script}");
        }
    }

    #[test]
    fn calls_count_by_their_last_segment_at_any_depth() {
        let script = r"
m = make_pipeline(StandardScaler(), sklearn.svm.SVC(C=np.log1p(3)))
x = pd.get_dummies(x).groupby('a')[c].rank (pct=True)
y = quantile\
(x)
z = (median)(x)
w = [f for f in x if (f > 0) and not (f == 1)]
";
        assert_eq!(of(script), "SVC StandardScaler get_dummies groupby log1p quantile rank");
        // A bracket on the next line calls only within brackets.
        assert_eq!(of("x = rank\n(y)\nz = (sqrt\n(y))"), "sqrt");
    }

    #[test]
    fn plumbing_alone_has_no_parts() {
        let script = r#"
import pandas as pd
s = pd.read_csv("input/sample_submission.csv")
print(len(s), max(s.x.max(), 1))
s.to_csv("submission.csv", index=False)
"#;
        assert_eq!(of(script), "");
        assert!(PLUMBING.contains("predict_proba") && !PLUMBING.contains("Running"));
        for name in PLUMBING.iter() {
            assert_eq!(of(&format!("x.{name}(1)")), "");
        }
    }

    #[test]
    fn decorators_are_calls_and_matrix_products_are_none() {
        let script = r"
@njit
def f(x):
    return x
class A:
    @property
    @numba.vectorize([float64])
    def g(self): pass
@functools.lru_cache
def h(): pass
y = a @ b
z = (a
     @ c)
w = a \
  @ d
";
        assert_eq!(of(script), "lru_cache njit vectorize");
    }

    #[test]
    fn what_a_script_names_itself_is_no_part() {
        let script = r"
def lag(g, how, *more, **kw):
    return how(g.shift(1)) + more(kw)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 1)
    def go(self, x):
        return self.fc(self.act(x))
net, loss = Net(), nn.MSELoss()
best: Ridge = Ridge(1.0)
loss(net.go(lag(x, rank)), y)
for name, f in steps:
    x[name] = f(x)
with open('a') as file, lock(): file(1)
sorted(x, key=lambda a, b=1: a(1))
x.cut = cut(x)
if qcut(x) == qcut(y): z = pad(x)
";
        assert_eq!(of(script), "Linear MSELoss Ridge cut lock pad qcut shift");
    }

    #[test]
    fn imports_under_another_name_count_under_their_own() {
        let script = r"
from sklearn.ensemble import (RandomForestClassifier as RF,
    StackingClassifier)
import numpy as np
m = StackingClassifier([RF(10)])
x.RF(np.sqrt(1))
";
        assert_eq!(of(script), "RF RandomForestClassifier StackingClassifier sqrt");
    }

    #[test]
    fn expressions_in_f_strings_are_code_and_the_rest_is_text() {
        let script = r#"
print(f"exp( {{sqrt(x)}} {np.log1p(x)!r:>{width(x)}} {x:#>9} tan(")
print(f'{x["rank("]}' + F'{cut("}")}', qcut(x))
print(f'''
{
  median(x)
} exp( {d:%H:%M}''')
print(f"{x["exp("]} {mode(x)}", rf'{pad(x)}')
"#;
        assert_eq!(of(script), "cut log1p median mode pad qcut width");
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(
            script in "(f?[\"']{1,3}|[(){}@=:,.#\\\\\n ]|def |class |lambda|for|in|as |a|é|1|\\PC)*"
        ) {
            let _ = parts(&script);
        }
    }
}
