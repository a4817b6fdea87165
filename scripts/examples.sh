#!/usr/bin/env bash
# Builds the example programs of all packages and runs each (`examples/*.rs` of every member).
# Arguments are passed on to cargo. Stops at the first that fails.
set -euo pipefail
shopt -s nullglob
cd "$(dirname "$0")/.."
cargo build --workspace --bins --examples --locked "$@"
for program in {crates/*,factory,sandbox,rl,tests}/examples/*.rs; do
  name=$(basename "$program" .rs)
  echo "--- $program"
  # Without a package, so that cargo uses the features of the whole workspace and builds nothing anew.
  cargo run --quiet --locked "$@" --example "$name"
done
