#!/usr/bin/env bash
# What reinforcement adds to demonstrations: one policy that puts scripts together from words, GRPO
# on it, and the baselines at equal episodes. Every stage resumes, so running it again after an
# interruption goes on.
#
#   scripts/learning_study.sh [--out FOLDER] [--results FOLDER] [--bin FOLDER] [--corpora "1 2 3"]
#                             [--seeds "0 1 2"] [--baselines "0"] [--steps N] [--tasks N]
#
# What came of a corpus and a seed is a small file in the folder of results. Where it is there, the
# runs are not made again: the study can be spread over machines, and files be kept without runs.
#
# The plan, with its primary outcomes, is in docs/STUDY.md. For each corpus and each seed:
#   sft       imitates scripts put together at random from weak parts
#   grpo      sft, then GRPO
# and for the seeds of --baselines:
#   best      imitates the best of these scripts on each training task instead
#   rft       sft, then the best of every four of its own episodes
#   shuffled  the same, with rewards that change places within their group
#   format    the same, with a reward for well-formed turns alone
#   sparse    the same, with a reward for gold alone
set -euo pipefail
cd "$(dirname "$0")/.."
out=generated/learning-study results= bin=target/release corpora='1 2 3 4 5' seeds='0 1 2'
baselines=0 steps=100 tasks=72
while (($#)); do
  (($# > 1)) || { printf 'error: `%s` needs a value\n' "$1" >&2 && exit 2; }
  case $1 in
    --out) out=$2 ;;
    --results) results=$2 ;;
    --bin) bin=$2 ;;
    --corpora) corpora=$2 ;;
    --seeds) seeds=$2 ;;
    --baselines) baselines=$2 ;;
    --steps) steps=$2 ;;
    --tasks) tasks=$2 ;;
    *) printf 'error: `%s` is unknown; see the head of this file\n' "$1" >&2 && exit 2 ;;
  esac
  shift 2
done
results=${results:-$out/results}
# Episodes of a GRPO run: what the others may play, too.
per_step=8 group=8
episodes=$((steps * per_step * group))

# train FOLDER MODEL SEED FLAG...: a run of GRPO without validation.
train() {
  local folder=$1 model=$2 seed=$3
  shift 3
  "$bin/rl" train --model "$model" --tasks "$corpus/tasks" --seed "$seed" --steps "$steps" \
    --tasks-per-step "$per_step" --group-size "$group" --set validate_every=0 --out "$folder" "$@"
}

for number in $corpora; do
  missing=()
  for seed in $seeds; do
    [[ -e $results/corpus-$number-seed-$seed.json ]] || missing+=("$seed")
  done
  ((${#missing[@]})) || continue
  corpus=$out/corpus-$number
  mkdir -p "$corpus"
  # 3: slots stayed empty, and the other tasks are there.
  "$bin/factory" generate --seeds mlebench --count "$tasks" --modality tabular \
    --formulation binary,multiclass,regression \
    --shares binary=0.4,multiclass=0.3,regression=0.3 --seed "$number" --out "$corpus/tasks" || [[ $? == 3 ]]
  # The ladder on training tasks: the best fixed script is chosen there.
  "$bin/rl" eval --scripted --tasks "$corpus/tasks" --split train --attempts 1 --out "$corpus/ladder"
  training=$(find "$corpus/tasks" -name task.json -exec grep -l '"split": "train"' {} + | wc -l)
  for seed in "${missing[@]}"; do
    run=$corpus/seed-$seed
    mkdir -p "$run"
    "$bin/rl" sft --model small --tasks "$corpus/tasks" --seed "$seed" --out "$run/sft"

    train "$run/grpo" "$run/sft" "$seed"
    names=(sft grpo)

    if [[ " $baselines " == *" $seed "* ]]; then
      names+=(best rft shuffled format sparse)
      # The best demonstration of each training task.
      mkdir -p "$run/demonstrations/episodes"
      ln -sfn "$(realpath "$run/sft/demonstrations.jsonl")" "$run/demonstrations/episodes/demonstrations.jsonl"
      "$bin/rl" sft --model small --tasks "$corpus/tasks" --seed "$seed" \
        --episodes "$run/demonstrations" --set best_of=24 --set epochs=144 --out "$run/best"

      # Four more episodes at a time on every training task, as many as GRPO plays.
      attempts=$(((episodes / training + 3) / 4 * 4))
      "$bin/rl" eval --policy "policy=$run/sft" --tasks "$corpus/tasks" --split train \
        --attempts "$attempts" --seed "$seed" --out "$run/own"
      "$bin/rl" sft --model "$run/sft" --tasks "$corpus/tasks" --seed "$seed" --epochs 4 \
        --learning-rate 1e-3 --episodes "$run/own" --out "$run/rft"

      train "$run/shuffled" "$run/sft" "$seed" --set shuffle_rewards=true
      train "$run/format" "$run/sft" "$seed" --config format
      train "$run/sparse" "$run/sft" "$seed" --config sparse
    fi

    policies=()
    for name in "${names[@]}"; do
      policies+=(--policy "$name=$run/$name")
    done
    "$bin/rl" eval "${policies[@]}" --scripted --tasks "$corpus/tasks" --attempts 4 \
      --seed "$seed" --out "$run/eval"
    # As many demonstrations on each held-out task as training tasks have.
    "$bin/rl" eval --composed --tasks "$corpus/tasks" --attempts 24 --seed "$seed" \
      --out "$run/composed"
    "$bin/rl" report --eval "$run/eval" --demonstrations "$run/sft" --json "$run/learnt.json" >"$run/learnt.md"
    scripts/learning_study.py collect "$run" "$results/corpus-$number-seed-$seed.json"
  done
done
scripts/learning_study.py summary "$results"/*.json
