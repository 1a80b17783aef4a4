#!/bin/sh
# Runs our suite against the servers and clients of other SDKs, and our own, and prints ../MATRIX.md.
#
#     ./matrix.sh OUT [NAME]...
#
# Puts a report in JSON into the folder OUT for each run, such as `typescript-server-http.json`. With names, only what
# begins with one of them is run again; what is printed has all that is in OUT. Wants what setup.sh installs, and the network
# for the crates. Takes about half an hour; not part of CI.
set -eu
mkdir -p "$1"
out=$(cd "$1" && pwd)
shift
cd "$(dirname "$0")"
here=$PWD
node="$here/node_modules/.bin/node"
python="$here/py/.venv/bin/python"
target=${CARGO_TARGET_DIR:-$here/../../target}
# The crates of peers are built beside ours, not among them.
peers=${PEERS_TARGET_DIR:-$target/peers}

cargo build --quiet -p mcp-conformance -p conformance --bins
CARGO_TARGET_DIR=$peers cargo build --quiet --locked --manifest-path rmcp-suite/Cargo.toml
CARGO_TARGET_DIR=$peers cargo build --quiet --locked --manifest-path tower-mcp/Cargo.toml
# What is being run may be built anew meanwhile.
cp "$target/debug/mcp-conformance" "$out/suite-$$"
suite="$out/suite-$$"
trap 'rm -f "$suite"' EXIT
ours="$target/debug/everything"

wanted() {
    [ -z "$names" ] && return 0
    for prefix in $names; do
        case $1 in "$prefix"*) return 0 ;; esac
    done
    return 1
}

# run NAME ARGUMENT...: found is no error, but a run that does not begin is.
run() {
    name=$1
    shift
    echo "$name" >&2
    "$suite" "$@" --jobs 4 --patience 20 --report json --output "$out/$name.json" >/dev/null 2>"$out/$name.log" || [ $? -eq 1 ]
}

# over_http NAME COMMAND [OPTION]...: starts a server on a free port, whose standard input ends with the run.
over_http() {
    name=$1
    command=$2
    shift 2
    wanted "$name" || return 0
    pipe=$(mktemp -u)
    mkfifo "$pipe"
    $command <"$pipe" >"$pipe.port" 2>"$out/$name-server.log" &
    exec 3>"$pipe"
    until grep -qs '^listening ' "$pipe.port"; do sleep 0.2; done
    run "$name" server --url "http://127.0.0.1:$(sed -n 's/^listening //p' "$pipe.port")/mcp" "$@"
    exec 3>&-
    wait
    rm "$pipe" "$pipe.port"
}

# What hangs is killed, and not only the shell around it.
over_stdio() { ! wanted "$1" || run "$1" server --command "exec $2"; }
client() { ! wanted "$1" || run "$1" client --command "exec $2"; }
client_stdio() { ! wanted "$1" || run "$1" client --stdio --command "exec $2"; }

names="$*"
over_http ours-server-http "$ours-server --until-eof"
over_http ours-server-h2 "$ours-server --until-eof" --http2
over_stdio ours-server-stdio "$ours-server --stdio"
over_http typescript-server-http "$node $here/js/suite-server.mjs"
over_stdio typescript-server-stdio "$node $here/js/suite-server.mjs --stdio"
over_http python-server-http "$python $here/py/suite_server.py"
over_stdio python-server-stdio "$python $here/py/suite_server.py --stdio"
over_http rmcp-server-http "$peers/debug/rmcp-server"
over_stdio rmcp-server-stdio "$peers/debug/rmcp-server --stdio"
over_http tower-mcp-server-http "$peers/debug/tower-mcp-server"
over_stdio tower-mcp-server-stdio "$peers/debug/tower-mcp-server --stdio"
client ours-client-http "$ours-client"
client_stdio ours-client-stdio "$ours-client"
client typescript-client-http "$node $here/js/suite-client.mjs"
client_stdio typescript-client-stdio "$node $here/js/suite-client.mjs"
client python-client-http "$python $here/py/suite_client.py"
client_stdio python-client-stdio "$python $here/py/suite_client.py"
client rmcp-client-http "$peers/debug/rmcp-client"
client_stdio rmcp-client-stdio "$peers/debug/rmcp-client"
client tower-mcp-client-http "$peers/debug/tower-mcp-client"
client_stdio tower-mcp-client-stdio "$peers/debug/tower-mcp-client"

"$node" matrix.mjs "$out"
