#!/usr/bin/env bash
#SBATCH --job-name=grpo
#SBATCH --gres=gpu:1
#SBATCH --cpus-per-task=16
#SBATCH --mem=128G
#SBATCH --time=24:00:00
#SBATCH --signal=TERM@600
#SBATCH --requeue
#SBATCH --output=%x-%j.log
# Training on one GPU. A job that is requeued resumes its run from the last checkpoint. With the folder
# of serve.sh it waits for that fleet and plays its episodes there; without, on its own node.
#
#   sbatch examples/deploy/slurm/train.sh /shared/sft /shared/corpus /shared/run [/shared/fleet]
set -euo pipefail

model=${1:?name the policy to start from}
tasks=${2:?name the corpus}
out=${3:?name the folder of the run}
fleet=${4:-}
flags=()
if [[ -n $fleet ]]; then
  : "${SANDBOX_TOKEN:?set the token of the fleet}"
  until compgen -G "$fleet/[0-9]*" > /dev/null; do sleep 10; done
  addresses=$(cat "$fleet"/[0-9]* | paste -sd, -)
  echo "fleet: $addresses"
  flags+=(--sandboxes "$addresses")
fi
exec rl train --model "$model" --tasks "$tasks" --out "$out" "${flags[@]}"
