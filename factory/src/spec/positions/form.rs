//! What a term of the rule looks at along a sequence.

use serde::{Deserialize, Serialize};

/// What a term looks at along a sequence: a number for each position. Symbols go by their places,
/// positions count from 0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "form", rename_all = "snake_case", deny_unknown_fields)]
pub enum Form {
    /// The symbol itself, a number for each.
    Own {
        /// The numbers, in the order of the symbols.
        values: Vec<f64>,
    },
    /// 1 where the symbols around the position are what they have to be, or else 0.
    Motif {
        /// What they have to be; places beyond an end are not.
        places: Vec<Place>,
    },
    /// 1 everywhere: what a sequence as a whole has.
    Whole,
    /// exp(−d / reach), d being how far back the last such symbol is; 0 before the first.
    Since {
        /// The symbol.
        symbol: usize,
        /// How far it reaches, in positions.
        reach: f64,
    },
    /// exp(−d / reach), d being how far ahead the next such symbol is; 0 after the last.
    Until {
        /// The symbol.
        symbol: usize,
        /// How far it reaches, in positions.
        reach: f64,
    },
    /// exp(−d / reach), d being how far away the nearest such symbol is; 0 without one.
    Nearest {
        /// The symbol.
        symbol: usize,
        /// How far it reaches, in positions.
        reach: f64,
    },
    /// exp(−i / reach) at position i.
    Start {
        /// How far it reaches, in positions.
        reach: f64,
    },
    /// exp(−i / reach), i being how many positions follow.
    End {
        /// How far it reaches, in positions.
        reach: f64,
    },
    /// How many times in a row the symbol has come by now.
    Run {
        /// From how many on there is no difference.
        most: usize,
    },
    /// How many such symbols are among the last ones.
    Count {
        /// The symbol.
        symbol: usize,
        /// How many symbols are looked at, the position's own among them.
        window: usize,
    },
    /// 1 where of two symbols the first one came last, or else 0.
    State {
        /// The symbol from which on it is 1.
        on: usize,
        /// The symbol from which on it is 0.
        off: usize,
    },
    /// How many openings are not yet closed; the symbols that open and close are inside.
    Depth {
        /// The symbol that opens.
        open: usize,
        /// The symbol that closes the last opening.
        close: usize,
        /// From how many on there is no difference.
        most: usize,
    },
    /// exp(−d / reach), d being how far back the last opening is that is not yet closed; 0 where none
    /// is.
    Inside {
        /// The symbol that opens.
        open: usize,
        /// The symbol that closes the last opening.
        close: usize,
        /// How far it reaches, in positions.
        reach: f64,
    },
    /// 1 after an odd number of such symbols, or else 0.
    Toggle {
        /// The symbol.
        symbol: usize,
    },
    /// 1 where the symbol is the one so many places back, or else 0.
    Echo {
        /// How many places.
        lag: usize,
    },
}

/// A place around a position, and what may be there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// How many places ahead; negative for places before.
    pub offset: i8,
    /// The symbols that may be there.
    pub any_of: Vec<usize>,
}

impl Form {
    /// Its name; of a motif, with its places.
    pub fn name(&self) -> String {
        let name = match self {
            Self::Own { .. } => "own",
            Self::Motif { places } => {
                let offsets: Vec<String> =
                    places.iter().map(|place| place.offset.to_string()).collect();
                return format!("motif[{}]", offsets.join(" "));
            }
            Self::Whole => "whole",
            Self::Since { .. } => "since",
            Self::Until { .. } => "until",
            Self::Nearest { .. } => "nearest",
            Self::Start { .. } => "start",
            Self::End { .. } => "end",
            Self::Run { .. } => "run",
            Self::Count { .. } => "count",
            Self::State { .. } => "state",
            Self::Depth { .. } => "depth",
            Self::Inside { .. } => "inside",
            Self::Toggle { .. } => "toggle",
            Self::Echo { .. } => "echo",
        };
        name.to_owned()
    }

    /// Whether only held-out tasks have it.
    pub fn is_held_out(&self) -> bool {
        matches!(self, Self::Inside { .. } | Self::Toggle { .. } | Self::Echo { .. })
    }

    /// The symbols whose single occurrences matter, and which had better be rare.
    pub fn markers(&self) -> Vec<usize> {
        match self {
            Self::Since { symbol, .. }
            | Self::Until { symbol, .. }
            | Self::Nearest { symbol, .. }
            | Self::Toggle { symbol } => vec![*symbol],
            Self::State { on, off } => vec![*on, *off],
            _ => Vec::new(),
        }
    }

    /// As a formula has it.
    pub(super) fn written(&self, symbols: &[String]) -> String {
        let name = |symbol: usize| symbols.get(symbol).map_or("?", String::as_str);
        match self {
            Self::Own { values } => {
                let each = symbols.iter().zip(values);
                let each = each.map(|(symbol, value)| format!("{symbol}={value}"));
                format!("own[{}]", each.collect::<Vec<_>>().join(" "))
            }
            Self::Motif { places } => {
                let place = |place: &Place| {
                    let names: Vec<&str> = place.any_of.iter().map(|one| name(*one)).collect();
                    format!("{}:{}", place.offset, names.join("|"))
                };
                format!("motif[{}]", places.iter().map(place).collect::<Vec<_>>().join(" "))
            }
            Self::Whole => "whole".to_owned(),
            Self::Since { symbol, reach } => format!("since({}, {reach})", name(*symbol)),
            Self::Until { symbol, reach } => format!("until({}, {reach})", name(*symbol)),
            Self::Nearest { symbol, reach } => format!("nearest({}, {reach})", name(*symbol)),
            Self::Start { reach } => format!("start({reach})"),
            Self::End { reach } => format!("end({reach})"),
            Self::Run { most } => format!("run({most})"),
            Self::Count { symbol, window } => format!("count({}, {window})", name(*symbol)),
            Self::State { on, off } => format!("state({}, {})", name(*on), name(*off)),
            Self::Depth { open, close, most } => {
                format!("depth({}, {}, {most})", name(*open), name(*close))
            }
            Self::Inside { open, close, reach } => {
                format!("inside({}, {}, {reach})", name(*open), name(*close))
            }
            Self::Toggle { symbol } => format!("toggle({})", name(*symbol)),
            Self::Echo { lag } => format!("echo({lag})"),
        }
    }
}
