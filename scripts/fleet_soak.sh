#!/usr/bin/env bash
# Soaks a fleet: 64 clients over two `sandbox serve` processes, one of which is killed in the middle
# and started again. Prints a table; exit code 0 if no episode failed, all that were lost were redone,
# and memory stayed flat. Builds what it needs, in release.
#
#   scripts/fleet_soak.sh [MINUTES [CORPUS]]         20 minutes on generated/quickstart by default
set -euo pipefail
cd "$(dirname "$0")/.."

minutes=${1:-20}
corpus=${2:-generated/quickstart}
if [[ ! -e $corpus ]]; then
  echo "error: there is no corpus \`$corpus\`; \`factory generate --count 12 --out $corpus\` makes one" >&2
  exit 1
fi
cargo build --release --locked --package sandbox
# Cargo runs benchmarks in the folder of their package.
exec cargo bench --locked --package support --bench fleet -- "$(realpath "$corpus")" --minutes "$minutes"
