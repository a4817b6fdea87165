#!/usr/bin/env bash
# The main job from seeds to report. Every stage picks up where it was, so running it again
# after an interruption goes on, and running it again after success only prints the results.
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:-generated/quickstart}
bin=target/release
# Policies repeat scripts that were demonstrated.
scripts=$out/scripts
mkdir -p "$out"
started=$SECONDS

stage() { # stage NAME WHAT COMMAND...
  local name=$1 what=$2 began=$SECONDS
  shift 2
  printf '\n== %s: %s\n   %s\n' "$name" "$what" "$*" >&2
  "$@"
  printf '== %s done in %d s\n' "$name" $((SECONDS - began)) >&2
}

stage "1/5 tasks" "turn the structure of MLE-bench competitions into verified micro-scale tasks" \
  "$bin/factory" generate --seeds mlebench --count 72 --modality tabular,time_series \
  --formulation binary,multiclass,regression,forecasting \
  --shares binary=0.3,multiclass=0.22,regression=0.28,forecasting=0.2 --out "$out"
stage "2/5 sft" "fine-tune a tiny policy on episodes of scripted agents (SFT)" \
  "$bin/rl" sft --model tiny --tasks "$out" --script-cache "$scripts" --out "$out/sft"
stage "3/5 grpo" "train it further by GRPO on its own episodes" \
  "$bin/rl" train --model "$out/sft" --tasks "$out" --script-cache "$scripts" --out "$out/grpo"
stage "4/5 eval" "compare the policies and the scripted agents on held-out tasks" \
  "$bin/rl" eval --tasks "$out" --policy sft="$out/sft" --policy grpo="$out/grpo" \
  --policy random --scripted --script-cache "$scripts" --out "$out/eval"
stage "5/5 report" "write the HTML report" \
  "$bin/rl" report --tasks "$out" --sft "$out/sft" --grpo "$out/grpo" --eval "$out/eval" \
  --out "$out/report.html"
printf '\nAll done in %d s. Open %s/report.html\n' $((SECONDS - started)) "$out" >&2
