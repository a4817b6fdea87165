#!/usr/bin/env bash
#SBATCH --job-name=merge
#SBATCH --cpus-per-task=2
#SBATCH --mem=8G
#SBATCH --time=00:30:00
# Puts the shards of generate.sh together, once all of them are there:
#
#   array=$(sbatch --parsable examples/deploy/slurm/generate.sh /shared/corpus)
#   sbatch --dependency=afterok:"$array" examples/deploy/slurm/merge.sh /shared/corpus
set -euo pipefail

out=${1:?name the folder of the corpus}
factory merge "$out" "$out".part*
factory verify "$out"
