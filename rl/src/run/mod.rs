//! What any long run needs, whatever it trains: settings and recipes, the device, metrics, progress,
//! a request to stop, a watchdog.

pub mod device;
pub(crate) mod guide;
pub(crate) mod memory;
pub mod metrics;
pub mod recipes;
pub mod settings;
pub mod stop;
pub mod tensorboard;
pub mod view;
pub mod watchdog;
