//! Qwen3 policies in libtorch: generation, SFT and trajectory-level GRPO.
