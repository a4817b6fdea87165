//! Standard normal values behind number columns, which follow each other as a story says.

use crate::spec::scenario::Follows;
use std::collections::BTreeMap;

/// The latent values of the columns `names` and of all that they follow: of a root what `own`
/// draws for it, of a child `correlation` times its parent's and the rest its own.
///
/// `follows` has no circle.
pub(super) fn draw<'a>(
    names: impl Iterator<Item = &'a str>,
    follows: &'a [Follows],
    mut own: impl FnMut(&str) -> Vec<f64>,
) -> BTreeMap<&'a str, Vec<f64>> {
    let mut known: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for name in names {
        // From the column up to a value that is known, or a root.
        let mut path: Vec<(&str, Option<&Follows>)> = Vec::new();
        let mut next = Some(name);
        while let Some(name) = next.filter(|name| !known.contains_key(name)) {
            let line = follows.iter().find(|line| line.child == name);
            path.push((name, line));
            next = line.map(|line| line.parent.as_str());
        }
        while let Some((name, line)) = path.pop() {
            let mut values = own(name);
            if let Some(line) = line {
                let rest = (1.0 - line.correlation * line.correlation).sqrt();
                for (value, base) in values.iter_mut().zip(&known[line.parent.as_str()]) {
                    *value = line.correlation * base + rest * *value;
                }
            }
            known.insert(name, values);
        }
    }
    known
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::draws::Draws;
    use crate::spec::scenario::correlation;
    use tasks::stream::Stream;

    #[test]
    fn columns_go_together_as_the_story_says() {
        let follows: Vec<Follows> = ["a cold 0.6", "b cold -0.8", "c b 0.7", "cold season 0.9"]
            .map(|line| line.to_owned().try_into().unwrap())
            .to_vec();
        let stream = Stream::root(11);
        let latents = draw(["c", "a", "b", "free"].into_iter(), &follows, |name| {
            let mut draws = Draws::new(stream.child(name));
            (0..20_000).map(|_| draws.normal()).collect()
        });
        let product = |one: &str, other: &str| {
            let pairs = latents[one].iter().zip(&latents[other]);
            pairs.map(|(a, b)| a * b).sum::<f64>() / 20_000.0
        };
        for one in ["a", "b", "c", "free"] {
            assert!((product(one, one) - 1.0).abs() < 0.05, "{one} has another variance");
            for other in ["a", "b", "c", "free"].into_iter().filter(|other| *other != one) {
                let (found, wanted) = (product(one, other), correlation(&follows, one, other));
                assert!((found - wanted).abs() < 0.03, "{one}, {other}: {found}, not {wanted}");
            }
        }
    }
}
