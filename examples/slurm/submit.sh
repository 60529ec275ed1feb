#!/bin/bash
# Simulates a scenario in shards, and merges them when all are complete:
#     examples/slurm/submit.sh SCENARIO RUN SHARDS [arguments of bristle merge]
# RUN is in a directory that all nodes see, and `bristle` in their PATH. Prints the job that merges.
set -euo pipefail

if (($# < 3)); then
    echo "usage: $0 SCENARIO RUN SHARDS [arguments of bristle merge]" >&2
    exit 2
fi
here=$(dirname "$(realpath "$0")")
scenario=$(realpath "$1")
run=$(realpath "$2")
shards=$3
shift 3
job=$(sbatch --parsable --array="1-$shards" "$here/rollout.sh" "$scenario" "$run")
sbatch --parsable --dependency="afterok:$job" "$here/merge.sh" "$run" "$@"
