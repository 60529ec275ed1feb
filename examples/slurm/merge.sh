#!/bin/bash
# The shards of rollout.sh to one run: `sbatch --dependency=afterok:JOB merge.sh RUN --format lerobot`. Arguments after
# the run go to `bristle merge`.
#SBATCH --job-name=bristle-merge
#SBATCH --cpus-per-task=2
#SBATCH --time=04:00:00
#SBATCH --requeue
#SBATCH --output=%x-%j.log
set -euo pipefail

run=$1
shift
bristle merge "$run.shards" --out "$run" --threads "$SLURM_CPUS_PER_TASK" --resume "$@"
exec bristle verify "$run"
