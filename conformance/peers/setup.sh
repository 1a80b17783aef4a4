#!/bin/sh
# Installs the peers that README.md describes: node_modules/ from package-lock.json and
# py/.venv from py/requirements.txt. Nothing is done for what is already as locked.
# Needs npm, and a Python of 3.10 or later with venv (PYTHON names another than python3).
set -eu
cd "$(dirname "$0")"

# The copy of the lock file is written last, so an interrupted installation is begun again.
if ! cmp -s package-lock.json node_modules/.installed; then
    # npm runs on whatever Node it came with; what it installs brings its own.
    npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
    cp package-lock.json node_modules/.installed
fi

if ! cmp -s py/requirements.txt py/.venv/.installed; then
    "${PYTHON:-python3}" -m venv --clear py/.venv
    py/.venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r py/requirements.txt
    cp py/requirements.txt py/.venv/.installed
fi

# Outside 64-bit Linux on x86 there is no Node among the packages, and the one on the path must do.
PATH="$PWD/node_modules/.bin:$PATH" node -e '
    if (Number(process.versions.node.split(".")[0]) < 22) {
        console.error(`the peers need Node 22 or later, found ${process.version}`);
        process.exit(1);
    }'
