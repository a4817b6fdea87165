//! SMILES, read: what this crate writes and its tables hold. No isotopes and no stereochemistry.

use super::cursor::Cursor;
use super::element::Element;
use super::molecule::{Atom, Molecule, Order};
use std::collections::BTreeMap;

/// The reader's place in a text.
struct Reader<'a> {
    text: Cursor<'a>,
    molecule: Molecule,
    /// Atoms whose hydrogens the text does not name.
    open: Vec<usize>,
    rings: BTreeMap<u8, (usize, Option<Order>)>,
}

impl Molecule {
    /// The molecule that a SMILES describes; `None` if it cannot be read.
    pub(in crate::chemistry) fn read(smiles: &str) -> Option<Self> {
        let mut reader = Reader {
            text: Cursor { rest: smiles },
            molecule: Self::default(),
            open: Vec::new(),
            rings: BTreeMap::new(),
        };
        reader.chain(None)?;
        if !reader.text.rest.is_empty() || !reader.rings.is_empty() || reader.molecule.len() == 0 {
            return None;
        }
        let Reader { mut molecule, open, .. } = reader;
        for atom in open {
            molecule.atoms[atom].hydrogens = molecule.default_hydrogens(atom);
        }
        molecule.find_rings();
        Some(molecule)
    }
}

impl Reader<'_> {
    fn order(&mut self) -> Option<Order> {
        let signs = [("-", Order::Single), ("=", Order::Double), ("#", Order::Triple)];
        signs.into_iter().find(|(sign, _)| self.text.take(sign)).map(|(_, order)| order)
    }

    /// Atoms up to the end of the text or of a branch.
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
            let order = self.order();
            if let Some(digit) = self.text.digit() {
                self.ring(last?, digit, order)?;
                continue;
            }
            let atom = self.atom()?;
            if let Some(last) = last {
                self.bond(last, atom, order);
            }
            last = Some(atom);
        }
    }

    fn bond(&mut self, a: usize, b: usize, order: Option<Order>) {
        let are_aromatic = [a, b].iter().all(|&atom| self.molecule.atoms[atom].is_aromatic);
        let default = if are_aromatic { Order::Aromatic } else { Order::Single };
        self.molecule.add_bond(a, b, order.unwrap_or(default));
    }

    fn ring(&mut self, atom: usize, digit: u8, order: Option<Order>) -> Option<()> {
        match self.rings.remove(&digit) {
            Some((other, _)) if other == atom => return None,
            Some((other, opening)) => self.bond(other, atom, opening.or(order)),
            None => drop(self.rings.insert(digit, (atom, order))),
        }
        Some(())
    }

    /// An element of the text, and whether it is aromatic.
    fn element(&mut self) -> Option<(Element, bool)> {
        let first = self.text.rest.chars().next()?;
        if matches!(first, 'b' | 'c' | 'n' | 'o' | 'p' | 's') {
            self.text.rest = &self.text.rest[1..];
            return Some((
                Element::named(first.to_ascii_uppercase().encode_utf8(&mut [0; 4]))?,
                true,
            ));
        }
        let found = [2, 1].into_iter().find_map(|length| {
            let symbol = self.text.rest.get(..length)?;
            Element::named(symbol).map(|element| (element, length))
        });
        let (element, length) = found?;
        self.text.rest = &self.text.rest[length..];
        Some((element, false))
    }

    fn atom(&mut self) -> Option<usize> {
        if !self.text.take("[") {
            let (element, is_aromatic) = self.element()?;
            if !element.is_organic() {
                return None;
            }
            let atom = Atom { element, is_aromatic, charge: 0, hydrogens: 0 };
            self.open.push(self.molecule.add_atom(atom));
            return self.open.last().copied();
        }
        let (element, is_aromatic) = self.element()?;
        let hydrogens = if self.text.take("H") { self.text.digit().unwrap_or(1) } else { 0 };
        let sign = [("+", 1), ("-", -1)].into_iter().find(|(sign, _)| self.text.take(sign));
        let size = sign.map(|_| self.text.digit().unwrap_or(1)).unwrap_or_default();
        let charge = i8::try_from(size).ok()? * sign.map_or(0, |(_, sign)| sign);
        if !self.text.take("]") {
            return None;
        }
        Some(self.molecule.add_atom(Atom { element, is_aromatic, charge, hydrogens }))
    }
}
