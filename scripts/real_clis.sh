#!/usr/bin/env bash
# Installs the real reviewer CLIs that tests/real_clis drives, in the versions it was written for,
# into the folder given. One that cannot be installed is named, and its tests are skipped.
set -u
folder=${1:?usage: real_clis.sh FOLDER [PYTHON]}
python=${2:-python3}
mkdir -p "$folder"

if command -v npm >/dev/null; then
    for package in @anthropic-ai/claude-code@2.1.197 @openai/codex@0.171.0 @google/gemini-cli@0.61.0; do
        npm install --prefix "$folder" --no-fund --no-audit --no-package-lock --loglevel=error "$package" \
            >/dev/null 2>&1 || echo "not installed, its tests are skipped: $package" >&2
    done
else
    echo "no npm: the tests of claude-code, codex and gemini are skipped" >&2
fi

{ "$python" -m venv "$folder/llm" && "$folder/llm/bin/python" -m pip install --quiet --disable-pip-version-check llm==0.36; } \
    >/dev/null 2>&1 || echo "not installed, its tests are skipped: llm" >&2
exit 0
