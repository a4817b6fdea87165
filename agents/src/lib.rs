//! Agents that solve tasks, their turn grammar, trajectories and rewards.
