//! The network that joins the rows of a task, and the hidden columns that it makes.

use crate::media::graph::nodes::NodeNetwork;
use crate::numeric::draws::Draws;
use crate::spec::layout::NetworkLayout;
use crate::spec::rule::Frame;
use tasks::stream::Stream;

/// The file of links, in the public half.
pub const EDGES: &str = "edges.csv";

/// Share of a kindred column's variance that lies between communities.
const KINSHIP: f64 = 0.5;

/// The rows as nodes.
#[derive(Debug)]
pub struct Ties {
    communities: Vec<usize>,
    /// Who is linked with whom.
    pub network: NodeNetwork,
}

impl Ties {
    /// Draws the network of `rows` rows; the same again from the same stream.
    pub fn draw(layout: &NetworkLayout, rows: usize, stream: Stream) -> Self {
        let mut draws = Draws::new(stream.child("network"));
        let communities = layout.knit.communities(rows, &mut draws);
        let network = NodeNetwork::drawn(&layout.knit, &communities, &mut draws);
        Self { communities, network }
    }

    /// Standard normal values in which the rows of a community resemble each other. Communities
    /// have evenly spaced levels, so that every network of a task has the same mean and spread.
    pub fn kindred(&self, own: &[f64], draws: &mut Draws) -> Vec<f64> {
        let count = self.communities.iter().max().map_or(1, |most| most + 1) as f64;
        let unit = (12.0 / (count * count - 1.0).max(1.0)).sqrt();
        let mut levels: Vec<f64> =
            (0..self.communities.len().min(crate::numeric::draws::floor(count)))
                .map(|level| (level as f64 - (count - 1.0) / 2.0) * unit)
                .collect();
        draws.shuffle(&mut levels);
        let (shared, rest) = (KINSHIP.sqrt(), (1.0 - KINSHIP).sqrt());
        let rows = self.communities.iter().zip(own);
        rows.map(|(community, own)| shared * levels[*community] + rest * own).collect()
    }
}

/// Adds the hidden columns: each row's place in the network, and means over its neighbours.
pub fn surround(layout: &NetworkLayout, network: &NodeNetwork, frame: &mut Frame) {
    let structure = network.structure();
    let [degree, near_degree] = NetworkLayout::STRUCTURE.map(str::to_owned);
    frame.numbers.insert(degree, structure.iter().map(|one| one.degree).collect());
    frame.numbers.insert(near_degree, structure.iter().map(|one| one.neighbours_degree).collect());
    for column in &layout.near {
        if let Some(values) = frame.numbers.get(column) {
            let means = network.neighbour_mean(values);
            frame.numbers.insert(NetworkLayout::hidden(column), means);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::media::graph::nodes::Knit;
    use crate::numeric::moments::moments;

    #[test]
    fn neighbours_resemble_each_other_in_kindred_columns_alone() {
        let knit = Knit { communities: 6, homophily: 0.75, degree: 7.0 };
        let layout = NetworkLayout { knit, near: vec!["a".to_owned()], kindred: Vec::new() };
        let ties = Ties::draw(&layout, 900, Stream::root(3));
        let mut draws = Draws::new(Stream::root(4));
        let own: Vec<f64> = (0..900).map(|_| draws.normal()).collect();
        let kindred = ties.kindred(&own, &mut draws);
        let (mean, spread) = moments(&kindred);
        assert!(mean.abs() < 0.1 && (spread - 1.0).abs() < 0.1, "{mean} {spread}");
        let likeness = |values: &[f64]| {
            let mut frame = Frame { rows: 900, ..Frame::default() };
            frame.numbers.insert("a".to_owned(), values.to_vec());
            surround(&layout, &ties.network, &mut frame);
            let near = &frame.numbers["a.near"];
            tasks::metrics::regression::spearman(values, near).unwrap()
        };
        assert!(likeness(&kindred) > 0.35 && likeness(&own).abs() < 0.1);
    }
}
