//! The command `sandbox check`: which isolation layers this host offers.

use super::{CommonFlags, exit, output, start};
use anyhow::Result;
use clap::Args;
use jail::exec::StartError;
use jail::isolation::LayerState;
use jail::limits::Gpus;
use serde_json::json;

/// Arguments of `sandbox check`.
#[derive(Debug, Args)]
pub(super) struct CheckArgs {
    #[command(flatten)]
    pub(super) common: CommonFlags,
}

pub(super) fn run(args: &CheckArgs) -> Result<u8> {
    let sandbox = match start(args.common.options(false), None) {
        Ok(sandbox) => sandbox,
        Err(
            ref error @ (StartError::Layer { layer, ref reason }
            | StartError::IsolationLevel { layer, ref reason, .. }),
        ) => {
            if args.common.json {
                output::json_line(&json!({"ready": false, "layer": layer, "reason": reason}))?;
            } else {
                output::line(&error.to_string())?;
                output::line("scripts will not be run on this host")?;
            }
            return Ok(exit::UNPROTECTED);
        }
        Err(error) => return Err(error.into()),
    };
    let protection = sandbox.protection();
    let gpus = sandbox.host_gpus().indices();
    let obstacles = sandbox.host_gpus().obstacles();
    if args.common.json {
        output::json(&json!({
            "ready": true,
            "tier": sandbox.tier(),
            "layers": protection,
            "gpus": {"indices": gpus, "obstacles": obstacles},
        }))?;
    } else {
        output::line(&format!("tier {}", sandbox.tier()))?;
        for (layer, state) in protection.iter() {
            match state {
                LayerState::Up => output::line(&format!("{layer:20} up"))?,
                LayerState::Down { reason } => output::line(&format!("{layer:20} down: {reason}"))?,
            }
        }
        let gpus = if gpus.is_empty() { Gpus::None } else { Gpus::Only(gpus) };
        let gpus = [vec![gpus.to_string()], obstacles].concat().join("; ");
        output::line(&format!("{:20} {gpus}", "gpus"))?;
    }
    // What was asked for is fulfilled even if an accepted layer is down.
    Ok(exit::SUCCESS)
}
