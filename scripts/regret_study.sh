#!/usr/bin/env bash
# Whether GRPO learns which approach a task wants: regret against the best script of each task, on
# a corpus of which linear models, forests and searches for products each win a third. Every stage
# resumes, so running it again after an interruption goes on.
#
#   scripts/regret_study.sh [--out FOLDER] [--bin FOLDER] [--seeds "0 1 2"] [--steps N] [--tasks N]
#
# The plan, with its primary outcome, is in docs/STUDY.md.
set -euo pipefail
cd "$(dirname "$0")/.."
out=generated/regret-study bin=target/release seeds='0 1 2' steps=60 tasks=700
while (($#)); do
  (($# > 1)) || { printf 'error: `%s` needs a value\n' "$1" >&2 && exit 2; }
  case $1 in
    --out) out=$2 ;;
    --bin) bin=$2 ;;
    --seeds) seeds=$2 ;;
    --steps) steps=$2 ;;
    --tasks) tasks=$2 ;;
    *) printf 'error: `%s` is unknown; see the head of this file\n' "$1" >&2 && exit 2 ;;
  esac
  shift 2
done
mkdir -p "$out"

# 3: slots stayed empty, and the other tasks are there.
"$bin/factory" generate --seeds mlebench --count "$tasks" --modality tabular \
  --formulation binary,multiclass,regression \
  --shares binary=0.4,multiclass=0.3,regression=0.3 --seed 200 --out "$out/all" || [[ $? == 3 ]]
"$bin/rl" eval --scripted --tasks "$out/all" --split train --attempts 2 --out "$out/ladder"
scripts/regret_corpus.py "$out/all" "$out/ladder" "$out"

results=()
for seed in $seeds; do
  run=$out/seed-$seed
  mkdir -p "$run"
  "$bin/rl" sft --model small --tasks "$out/train" --set demonstrations=ladder --set attempts=6 --seed "$seed" \
    --out "$run/sft"
  "$bin/rl" train --model "$run/sft" --tasks "$out/train" --seed "$seed" --steps "$steps" \
    --set validate_every=0 --out "$run/grpo"
  "$bin/rl" eval --policy "sft=$run/sft" --policy "grpo=$run/grpo" --scripted \
    --tasks "$out/held-out" --split train --attempts 4 --seed "$seed" --out "$run/eval"
  "$bin/rl" report --eval "$run/eval" --demonstrations "$run/sft" >"$run/learnt.md"
  results+=("$run/eval")
done
scripts/regret_study.py "${results[@]}"
