#!/bin/bash
# Runs a command on all records, as a Slurm array job of N tasks:
#   sbatch --array=0-7 slurm.sh 8 FOLDER COMMAND [OPTION...] FILE...     N parts; the rest as for task.sh
# N is an argument, so that some tasks can be submitted again, as in --array=3,5. A task that ends with status 75 is
# requeued up to three times. RECORDFS_TASK names task.sh, because Slurm copies this script elsewhere.
#SBATCH --job-name=recordfs
#SBATCH --requeue
#SBATCH --open-mode=append
set -euo pipefail

count=$1
shift

mkdir -p "$1"
status=0
"${RECORDFS_TASK:-/usr/share/recordfs/engines/task.sh}" "$SLURM_ARRAY_TASK_ID/$count" "$@" || status=$?
if [ "$status" -eq 75 ] && [ "${SLURM_RESTART_COUNT:-0}" -lt 3 ]; then
  scontrol requeue "${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID"
  sleep 60  # Slurm ends this run of the task
fi
exit "$status"
