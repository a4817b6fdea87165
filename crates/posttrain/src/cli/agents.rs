//! `posttrain agents`.

use super::{exit, output};
use anyhow::Result;
use clap::Args;
use posttrain::agents::{AgentSpec, shipped};

#[derive(Debug, Args)]
pub(super) struct AgentsArgs {
    /// Print the agents as JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn agents(args: &AgentsArgs) -> Result<u8> {
    let read = |text| AgentSpec::from_toml(text);
    let specs: Vec<AgentSpec> =
        shipped().iter().map(|agent| read(agent.spec)).collect::<std::result::Result<_, _>>()?;
    if args.json {
        output::json(&specs)?;
        return Ok(exit::SUCCESS);
    }
    for spec in &specs {
        let modes: Vec<&str> = spec.modes.iter().map(|mode| mode.name()).collect();
        output::line(&format!("{:18}  {}", spec.name, spec.description))?;
        output::line(&format!("{:18}  modes: {}", "", modes.join(", ")))?;
    }
    Ok(exit::SUCCESS)
}
