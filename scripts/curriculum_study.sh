#!/usr/bin/env bash
# The curriculum sampler against uniform draws: one SFT policy, then GRPO with either, three seeds
# each, equal episodes. Every stage resumes, so running it again after an interruption goes on.
#
#   scripts/curriculum_study.sh [FOLDER]
#
# RUNNER is a command that each stage is run by, such as `nice`. The plan is in docs/LOG.md.
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:-generated/curriculum-study}
read -r -a runner <<<"${RUNNER:-env}"
bin=target/release
mkdir -p "$out"

"${runner[@]}" "$bin/factory" generate --seeds mlebench --count 48 --modality tabular \
  --formulation binary,multiclass,regression \
  --shares binary=0.4,multiclass=0.3,regression=0.3 --seed 0 --out "$out/tasks"
"${runner[@]}" "$bin/rl" sft --model tiny --tasks "$out/tasks" --seed 0 --out "$out/sft"
for seed in 0 1 2; do
  for sampler in uniform adaptive; do
    # Validation at the start and at the end, four episodes on each held-out task.
    "${runner[@]}" "$bin/rl" train --model "$out/sft" --tasks "$out/tasks" --seed "$seed" \
      --steps 32 --tasks-per-step 8 --group-size 4 --set validate_every=32 \
      --set validate_attempts=4 --set checkpoint_every=8 --set "curriculum.sampler=$sampler" \
      --out "$out/$sampler-$seed"
  done
done
python3 scripts/curriculum_study.py "$out"
