#!/usr/bin/env bash
# Chromium for tests/browser: taken as it is, else installed where we may. Without one the tests are
# skipped, and fail where CI is set.
set -u

for name in "${COMMONPLACE_TEST_CHROMIUM:-}" chromium chromium-browser google-chrome google-chrome-stable; do
    [ -n "$name" ] && command -v "$name" >/dev/null && exit 0
done
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    apt-get update -q && DEBIAN_FRONTEND=noninteractive \
        apt-get install -q -y --no-install-recommends chromium && exit 0
fi
echo "no Chromium, and none could be installed; on Debian: apt-get install chromium" >&2
