"""More commands that are struck: many jobs at once, runners, sweeps, forms, copies and exports."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing

from tests.builders import NOTE, PASS, make_gate, make_root, write_note
from tests.crash import scenarios as known
from tests.crash.harness import commands
from tests.crash.scenarios import SCENARIOS, Layer, Scenario, line
from tests.helpers.reviewed import FAIL, WARN
from tests.helpers.scripted import MODEL, SETTINGS
from tests.stores.make import kept_stores, unpack

_MANY = 6
_ONE_AT_A_TIME = {"review.ingest.ingest.JOBS_PER_TRANSACTION": 1}
_TWO_AT_A_TIME = {"review.ingest.ingest.JOBS_PER_TRANSACTION": 2}


def _many_queued(layer: Layer) -> None:
    notes = {f"n{number}.md": NOTE for number in range(_MANY)}
    gates = {"prose/x": make_gate("prose/x"), "prose/y": make_gate("prose/y", watches="[title]")}
    make_root(layer.root, notes=notes, gates=gates)
    layer.create()


def _many_written(layer: Layer) -> None:
    """One of them holds no review at all, one half of what was asked for, and one is closed."""
    _many_queued(layer)
    for job_id in range(1, _MANY + 1):
        layer.output(job_id, WARN, FAIL if job_id % 2 else PASS)
    layer.call("garble_output", job_id=3)
    layer.output(4, WARN, only=[1])
    layer.run("ingest_bundle_output", "--review-job-id", "5")


def _many_given_up(layer: Layer) -> None:
    _many_written(layer)
    layer.run("claim_review_job", "--next", "--limit", "5", "--runner", "r")


def _fresh(layer: Layer) -> None:
    known.knowledge_base(layer.root)
    layer.review()
    layer.create()


def _decided(layer: Layer) -> None:
    """A decision about a finding, and a later review that finds it again."""
    known.knowledge_base(layer.root)
    layer.review()
    layer.run("form", "dispose-all", "--json")
    write_note(layer.root, "a.md", f"{NOTE}\nAnd one line more.\n")
    layer.create("--note", "kb/notes/a.md")
    layer.output(3, WARN, WARN)


def _superseded(layer: Layer) -> None:
    _decided(layer)
    layer.run("ingest_bundle_output", "--review-job-id", "3")


def _with_a_folder(layer: Layer) -> None:
    known.knowledge_base(layer.root)
    layer.review()
    (layer.root / "new").mkdir()


def _backed_up(layer: Layer) -> None:
    """An older backup, which holds something else."""
    _with_a_folder(layer)
    layer.run("review_doctor", "--backup", "new/b.sqlite")
    with closing(sqlite3.connect(layer.root / "new" / "b.sqlite")) as backup, backup:
        backup.execute("DELETE FROM review_job_events")


def _exported(layer: Layer) -> None:
    _superseded(layer)
    (layer.root / "new").mkdir()


def _hired(layer: Layer) -> None:
    """Notes for the scripted runner, queued."""
    notes = {f"n{number}.md": f"# Note\n\nThe text of note {number}.\n" for number in range(2)}
    gates = {"prose/x": make_gate("prose/x")}
    make_root(layer.root, notes=notes, gates=gates, settings=SETTINGS)
    layer.run("review_job_list")


def _hired_and_queued(layer: Layer) -> None:
    _hired(layer)
    select = ("review_target_selector", "--all-gates", "--model", MODEL, "--json", "--no-cache")
    (layer.root / known.SELECTION).write_text(layer.run(*select))
    layer.run(
        "create_review_jobs", "--input", "-", "--grouping", "note", stdin=known.SELECTION
    )  # fmt: skip


def _to_be_mended(layer: Layer) -> None:
    _hired_and_queued(layer)
    finding = WARN.replace("A reader finds a note by its title", "The text of note")
    for job_id in (1, 2):
        layer.output(job_id, finding)
    layer.run("ingest_bundle_output", "--ready", "--all-actors")


def _with_rules(layer: Layer) -> None:
    make_root(
        layer.root,
        notes={"a.md": "# A\n\nThe the words.\n", "b.md": "# B\n\nAll is well.\n"},
        gates={"sentence/twice": known.RULE_GATE},
    )
    layer.run("review_job_list")


def _of_an_older_schema(layer: Layer) -> None:
    unpack(sorted(kept_stores())[0], layer.root)


def _beside(layer: Layer) -> None:
    """A store under another name than the one that is used."""
    known.knowledge_base(layer.root)
    layer.review()
    reports = layer.root / "kb" / "reports"
    (reports / "review-store.sqlite").rename(reports / "source.sqlite")
    # To an empty store they are another's.
    shutil.rmtree(reports / "bundle-reviews")


_SWEEP = f"review_sweep --all-gates --runner scripted --model {MODEL} --jobs 1"
_FIX = "review_sweep --fix --runner scripted --jobs 1 --json"
_ALL = "ingest_bundle_output --review-job-id 1 2 3 4 5 6"

WIDER = (
    Scenario("claim-many", _many_queued, line("claim_review_job --next --limit 4 --runner r"),
             whole=False, accepts=True),
    Scenario("create-by-gate", known.selected,
             line("create_review_jobs --input - --grouping gate --batch-size 2", stdin=known.SELECTION)),
    Scenario("create-again", _fresh,
             line("create_review_jobs --input - --grouping note --force", stdin=known.SELECTION),
             accepts=True),
    Scenario("ingest-many", _many_written, line(_ALL), whole=False),
    Scenario("ingest-many-in-turns", _many_written, line(_ALL), whole=False, settings=_TWO_AT_A_TIME),
    Scenario("ingest-many-one-by-one", _many_written, line(_ALL), whole=False, settings=_ONE_AT_A_TIME),
    Scenario("ingest-many-ready", _many_written, line("ingest_bundle_output --ready --all-actors"),
             whole=False),
    Scenario("ingest-many-all-or-nothing", _many_written, line(f"{_ALL} --all-or-nothing"), whole=False),
    Scenario("ingest-what-was-decided", _decided, line("ingest_bundle_output --review-job-id 3")),
    Scenario("recover-many-ingest", _many_given_up, line("recover_review_jobs --action ingest 1 2 3 4 6"), whole=False),
    Scenario("recover-many-fail", _many_given_up, line("recover_review_jobs --action fail 1 2 3 4 6"), whole=False),
    Scenario("recover-many-replace", _many_given_up, line("recover_review_jobs --action replace 1 2 3 4 6"),
             whole=False),
    Scenario("form-dispose-all", known.reviewed, line("form dispose-all")),
    Scenario("form-take-back", known.reviewed, line("form take-back"), whole=False, accepts=True),
    Scenario("form-ack", known.edited, line("form ack")),
    Scenario("form-request", known.reviewed, line("form request"), accepts=True),
    Scenario("prune-superseded", _superseded, line("review_doctor --prune --superseded --yes"),
             accepts=True),
    Scenario("backup", _exported, line("review_doctor --backup new/b.sqlite"), of_files=True),
    Scenario("backup-over", _backed_up, line("review_doctor --backup new/b.sqlite --overwrite"), of_files=True),
    Scenario("export", _exported, line("export_reviews --format markdown --output new/exported"), of_files=True),
    Scenario("export-index", _exported, line("export_reviews --format csv --output new/index.csv"), of_files=True),
    Scenario("fix-prompt", _with_a_folder, line("fix_prompt kb/notes/b.md --output new/fix.md"), of_files=True),
    Scenario("migrate", _of_an_older_schema, commands("migrate")[0], every=8, tells=False),
    Scenario("copy-a-store", _beside,
             line("review_store_copy --from kb/reports/source.sqlite --to kb/reports/review-store.sqlite"),
             whole=False, every=8),
    Scenario("sweep-by-rules", _with_rules,
             line("review_sweep --all-gates --runner rules --model rules"), whole=False, accepts=True),
    Scenario("run-a-runner", _hired_and_queued,
             line("run_review_jobs --all --runner scripted --jobs 1"), whole=False, accepts=True,
             again=(line("recover_review_jobs --action replace"),
                    line("run_review_jobs --all --runner scripted --jobs 1"))),
    Scenario("sweep", _hired, line(_SWEEP), whole=False, accepts=True),
    Scenario("mend", _to_be_mended, line(f"{_FIX} --apply"), of_files=True,
             env={"FAKE_SCRIPT": json.dumps({"*": "mend"})}),
)  # fmt: skip
BY_NAME = {scenario.name: scenario for scenario in (*SCENARIOS, *WIDER)}
