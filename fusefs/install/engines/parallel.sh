#!/bin/bash
# Runs a command on all records, with GNU parallel:
#   parallel.sh N FOLDER COMMAND [OPTION...] FILE...     N parts; the rest as for task.sh
# Each task is tried up to three times. FOLDER/joblog has their exit statuses. --sshlogin runs tasks on other machines.
set -euo pipefail

count=$1 folder=$2 command=$3
shift 3

task=$(dirname "$(realpath "$0")")/task.sh
mkdir -p "$folder"
seq 0 $((count - 1)) | parallel --quote --retries 3 --joblog "$folder/joblog" "$task" "{}/$count" "$folder" "$command" "$@"
