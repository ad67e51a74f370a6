"""After a file or folder was moved: accept at the new path what is accepted at the old one, where
the text is the same byte for byte, with what was decided about findings. What was carried from a
path that is gone is no orphan any more. With --retire: take what is accepted for files that are
gone for good out of the queue and the orphans.

    commonplace carry_over_acceptances kb/notes/a.md kb/notes/archive/a.md --dry-run
    commonplace carry_over_acceptances kb/instructions/review-gates/prose kb/instructions/review-gates/style
    commonplace carry_over_acceptances --retire kb/notes/deleted.md --reason 'merged into b.md'
"""

from __future__ import annotations

from collections import Counter, defaultdict

from review.acceptance.carry_over import CarryOverJson, CarryRequest, carry_over_acceptances
from review.management import kit


class Command(kit.ReviewCommand):
    exit_codes = {
        kit.ExitCode.CONFLICT: "an acceptance was refused (named; the others were carried), or none could be carried",
        kit.ExitCode.INPUT_REJECTED: "nothing is accepted at the old path, or a path is none",
    }
    arguments = {
        "old_path OLD_PATH": "file or folder, as it was",
        "[new_path NEW_PATH]": "where it is now",
        "--retire": "OLD_PATH is gone for good: no NEW_PATH",
        "--edited": "carry over what was edited too: the pair is stale at the new path, not"
        " missing",
        "--reason R": "why it is retired",
        "--model PARTITION": "only of this one",
        "--dry-run": "say what would be carried",
        **kit.ACTOR,
    }

    def run(self, options: kit.Options) -> None:
        if options["retire"] is (options["new_path"] is not None):
            raise kit.UsageRefused("give OLD_PATH and NEW_PATH, or --retire and OLD_PATH alone")
        request = kit.request_of(CarryRequest, options, new_path=options["new_path"])
        result = carry_over_acceptances(request, corpus=self.corpus, now=self.now)
        done = (result.carried or result.retired or result.superseded) and not result.refused
        code = kit.ExitCode.DONE if done else kit.ExitCode.CONFLICT
        self.show(result, self._lines(result), warnings=self._left(result), code=code)

    def _lines(self, result: CarryOverJson) -> kit.Lines:
        """Yield a line for each file that moved, with what was carried by partition."""
        verbs = (
            ("would carry over", "would retire") if result.dry_run else ("carried over", "retired")
        )
        files: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for item in (*result.carried, *result.retired):
            is_note = f"{item.old_note_path}/".startswith(f"{result.old_path}/")
            counts = files[item.note_path if is_note else item.gate_path]
            counts += Counter({item.model_partition: 1, "decided findings": item.dispositions})
        for path, counts in files.items():
            told = ", ".join(f"{name}: {number}" for name, number in counts.items())
            yield f"{verbs[bool(result.retired)]}: {path} ({told})"
        if result.superseded:
            why = "reviewed since at the new path"
            yield f"{verbs[1]} at the old path, as they were {why}: {len(result.superseded)}"
            decided = sum(item.dispositions for item in result.superseded)
            yield from [f"decided findings carried over: {decided}"] if decided else ()

    def _left(self, result: CarryOverJson) -> kit.Lines:
        for (code, message), number in Counter(
            (item.code, item.message) for item in (*result.refused, *result.not_identical)
        ).items():
            why = "not identical" if code == "not-identical" else "refused"
            yield f"{why}: {message}" + f" (pairs: {number})" * (number > 1)
