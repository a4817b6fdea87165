//! The grading server as its users meet it: intake, graders, the served run, kills and audits.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod adapters;
mod audits;
mod bases;
mod boxes;
mod commands;
mod contamination;
mod fixture;
mod ft_agent;
mod ft_faults;
mod ft_fixture;
mod ft_teacher;
mod gate;
mod gateway;
mod gateway_faults;
mod gateway_runs;
mod graders;
mod hostile;
mod hostile_agents;
mod intake;
mod kills;
mod reports;
mod restarts;
mod running;
mod runs;
mod served;
mod several;
mod traces;
mod tune;
mod uses;
