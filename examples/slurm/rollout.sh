#!/bin/bash
# A shard in every task of an array job: `sbatch --array=1-64 rollout.sh SCENARIO RUN`. More arguments go to
# `bristle rollout`. A task that is requeued, or submitted again, goes on after the last contact on the disk.
#SBATCH --job-name=bristle
#SBATCH --cpus-per-task=2
#SBATCH --time=04:00:00
#SBATCH --requeue
#SBATCH --output=%x-%A-%a.log
set -euo pipefail

scenario=$1
run=$2
shift 2
shard=$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT
exec bristle rollout "$scenario" --shard "$shard" --out "$run.shards/${shard/\//-of-}" \
    --engine cpu --threads "$SLURM_CPUS_PER_TASK" --resume --quiet "$@"
