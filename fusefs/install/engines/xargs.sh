#!/bin/bash
# Runs a command on all records, with xargs: xargs.sh N FOLDER COMMAND [OPTION...] FILE...     as for parallel.sh
# The exit status is 123 if a task failed. A second run repeats all tasks.
set -euo pipefail

count=$1 folder=$2 command=$3
shift 3

task=$(dirname "$(realpath "$0")")/task.sh
mkdir -p "$folder"
seq 0 $((count - 1)) | xargs -P "$(nproc)" -I {} "$task" "{}/$count" "$folder" "$command" "$@"
