#!/usr/bin/env bash
# GRPO by `rl train` and by TRL's GRPOTrainer, from the same checkpoint on the same tasks. The plan is in
# docs/STUDY.md. What is finished is not done again, so running it after an interruption goes on.
#
#   make build venv-trl
#   scripts/trl_beside_us.sh [--out FOLDER] [--bin FOLDER] [--seeds "0 1 2"] [--steps N] [--stage NAME]
#
# Stages, all of them unless one is named:
#   tasks     72 small tables
#   sft       the tiny policy imitates scripted agents
#   ours      `rl train`, once a seed
#   trl       scripts/trl_rollout/grpo.py through `sandbox serve`, once a seed
#   eval      all policies on held-out tasks
#   summary   the comparison, as text
set -euo pipefail
cd "$(dirname "$0")/.."
out=generated/trl-beside-us bin=target/release seeds='0 1 2' steps=12 stage=all
while (($#)); do
  (($# > 1)) || { printf 'error: `%s` needs a value\n' "$1" >&2 && exit 2; }
  case $1 in
    --out) out=$2 ;;
    --bin) bin=$2 ;;
    --seeds) seeds=$2 ;;
    --steps) steps=$2 ;;
    --stage) stage=$2 ;;
    *) printf 'error: `%s` is unknown; see the head of this file\n' "$1" >&2 && exit 2 ;;
  esac
  shift 2
done
case $stage in
  all | tasks | sft | ours | trl | eval | summary) ;;
  *) printf 'error: there is no stage `%s`; see the head of this file\n' "$stage" >&2 && exit 2 ;;
esac
python=.venv-trl/bin/python
tasks_per_step=16 group=4 turns=5 turn_tokens=256 context=1536 rate=2e-4 grad_norm=0.1
mkdir -p "$out"

does() { [[ $stage == all || $stage == "$1" ]]; }

# Settings of episodes that training and evaluation share. Without min-p both trainers have the same loss.
episodes=(--set rollout.sampling.min_p=0 --set "rollout.turn_tokens=$turn_tokens"
  --set rules.episode.budget.wall_seconds=600)

if does tasks; then
  # 3: slots stayed empty, and the other tasks are there.
  "$bin/factory" generate --seeds mlebench --count 72 --modality tabular \
    --formulation binary,multiclass,regression \
    --shares binary=0.4,multiclass=0.3,regression=0.3 --seed 20 --out "$out/tasks" || [[ $? == 3 ]]
fi

if does sft; then
  "$bin/rl" sft --model tiny --tasks "$out/tasks" --seed 0 --out "$out/sft"
fi

if does ours; then
  for seed in $seeds; do
    # TRL's epsilon; a constant rate, because TRL's first warm-up step has rate 0; every script is
    # run, as it is for TRL.
    "$bin/rl" train --model "$out/sft" --tasks "$out/tasks" --seed "$seed" --steps "$steps" \
      --tasks-per-step "$tasks_per_step" --group-size "$group" --learning-rate "$rate" \
      --set warmup=0 --set "adam.max_grad_norm=$grad_norm" --set advantage.epsilon=1e-4 \
      --set validate_every=0 --set rollout.script_cache=false "${episodes[@]}" --out "$out/ours-$seed"
  done
fi

# Serves the tasks under the rules of `rl train` for tiny policies; ends with this script.
serve() {
  "$bin/sandbox" serve "$out/tasks" --listen 127.0.0.1:0 --records "$out/records" \
    --max-episodes $((2 * tasks_per_step * group)) --slots "$((2 * $(nproc)))" --turns "$turns" \
    --episode-limit 600s --step-limit 20s --answer-limit 600s \
    --stdout-head 150 --stdout-tail 50 --stderr-head 0 --stderr-tail 120 \
    >"$out/server.out" 2>"$out/server.log" &
  server=$!
  trap 'kill "$server"' EXIT
  until grep -q '^serving' "$out/server.out"; do
    kill -0 "$server" || { cat "$out/server.log" >&2 && exit 1; }
    sleep 0.2
  done
  url=$(sed -n 's|^serving .* at http\(.*\)|ws\1/ws|p' "$out/server.out")
}

if does trl; then
  for seed in $seeds; do
    run=$out/trl-$seed
    if [[ -f $run/trainer_state.json ]]; then continue; fi
    [[ -n ${url:-} ]] || serve
    checkpoint=$(find "$out/sft/checkpoints" -maxdepth 1 -name 'step-*' | sort | tail -n 1)
    HF_HUB_OFFLINE=1 "$python" scripts/trl_rollout/grpo.py --model "$checkpoint" \
      --demonstrations "$out/sft/demonstrations.jsonl" --url "$url" --context "$context" \
      --output_dir "$run" --seed "$seed" --max_steps "$steps" \
      --per_device_train_batch_size $((tasks_per_step * group)) --gradient_accumulation_steps 1 \
      --num_generations "$group" --max_completion_length "$turn_tokens" \
      --loss_type grpo --scale_rewards group --beta 0 --epsilon 0.2 --epsilon_high 0.28 \
      --temperature 1 --top_p 1 --top_k 0 \
      --learning_rate "$rate" --lr_scheduler_type constant --warmup_steps 0 --adam_beta2 0.95 \
      --weight_decay 0 --max_grad_norm "$grad_norm" --bf16 false --gradient_checkpointing false \
      --use_cpu true --logging_steps 1 --save_strategy no --report_to none
  done
fi

if does eval; then
  policies=(--policy "sft=$out/sft")
  for seed in $seeds; do
    policies+=(--policy "ours-$seed=$out/ours-$seed" --policy "trl-$seed=$out/trl-$seed")
  done
  "$bin/rl" eval "${policies[@]}" --tasks "$out/tasks" --attempts 4 --seed 0 "${episodes[@]}" \
    --out "$out/eval"
fi

if does summary; then
  python3 scripts/trl_beside_us.py "$out"
fi
