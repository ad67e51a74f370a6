#!/usr/bin/env bash
# The locked requirements name packages, versions and hashes: no host, no index, no folder.
set -u
cd "$(dirname "$0")/.." || exit 1

if grep -nE '^[[:space:]]*-[^-]|^--|://|[[:space:]]@[[:space:]]|(^|[[:space:]])/' requirements/*.txt; then
    echo "the lines above name a place to fetch from; compile with: make lock" >&2
    exit 1
fi
for file in requirements/*.txt; do
    grep -q -- '--hash=sha256:' "$file" || { echo "$file holds no hash" >&2; exit 1; }
done
