//! Seed tasks in, verified micro-scale ML task directories out.
