//! SMARTS, read: the part of it that the tables of this module are written in.
//!
//! Atoms in brackets have elements, `a`, `A`, `*`, `#n`, `H`, `X`, `D`, `v`, `R`, charges and
//! `$(…)`, joined by `!`, `&`, `,` and `;`; bonds have `-`, `=`, `#`, `:`, `~` and `@`.

use super::cursor::Cursor;
use super::element::Element;
use super::molecule::Order;
use super::pattern::{AtomTest, BondTest, Pattern, Test};

impl Pattern {
    /// The pattern that a SMARTS describes; `None` if it is not of the part that is known here.
    pub(in crate::chemistry) fn read(smarts: &str) -> Option<Self> {
        let mut reader =
            Reader { text: Cursor { rest: smarts }, pattern: Self::default(), rings: Vec::new() };
        reader.chain(None)?;
        (reader.text.rest.is_empty() && reader.rings.is_empty()).then_some(reader.pattern)
    }
}

/// A condition with a number.
type Counted = fn(u8) -> AtomTest;

struct Reader<'a> {
    text: Cursor<'a>,
    pattern: Pattern,
    rings: Vec<(u8, usize)>,
}

impl Reader<'_> {
    fn number(&mut self) -> Option<u8> {
        let mut number = self.text.digit()?;
        while let Some(digit) = self.text.digit() {
            number = number.checked_mul(10)?.checked_add(digit)?;
        }
        Some(number)
    }

    fn chain(&mut self, from: Option<usize>) -> Option<()> {
        let mut last = from;
        loop {
            if self.text.rest.is_empty() || self.text.rest.starts_with(')') {
                return last.map(|_| ());
            }
            if self.text.take("(") {
                self.chain(Some(last?))?;
                if !self.text.take(")") {
                    return None;
                }
                continue;
            }
            if self.text.take(".") {
                last = None;
                continue;
            }
            let bond = self.bond();
            if let Some(digit) = self.text.digit() {
                let atom = last?;
                match self.rings.iter().position(|(open, _)| *open == digit) {
                    Some(at) => {
                        let (_, other) = self.rings.remove(at);
                        self.pattern.bonds[atom].push((other, bond));
                    }
                    None => self.rings.push((digit, atom)),
                }
                continue;
            }
            let atom = self.atom()?;
            self.pattern.atoms.push(atom);
            self.pattern.bonds.push(last.map(|last| (last, bond)).into_iter().collect());
            last = Some(self.pattern.atoms.len() - 1);
        }
    }

    /// Tests joined by `,` and then by `;`; those that stand side by side must all hold.
    fn joined<T>(&mut self, mut one: impl FnMut(&mut Self) -> Option<Test<T>>) -> Option<Test<T>> {
        let mut all = Vec::new();
        loop {
            let mut any = Vec::new();
            loop {
                let mut together = Vec::new();
                loop {
                    self.text.take("&");
                    let mut turns = 0;
                    while self.text.take("!") {
                        turns += 1;
                    }
                    match one(self) {
                        Some(test) if turns % 2 == 1 => together.push(Test::Not(Box::new(test))),
                        Some(test) => together.push(test),
                        None if turns > 0 => return None,
                        None => break,
                    }
                }
                any.push(Test::All(together));
                if !self.text.take(",") {
                    break;
                }
            }
            all.push(Test::Any(any));
            if !self.text.take(";") {
                return Some(Test::All(all));
            }
        }
    }

    fn bond(&mut self) -> Test<BondTest> {
        let before = self.text.rest;
        let one = |reader: &mut Self| {
            let signs = [
                ("-", BondTest::Order(Order::Single)),
                ("=", BondTest::Order(Order::Double)),
                ("#", BondTest::Order(Order::Triple)),
                (":", BondTest::Order(Order::Aromatic)),
                ("~", BondTest::Anything),
                ("@", BondTest::InRing),
            ];
            let found = signs.into_iter().find(|(sign, _)| reader.text.take(sign));
            found.map(|(_, test)| Test::Is(test))
        };
        let test = self.joined(one);
        match test {
            Some(test) if self.text.rest.len() < before.len() => test,
            _ => Test::Is(BondTest::Plain),
        }
    }

    fn atom(&mut self) -> Option<Test<AtomTest>> {
        if !self.text.take("[") {
            return self.element().or_else(|| self.any());
        }
        let test = self.joined(Self::condition)?;
        self.text.take("]").then_some(test)
    }

    fn any(&mut self) -> Option<Test<AtomTest>> {
        let signs = [
            ("*", AtomTest::Anything),
            ("a", AtomTest::Aromatic(true)),
            ("A", AtomTest::Aromatic(false)),
        ];
        let found = signs.into_iter().find(|(sign, _)| self.text.take(sign));
        found.map(|(_, test)| Test::Is(test))
    }

    /// An element by its symbol, which says too whether it is aromatic.
    fn element(&mut self) -> Option<Test<AtomTest>> {
        let symbols = ["Cl", "Br", "C", "N", "O", "S", "P", "F", "I", "B", "c", "n", "o", "s"];
        let symbol = symbols.into_iter().find(|symbol| self.text.take(symbol))?;
        let is_aromatic = symbol.starts_with(|letter: char| letter.is_lowercase());
        let name = symbol[..1].to_uppercase() + &symbol[1..];
        let element = Test::Is(AtomTest::Element(Element::named(&name)?));
        Some(Test::All(vec![element, Test::Is(AtomTest::Aromatic(is_aromatic))]))
    }

    fn condition(&mut self) -> Option<Test<AtomTest>> {
        if self.text.take("$(") {
            let mut inner = Reader {
                text: Cursor { rest: self.text.rest },
                pattern: Pattern::default(),
                rings: Vec::new(),
            };
            inner.chain(None)?;
            self.text.rest = inner.text.rest;
            return self.text.take(")").then_some(Test::Is(AtomTest::Begins(inner.pattern)));
        }
        if self.text.take("#") {
            let element = Element::numbered(self.number()?)?;
            return Some(Test::Is(AtomTest::Element(element)));
        }
        if let Some(found) = self.element().or_else(|| self.any()) {
            return Some(found);
        }
        let counts: [(&str, Counted); 5] = [
            ("H", AtomTest::Hydrogens),
            ("X", AtomTest::Connections),
            ("D", AtomTest::Degree),
            ("v", AtomTest::Valence),
            ("R", |count| AtomTest::InRing(count > 0)),
        ];
        if let Some((_, test)) = counts.into_iter().find(|(sign, _)| self.text.take(sign)) {
            return Some(Test::Is(test(self.number().unwrap_or(1))));
        }
        let (_, sign) = [("+", 1), ("-", -1)].into_iter().find(|(sign, _)| self.text.take(sign))?;
        let size = i8::try_from(self.number().unwrap_or(1)).ok()?;
        Some(Test::Is(AtomTest::Charge(sign * size)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_that_are_not_known_are_not_read() {
        for smarts in ["", "[C", "C1CC", "[Xe]", "[r5]", "C(", "[!]"] {
            assert!(Pattern::read(smarts).is_none(), "{smarts}");
        }
    }
}
