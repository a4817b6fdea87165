#!/usr/bin/env bash
# All tests, with cargo-nextest where it is installed and with cargo's own runner elsewhere.
set -euo pipefail
if cargo nextest --version >/dev/null 2>&1; then
  exec cargo nextest run --workspace --locked "$@"
fi
exec cargo test --workspace --locked --lib --bins --tests "$@"
