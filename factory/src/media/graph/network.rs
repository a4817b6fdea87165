//! The medium itself: its statistics, its blemishes, and the order of the work.

#[cfg(test)]
mod tests;

use super::dressing::{self, Dress};
use super::sheet::{self, Sheet};
use super::wiring::Wiring;
use super::{estimates, features};
use crate::media::{
    Blemish, Format, ItemReader, Look, Medium, MediumError, Reach, Reading, Statistic,
};
use crate::numeric::draws::{Draws, floor};

/// Small directed, weighted graphs.
#[derive(Debug)]
pub struct Network;

const STATISTICS: [Statistic; 7] = [
    Statistic {
        name: "degree",
        low: 3.4,
        high: 5.4,
        decimals: 2,
        reach: Reach::Plain,
        means: "links per node, counted at both ends",
    },
    Statistic {
        name: "hubs",
        low: 0.3,
        high: 0.7,
        decimals: 3,
        reach: Reach::Plain,
        means: "how unequal the nodes' numbers of links are: standard deviation over mean",
    },
    Statistic {
        name: "closure",
        low: 0.2,
        high: 0.6,
        decimals: 3,
        reach: Reach::Generic,
        means: "share of links that are a side of a triangle",
    },
    Statistic {
        name: "pull",
        low: -0.4,
        high: 0.4,
        decimals: 2,
        reach: Reach::Generic,
        means: "whether links point to the busier end (positive) or away from it",
    },
    Statistic {
        name: "circles",
        low: 0.0,
        high: 1.0,
        decimals: 2,
        reach: Reach::Hidden,
        means: "share of triangles whose links run in a circle",
    },
    Statistic {
        name: "kinship",
        low: 0.3,
        high: 0.8,
        decimals: 2,
        reach: Reach::Hidden,
        means: "share of links between nodes of one kind, which the letter in the name tells",
    },
    Statistic {
        name: "bond",
        low: -0.7,
        high: 0.7,
        decimals: 2,
        reach: Reach::Hidden,
        means: "logarithm of how much heavier links in triangles are than other links",
    },
];

const BLEMISHES: [Blemish; 4] = [
    Blemish {
        name: "missing_links",
        low: 0.02,
        high: 0.1,
        means: "a share of the links was not recorded",
    },
    Blemish {
        name: "faint_links",
        low: 0.02,
        high: 0.1,
        means: "links that do not exist were recorded, with weights far below all others",
    },
    Blemish {
        name: "repeated_lines",
        low: 0.05,
        high: 0.25,
        means: "a share of the lines was written twice",
    },
    Blemish {
        name: "self_links",
        low: 0.02,
        high: 0.1,
        means: "nodes were recorded as linked with themselves",
    },
];

/// What all graphs of a task share.
struct Custom {
    nodes: usize,
    dress: Dress,
}

impl Custom {
    fn of(look: &Look<'_>) -> Self {
        let mut draws = Draws::new(look.stream.child("network"));
        // Even, for two kinds of equal size.
        let nodes = 2 * draws.whole(16, 20);
        Self { nodes, dress: Dress::drawn(&mut draws) }
    }
}

impl ItemReader for Network {
    fn blemishes(&self) -> &'static [Blemish] {
        &BLEMISHES
    }

    fn formats(&self) -> &'static [Format] {
        &[Format::Csv]
    }

    fn read(&self, bytes: &[u8]) -> Result<Reading, MediumError> {
        let sheet = Sheet::read(bytes)?;
        Ok(Reading {
            plain: features::plain(&sheet),
            generic: features::generic(&sheet.graph(0.0)),
            estimates: estimates::of(&sheet),
        })
    }

    fn python(&self) -> &'static str {
        include_str!("network.py")
    }
}

impl Medium for Network {
    fn statistics(&self) -> &'static [Statistic] {
        &STATISTICS
    }

    fn render(&self, values: &[f64], look: &Look<'_>, draws: &mut Draws) -> Vec<u8> {
        // A value that a caller does not give lies in the middle.
        let value = |index: usize| -> f64 {
            let Statistic { low, high, .. } = STATISTICS[index];
            values.get(index).copied().unwrap_or(f64::midpoint(low, high)).clamp(low, high)
        };
        let custom = Custom::of(look);
        let links = floor(value(0) * custom.nodes as f64 / 2.0 + 0.5);
        let triangles = floor(value(2) * links as f64 / 3.0 + 0.5);
        let wiring = Wiring::drawn(custom.nodes, links, value(1), triangles, draws);
        let directed = dressing::directed(&wiring, value(4), value(3), draws);
        let names = custom.dress.names(&wiring, value(5), draws);
        let weighted = custom.dress.weighted(&directed, value(6), draws);
        let strength = |blemish: &Blemish| look.blemishes.get(blemish.name).copied().unwrap_or(0.0);
        let lines =
            dressing::blemished(weighted, &wiring, BLEMISHES.each_ref().map(strength), draws);
        sheet::written(&names, &lines)
    }
}
