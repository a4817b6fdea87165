#!/usr/bin/env bash
# Whether advice that the policy does not have by itself gets into its weights: a base policy that follows
# advice and never searches for products by itself, collection with and without a scripted person, SFT
# arms on what was collected, GRPO arms. Every stage resumes, so running it again after an interruption
# goes on.
#
#   scripts/guidance_study.sh [--out FOLDER] [--bin FOLDER] [--seeds "0 1 2"] [--tasks N] [--steps N]
#                             [--attempts N]
#
# The plan, with its primary outcomes, is in docs/STUDY.md.
set -euo pipefail
cd "$(dirname "$0")/.."
out=generated/guidance-study bin=target/release seeds='0 1 2' tasks=240 steps=32 attempts=4
while (($#)); do
  (($# > 1)) || { printf 'error: `%s` needs a value\n' "$1" >&2 && exit 2; }
  case $1 in
    --out) out=$2 ;;
    --bin) bin=$2 ;;
    --seeds) seeds=$2 ;;
    --tasks) tasks=$2 ;;
    --steps) steps=$2 ;;
    --attempts) attempts=$2 ;;
    *) printf 'error: `%s` is unknown; see the head of this file\n' "$1" >&2 && exit 2 ;;
  esac
  shift 2
done
mkdir -p "$out"
samples=scripts/guidance_samples.py

# The person knows what the policy does not. It says so once, after the first script without it.
cat >"$out/ann.toml" <<'TOML'
name = "ann"
[[rule]]
name = "products"
outcome = "fine"
wrote = "submission.csv"
never_wrote = "triu_indices"
to = 2
about = true
drop = "turn"
say = [
  "Look at products and ratios of columns.",
  "Columns may act together.",
  "Search pairs of columns.",
  "Multiply columns and see which products matter.",
]
TOML

# 3: slots stayed empty, and the other tasks are there.
"$bin/factory" generate --seeds mlebench --count "$tasks" --modality tabular \
  --formulation binary,multiclass,regression \
  --shares binary=0.4,multiclass=0.3,regression=0.3 --seed 300 --out "$out/tasks" || [[ $? == 3 ]]
# Episodes of the ladder, of a policy that is of no other use than its prompts.
"$bin/rl" sft --model tiny --tasks "$out/tasks" --seed 0 --set epochs=1 --out "$out/ladder"
"$bin/rl" eval --policy "ladder=$out/ladder" --tasks "$out/tasks" --split val --attempts 1 \
  --person "$out/ann.toml" --out "$out/probe"
"$samples" base "$out/ladder/demonstrations.jsonl" "$out/probe/episodes/ladder.jsonl" "$out/base-samples"
"$bin/rl" sft --model tiny --tasks "$out/tasks" --samples "$out/base-samples" --seed 0 --out "$out/base"

# Collection: the same tasks, attempts and limits, alone and with the person.
play=(eval --policy "base=$out/base" --tasks "$out/tasks" --split train --attempts "$attempts")
for seed in $seeds; do
  "$bin/rl" "${play[@]}" --seed "$seed" --out "$out/alone-$seed"
  "$bin/rl" "${play[@]}" --seed "$seed" --person "$out/ann.toml" --out "$out/guided-$seed"
done
# Samples are of the first seed.
first=${seeds%% *}
guided=$out/guided-$first
export=("$bin/agents" guide export --store "$guided/guide" --tier bronze)
"$samples" good "$out/alone-$first/episodes/base.jsonl" "$out/R"
"${export[@]}" --unmasked --out "$out/B"
"${export[@]}" --out "$out/C"
"${export[@]}" --context excise --guidance-dropout 1 --tasks "$out/tasks" \
  --rules "$guided/settings.toml" --out "$out/Q"
# The same number of samples, and so of updates, for all arms.
count=$(wc -l "$out"/{R,B,C,Q}/samples.jsonl | awk '$2 != "total" {print $1}' | sort -n | head -1)
for arm in R B C Q; do "$samples" cut "$count" "$out/$arm" "$out/equal/$arm"; done

results=()
for seed in $seeds; do
  run=$out/seed-$seed
  mkdir -p "$run"
  policies=(--policy "base=$out/base")
  for arm in R B C Q; do
    "$bin/rl" sft --model "$out/base" --tasks "$out/tasks" --samples "$out/equal/$arm" --seed "$seed" \
      --set epochs=4 --out "$run/$arm"
    policies+=(--policy "$arm=$run/$arm")
  done
  train=(train --model "$out/base" --tasks "$out/tasks" --seed "$seed" --steps "$steps" --set validate_every=0)
  "$bin/rl" "${train[@]}" --out "$run/plain"
  "$bin/rl" "${train[@]}" --set credit=drop --out "$run/credit"
  "$bin/rl" "${train[@]}" --set "guide.person=$out/ann.toml" --set guide.below=0.8 --set guide.imitate=0.5 \
    --set guide.context=excise --out "$run/stuck"
  for arm in plain credit stuck; do policies+=(--policy "$arm=$run/$arm"); done
  # Nobody advises here.
  "$bin/rl" eval "${policies[@]}" --tasks "$out/tasks" --split val --attempts 4 --seed "$seed" --out "$run/eval"
  results+=("$run/eval")
done
scripts/guidance_study.py "$out" "${results[@]}"
