#!/usr/bin/env bash
#SBATCH --job-name=factory
#SBATCH --array=1-8
#SBATCH --cpus-per-task=8
#SBATCH --mem=16G
#SBATCH --time=01:00:00
#SBATCH --requeue
#SBATCH --output=%x-%A-%a.log
# One shard of a corpus per task of a job array; shards count from 1, and so must the array. A task
# that is requeued goes on where it was. The folder is one that all nodes share. Flags are those of
# `factory generate`, such as `--count`; the same for all shards.
#
#   sbatch examples/deploy/slurm/generate.sh /shared/corpus [FLAG...]
set -euo pipefail

out=${1:?name the folder of the corpus}
shift
if (($# == 0)); then set -- --seeds mlebench --count 9120 --seed 1; fi
shard=${SLURM_ARRAY_TASK_ID:?submit this with sbatch, as an array}
exec factory generate "$@" --jobs "${SLURM_CPUS_PER_TASK:-1}" \
  --shard "$shard/$SLURM_ARRAY_TASK_COUNT" --out "$out.part$shard"
