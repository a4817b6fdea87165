#!/usr/bin/env bash
# All tests, with cargo-nextest where it is installed and with cargo's own runner elsewhere.
# Where CI is set, nextest uses the profile `ci` of .config/nextest.toml.
set -euo pipefail
if cargo nextest --version >/dev/null 2>&1; then
  flags=(--profile default)
  if [[ ${CI:-} == true || ${CI:-} == 1 ]]; then
    # Tests wait for programs a sixth of their time: half as many again keep all processors at work.
    flags=(--profile ci --test-threads $((($(nproc) * 3 + 1) / 2)))
  fi
  exec cargo nextest run "${flags[@]}" --workspace --locked "$@"
fi
exec cargo test --workspace --locked --lib --bins --tests "$@"
