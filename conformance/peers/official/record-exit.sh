#!/bin/sh
# Runs a client for one scenario of the official suite and records how it ended, because the
# suite itself ignores the exit code when it runs a whole set.
#
#   record-exit.sh DIRECTORY CLIENT URL
#
# Writes the exit code to DIRECTORY/SCENARIO. The time limit is below the suite's own of 30 s:
# the suite kills only the shell that it started, so a hanging client would outlive it.
directory=$1
shift
timeout 25 "$@"
code=$?
record="$directory/$MCP_CONFORMANCE_SCENARIO"
mkdir -p "$(dirname "$record")" && echo "$code" >"$record"
exit "$code"
