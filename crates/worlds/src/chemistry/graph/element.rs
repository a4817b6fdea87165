//! Chemical elements.

/// A chemical element, by its atomic number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Element(pub(super) u8);

/// Number, symbol, standard atomic weight, and the valences that hydrogens fill up to (none for
/// metals).
type Facts = (u8, &'static str, f64, &'static [u8]);

const FACTS: [Facts; 21] = [
    (1, "H", 1.008, &[1]),
    (3, "Li", 6.941, &[]),
    (5, "B", 10.812, &[3]),
    (6, "C", 12.011, &[4]),
    (7, "N", 14.007, &[3]),
    (8, "O", 15.999, &[2]),
    (9, "F", 18.998, &[1]),
    (11, "Na", 22.99, &[]),
    (12, "Mg", 24.305, &[]),
    (13, "Al", 26.982, &[]),
    (15, "P", 30.974, &[3, 5]),
    (16, "S", 32.067, &[2, 4, 6]),
    (17, "Cl", 35.453, &[1]),
    (19, "K", 39.098, &[]),
    (24, "Cr", 51.996, &[]),
    (25, "Mn", 54.938, &[]),
    (26, "Fe", 55.845, &[]),
    (30, "Zn", 65.39, &[]),
    (35, "Br", 79.904, &[1]),
    (46, "Pd", 106.42, &[]),
    (53, "I", 126.904, &[1]),
];

impl Element {
    pub(super) const C: Self = Self(6);
    pub(super) const N: Self = Self(7);
    pub(super) const O: Self = Self(8);

    fn facts(self) -> Facts {
        let found = FACTS.iter().find(|(number, ..)| *number == self.0);
        *found.expect("only elements of the table are made")
    }

    pub(super) fn named(symbol: &str) -> Option<Self> {
        let found = FACTS.iter().find(|(_, name, ..)| *name == symbol)?;
        Some(Self(found.0))
    }

    pub(super) fn numbered(number: u8) -> Option<Self> {
        FACTS.iter().any(|(known, ..)| *known == number).then_some(Self(number))
    }

    pub(super) fn symbol(self) -> &'static str {
        self.facts().1
    }

    pub(super) fn weight(self) -> f64 {
        self.facts().2
    }

    /// The valences that hydrogens fill up to.
    pub(super) fn valences(self) -> &'static [u8] {
        self.facts().3
    }

    /// Whether SMILES has it without brackets.
    pub(super) fn is_organic(self) -> bool {
        matches!(self.0, 5..=9 | 15..=17 | 35 | 53)
    }
}
