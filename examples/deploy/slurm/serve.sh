#!/usr/bin/env bash
#SBATCH --job-name=sandboxes
#SBATCH --array=1-4
#SBATCH --cpus-per-task=16
#SBATCH --mem=64G
#SBATCH --time=24:00:00
#SBATCH --signal=B:TERM@1500
#SBATCH --requeue
#SBATCH --output=%x-%A-%a.log
# A fleet: one server per task of a job array. Each writes its address into a folder that all nodes
# share; train.sh puts them together. Twenty-five minutes before its time is over a server gets
# SIGTERM, begins no more episodes, and ends when the last one has ended.
#
#   export SANDBOX_TOKEN=$(openssl rand -hex 16)
#   sbatch examples/deploy/slurm/serve.sh /shared/corpus /shared/fleet
set -euo pipefail

tasks=${1:?name the corpus}
fleet=${2:?name a folder for the addresses of the fleet}
: "${SANDBOX_TOKEN:?set a token of at least 16 characters}"
number=${SLURM_ARRAY_TASK_ID:?submit this with sbatch, as an array}
# Slurm runs a copy of this script: the repository is where the job was submitted.
serve=$SLURM_SUBMIT_DIR/examples/deploy/serve.sh
mkdir -p "$fleet"
entry=$fleet/$number
ready=$fleet/new-$number
rm -f "$ready"
# Any free port: two servers may be on one node.
"$serve" "$tasks" --listen 0.0.0.0:0 --slots "${SLURM_CPUS_PER_TASK:-1}" \
  --records "$fleet/records-$number" > "$ready" &
server=$!
# Only this shell gets Slurm's signal. An address that is taken away is given to no other trainer.
trap 'rm -f "$entry"; kill -TERM "$server"' TERM
# One line is printed, when the server is ready: it ends with the port.
until [[ -s $ready ]]; do
  kill -0 "$server" 2>/dev/null || wait "$server"
  sleep 1
done
printf 'http://%s:%s\n' "$(hostname -f)" "$(sed 's/.*://' "$ready")" > "$ready.address"
mv "$ready.address" "$entry"
# A wait that a signal interrupts returns before the server has ended.
status=0
while kill -0 "$server" 2>/dev/null; do
  status=0
  wait "$server" || status=$?
done
rm -f "$entry" "$ready"
exit "$status"
