#!/usr/bin/env bash
# The main job, shown on a copy of this repository's own knowledge base; it changes nothing tracked.
set -euo pipefail
cd "$(dirname "$0")/.."

copy="$PWD/.demo"
rm -rf "$copy"
mkdir -p "$copy"
cp -R docs README.md "$copy/"
mkdir "$copy/kb"
for part in kb/*; do
    [ "$part" = kb/reports ] || cp -R "$part" "$copy/kb/"
done

export COMMONPLACE_ROOT="$copy" COMMONPLACE_ACTOR="human:demo"
unset COMMONPLACE_REVIEW_DB COMMONPLACE_REVIEW_ARTIFACTS
PATH="$PWD/.venv/bin:$PATH"
cd "$copy"

say() { printf '\n\033[1m# %s\033[0m\n' "$*"; }
[ -t 1 ] && [ -z "${NO_COLOR:-}" ] || say() { printf '\n# %s\n' "$*"; }
show() { printf '$ %s\n' "$*"; }
# The first lines of an answer, and how many more there were; a failing command ends the demo.
run() {
    local lines="$1" answer
    shift
    show "$*"
    answer="$("$@")"
    printf '%s\n' "$answer" | awk -v most="$lines" 'NR <= most {print "  " $0} END {if (NR > most) print "  … " NR - most " more lines"}'
}

say "1. Which pairs of note and gate does the embedded reviewer still owe a review?"
run 8 commonplace review_target_selector --all-gates --rules-only --model rules

say "2. Make jobs of them: one prompt per note and lens, from snapshots of the exact texts"
show "commonplace review_target_selector … --json | commonplace create_review_jobs --input - --grouping note"
commonplace review_target_selector --all-gates --rules-only --model rules --json |
    commonplace create_review_jobs --input - --grouping note --json >created.json
python3 - <<'PYTHON'
import json

created = json.load(open("created.json", encoding="utf-8"))
jobs = created["jobs"]
print(f"  {len(jobs)} jobs, {sum(job['pair_count'] for job in jobs)} pairs; the first prompt: {jobs[0]['prompt_path']}")
PYTHON

say "3. Run them: each job is claimed, its output written to a file, and the file ingested"
run 6 commonplace run_review_jobs --all --runner rules

say "4. Where everything stands"
run 13 commonplace review_status

say "5. What wants an edit, with lines"
run 18 commonplace warn_selector

say "6. One rendered review, from the store"
note="$(commonplace warn_selector --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["entries"][0]["note_path"])')"
gate="$(commonplace warn_selector --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["entries"][0]["gate_id"])')"
run 40 commonplace render_review --note "$note" --gate "$gate" --model rules

say "7. Edit the body of that note: one sentence more at its end"
printf '\nThis sentence was added by the demo.\n' >>"$note"
run 40 commonplace review_target_selector frontmatter sentence --rules-only --model rules --diff

say "8. Gates that watch only the title or the description take such an edit as trivial: ack those"
run 12 commonplace ack_trivial_changes --model rules --all-gates

say "9. What stays stale: the gates that read the body, and nothing else"
run 16 commonplace review_target_selector frontmatter sentence --rules-only --model rules

say "Next"
cat <<'TEXT'
  commonplace help                        the commands
  less kb/instructions/run-review-batches-on-note.md    how an agent reviews a note with a model
  commonplace review_init --into DIR      gates, types and instructions for a repository of yours
  make serve                              the pages in a browser
This demo worked in .demo/, a copy: remove it when you like.
TEXT
