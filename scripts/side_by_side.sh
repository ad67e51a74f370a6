#!/usr/bin/env bash
# Runs several make targets at once, each line of their output under the target's name; fails when one fails.
# The parts of the suite wait for processes, servers and a browser, so together they take less time than in turn.
set -uo pipefail
# Each part is a group of its own, which can be ended as a whole.
set -m

targets=("$@")
parts=()
began=$SECONDS

# Interrupted, not ended: a part may have a server to stop.
end() {
    trap - INT TERM
    for part in "${parts[@]}"; do kill -INT -- "-$part" 2>/dev/null; done
    wait
    exit 130
}
trap end INT TERM

for target in "${targets[@]}"; do
    (
        ${MAKE:-make} --no-print-directory "$target" </dev/null 2>&1 | sed -u "s/^/${target#test-} | /"
        status=$?
        echo "$target ended after $((SECONDS - began)) s"
        exit $status
    ) &
    parts+=($!)
done

failed=()
for index in "${!parts[@]}"; do
    wait "${parts[$index]}" || failed+=("${targets[$index]}")
done
[ "${#failed[@]}" = 0 ] || { echo "failed: ${failed[*]}" >&2; exit 1; }
