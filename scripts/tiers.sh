#!/usr/bin/env bash
# Which tiers of the sandbox the tests have tried, as whom, and what they had to leave out.
# Usage: scripts/tiers.sh reset | report
# `report` fails where CI is set and a tier was not tried, as root and as an ordinary user.
set -euo pipefail
cd "$(dirname "$0")/.."
folder="${CARGO_TARGET_DIR:-target}/tmp/tiers"

case "${1:-report}" in
  reset)
    rm -rf "$folder"
    ;;
  report)
    echo "Tiers of the sandbox:"
    lines=$(cat "$folder"/* 2>/dev/null | sort -u || true)
    sed 's/^/  /' <<<"${lines:-nothing was tried}"
    [ "${CI:-}" = true ] || [ "${CI:-}" = 1 ] || exit 0
    missing=()
    for tier in t1 t2 t3; do
      grep -q "^tried: [0-9]* hostile programs in $tier, scripts, files in memory, as " <<<"$lines" || missing+=("$tier")
    done
    for tier in t1 t2; do
      grep -q "^tried: [0-9]* hostile programs in $tier, scripts, files in disk, as " <<<"$lines" ||
        missing+=("$tier with files on disk")
    done
    for tier in t2 t3; do
      grep -q "^tried: [0-9]* hostile programs in $tier, scripts, files in memory, as an ordinary user" <<<"$lines" ||
        missing+=("$tier as an ordinary user")
    done
    if [ ${#missing[@]} -gt 0 ]; then
      printf 'error: not tried: %s\n' "${missing[@]}"
      exit 1
    fi
    ;;
  *)
    echo "usage: $0 reset | report" >&2
    exit 2
    ;;
esac
