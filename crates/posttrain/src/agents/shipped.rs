//! The agents that are part of this program: short scripts over the toolbox, to compare others with and
//! to try a host out, and `react`, which is this program itself.

/// An agent that is part of this program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShippedAgent {
    /// Its name.
    pub name: &'static str,
    /// Its `agent.toml`.
    pub spec: &'static str,
    /// Its `start.sh`.
    pub script: &'static str,
}

macro_rules! agent {
    ($name:literal) => {
        ShippedAgent {
            name: $name,
            spec: include_str!(concat!("../../agents/", $name, "/agent.toml")),
            script: include_str!(concat!("../../agents/", $name, "/start.sh")),
        }
    };
}

const SHIPPED: &[ShippedAgent] = &[
    agent!("scripted/noop"),
    agent!("scripted/broken"),
    agent!("scripted/copy"),
    agent!("scripted/sft"),
    agent!("scripted/rft"),
    agent!("scripted/sft-grpo"),
    agent!("react"),
];

/// All of them, from the one that does nothing to the one that does most.
pub fn shipped() -> &'static [ShippedAgent] {
    SHIPPED
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::AgentSpec;

    #[test]
    fn shipped_agents_are_valid_and_named_like_their_folders() {
        for agent in shipped() {
            let spec = AgentSpec::from_toml(agent.spec).unwrap();
            assert_eq!(spec.name, agent.name);
            assert_eq!(spec.start, ["bash", "start.sh"], "{}", agent.name);
            assert!(agent.script.starts_with("#!/bin/bash\n"), "{}", agent.name);
        }
    }
}
