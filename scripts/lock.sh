#!/usr/bin/env bash
# Compiles requirements/*.txt from pyproject.toml, for every platform and Python 3.11 and newer.
set -euo pipefail
cd "$(dirname "$0")/.."

tool=$(mktemp -d)
trap 'rm -rf "$tool"' EXIT
.venv/bin/python -m venv "$tool"
"$tool/bin/pip" install --quiet uv

compile() {
    local output=$1
    shift
    "$tool/bin/uv" pip compile pyproject.toml "$@" --output-file "requirements/$output.txt" \
        --upgrade --universal --python-version 3.11 --generate-hashes --quiet --no-header \
        --no-emit-index-url --no-emit-find-links --no-emit-package commonplace-review
}

compile base
compile web --extra web --extra team
compile dev --extra dev
bash scripts/check_locks.sh
