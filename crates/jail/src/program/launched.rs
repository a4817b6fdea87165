//! What a caller and the launcher say to each other, a JSON object a packet.

use crate::isolation::layer::Missing;
use crate::isolation::rlimits::ResourceLimits;
use crate::isolation::root::Bind;
use serde::{Deserialize, Serialize};

/// What a caller asks of a launcher; the first packet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Launch {
    /// Whether there is to be a box.
    pub(super) boxed: bool,
    pub(super) start: Vec<String>,
    pub(super) directory: String,
    pub(super) environment: Vec<(String, String)>,
    pub(super) programs: Vec<Bind>,
    pub(super) data: Vec<Bind>,
    pub(super) writable: Vec<Bind>,
    pub(super) devices: Vec<Bind>,
    pub(super) ports: Vec<u16>,
    pub(super) scratch: u64,
    pub(super) limits: ResourceLimits,
    pub(super) gpus: bool,
    /// How many packets with a descriptor of a control group follow.
    pub(super) group_fds: usize,
}

/// What a caller sends besides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Order {
    /// A descriptor is attached, to which the program writes `0` to join a control group.
    Join,
    /// Everybody is stopped.
    Rest,
    /// Everybody goes on.
    Work,
    /// Everybody is to end.
    Terminate,
    /// Everybody is killed.
    Kill,
}

/// What launcher, keeper and the program's process answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Told {
    /// A listener on this port of the box is attached.
    Listening(u16),
    /// The program is in its box, and is started now. These layers are missing.
    Standing(Vec<Missing>),
    /// The box does not stand, for want of this layer.
    Failed(Missing),
    /// The program's first process exited with this code.
    Exited(i32),
    /// It was ended by this signal.
    Signalled(i32),
}
