#!/bin/bash
# Runs a command on the records of one split, as one task of any engine:
#   task.sh SPLIT FOLDER COMMAND [OPTION...] FILE...     SPLIT, OPTION and FILE are those of recordfs cat
# COMMAND reads the records from standard input. FOLDER/part-SPLIT has its output, and FOLDER/part-SPLIT.skipped what was
# damaged. They appear when the task is complete, so that a task can be killed and run again.
# Exit status: 0 complete, 75 a retry may succeed, otherwise that of COMMAND or recordfs. A task that is killed with
# SIGKILL leaves FOLDER/part-SPLIT.RANDOM, which nothing reads.
set -euo pipefail

split=$1 folder=$2 command=$3
shift 3

part=${split%@*}  # the same name whether the split has a check or not
part=$folder/part-${part//\//-of-}
temporary=$(mktemp "$part.XXXXXX")
trap 'rm -f "$temporary" "$temporary.skipped"' EXIT
trap 'exit 143' TERM

recordfs cat --split "$split" --skip-damage --skipped "$temporary.skipped" "$@" | bash -c "$command" >"$temporary"
mv "$temporary.skipped" "$part.skipped"
mv "$temporary" "$part"
