//! A small graph of whole numbers: what is known, and the steps that follow from it.

/// What a step does with its two operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Add,
    Take,
    Times,
    Share,
    /// The second operand is a percentage of the first.
    Percent,
}

/// A number in an [`Expression`], by its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Node(usize);

/// A step of the solution.
#[derive(Debug, Clone)]
struct Step {
    operator: Operator,
    left: i64,
    right: i64,
    value: i64,
    /// What the value is, as the beginning and the end of a sentence.
    before: String,
    after: String,
}

/// Known numbers and steps. All values are whole, above 0 and below the limit.
#[derive(Debug, Clone)]
pub(super) struct Expression {
    values: Vec<i64>,
    steps: Vec<Step>,
    limit: i64,
}

impl Expression {
    /// Without any number; values are to stay below `limit`.
    pub(super) fn new(limit: i64) -> Self {
        Self { values: Vec::new(), steps: Vec::new(), limit }
    }

    /// A number that the problem tells.
    pub(super) fn known(&mut self, value: i64) -> Node {
        self.values.push(value);
        Node(self.values.len() - 1)
    }

    pub(super) fn value(&self, node: Node) -> i64 {
        self.values[node.0]
    }

    /// Steps so far.
    pub(super) fn steps(&self) -> usize {
        self.steps.len()
    }

    /// A step, told as `before … after`; `None` if its value is not whole or out of range.
    pub(super) fn step(
        &mut self,
        operator: Operator,
        (left, right): (Node, Node),
        before: String,
        after: String,
    ) -> Option<Node> {
        let (left, right) = (self.value(left), self.value(right));
        let value = operator.apply(left, right)?;
        if !(1..self.limit).contains(&value) {
            return None;
        }
        self.steps.push(Step { operator, left, right, value, before, after });
        self.values.push(value);
        Some(Node(self.values.len() - 1))
    }

    /// The worked steps, a line each, with the sums as `<<a+b=c>>`.
    pub(super) fn worked(&self) -> Vec<String> {
        let line = |step: &Step| {
            let (spaced, tight) = step.operator.sum(step.left, step.right);
            let Step { value, before, after, .. } = step;
            format!("{before} {spaced} = <<{tight}={value}>>{value} {after}.")
        };
        self.steps.iter().map(line).collect()
    }
}

impl Operator {
    /// The value; `None` if it is not whole.
    fn apply(self, left: i64, right: i64) -> Option<i64> {
        let divided = |a: i64, b: i64| (b != 0 && a % b == 0).then(|| a / b);
        match self {
            Self::Add => left.checked_add(right),
            Self::Take => left.checked_sub(right),
            Self::Times => left.checked_mul(right),
            Self::Share => divided(left, right),
            Self::Percent => divided(left.checked_mul(right)?, 100),
        }
    }

    /// The sum with spaces, for the sentence, and without, for the brackets.
    fn sum(self, left: i64, right: i64) -> (String, String) {
        let symbol = match self {
            Self::Add => "+",
            Self::Take => "-",
            Self::Times => "*",
            Self::Share => "/",
            Self::Percent => {
                return (format!("{left} * {right} / 100"), format!("{left}*{right}/100"));
            }
        };
        (format!("{left} {symbol} {right}"), format!("{left}{symbol}{right}"))
    }
}
