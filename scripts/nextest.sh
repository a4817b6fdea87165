#!/usr/bin/env bash
# All tests, with cargo-nextest where it is installed and with cargo's own runner elsewhere.
# Where CI is set, nextest uses the profile `ci` of .config/nextest.toml.
set -euo pipefail
if cargo nextest --version >/dev/null 2>&1; then
  profile=default
  if [[ ${CI:-} == true || ${CI:-} == 1 ]]; then profile=ci; fi
  exec cargo nextest run --profile "$profile" --workspace --locked "$@"
fi
exec cargo test --workspace --locked --lib --bins --tests "$@"
