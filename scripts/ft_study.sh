#!/usr/bin/env bash
# What FT-Agent adds to a base on the tasks of `ftdojo`, beside what people do by rule. Every run resumes,
# so running it again after an interruption goes on.
#
#   scripts/ft_study.sh [--out FOLDER] [--results FOLDER] [--bin FOLDER] [--tasks "aime finqa"]
#                       [--seeds "0 1 2"] [--suite FOLDER] [--base MODEL]
#
# What came of a task and a seed is a small file in the folder of results. Where it is there, the runs are
# not made again: the study can be spread over machines, and files be kept without runs.
#
# The plan, with its primary outcomes, is in docs/STUDY.md. For each task and each seed:
#   scripted  FT-Agent by the scripted planner, four experiments
#   manual    two passes by rule
set -euo pipefail
cd "$(dirname "$0")/.."
out=generated/ft-study results= bin=target/release suite= base= seeds='0 1 2'
tasks='aime finqa mol-edit mol-opt mol-und noc4pc par4pc pi4pc reaction table-da table-fc table-nr table-vis'
while (($#)); do
  (($# > 1)) || { printf 'error: `%s` needs a value\n' "$1" >&2 && exit 2; }
  case $1 in
    --out) out=$2 ;;
    --results) results=$2 ;;
    --bin) bin=$2 ;;
    --tasks) tasks=$2 ;;
    --seeds) seeds=$2 ;;
    --suite) suite=$2 ;;
    --base) base=$2 ;;
    *) printf 'error: `%s` is unknown; see the head of this file\n' "$1" >&2 && exit 2 ;;
  esac
  shift 2
done
results=${results:-$out/results}
suite=${suite:-$out/suite}
mkdir -p "$out" "$results"

[[ -d $suite ]] || "$bin/posttrain" make --suite ftdojo --scale tiny --seed 7 --out "$suite"
if [[ -z $base ]]; then
  "$bin/posttrain" base "$suite" --out "$out/base"
  base=$out/base/model
fi

for seed in $seeds; do
  for task in $tasks; do
    result=$results/$task-seed-$seed.json
    [[ -e $result ]] && continue
    runs=()
    for planner in scripted manual; do
      run=$out/$task-$planner-$seed
      "$bin/posttrain" ft "$suite" "$task" --config ftdojo-tiny --planner "$planner" --base "$base" \
        --seed "$seed" --out "$run"
      runs+=("$run")
    done
    scripts/ft_study.py keep "${runs[@]}" "$result"
  done
done
scripts/ft_study.py report "$results"
