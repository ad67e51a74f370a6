"""What a note, a gate, a review, a name or an argument could do to the terminal that shows it."""

from __future__ import annotations

import json

import pytest

from review.models import Finding
from review.protocol.output import strip_escapes
from tests.builders import PARTITION, make_jobs, make_output, make_root, write_gate, write_note
from tests.helpers.commands import run
from tests.helpers.forked import run_forked
from tests.security.hostile_texts import ACTS, ESCAPES, EVIL_REVIEW

QUEUED = "b.md"


def unsafe(result) -> list[str]:
    """The characters of an answer that a terminal would obey."""
    return ACTS.findall(result.out.replace("\r\n", "\n") + result.err)


@pytest.fixture
def marked(root, reviewed) -> str:
    """The fingerprint of a finding that was rejected with a reason that tries to act."""
    write_note(root, QUEUED, f"---\ntitle: [{ESCAPES}\n---\n# {ESCAPES}\n")
    write_note(root, "c.md", f"---\ntype: '{ESCAPES}'\n---\n# C\n")
    write_gate(root, "prose/bad", f"---\nwatches: ['{ESCAPES}']\n---\n# Bad\n{ESCAPES}\n")
    write_gate(root, "prose/worse", f"---\nstaleness: '{ESCAPES}'\n---\n# Worse\n")
    (root / "kb" / "notes" / f"{ESCAPES.replace('/', '')}.md").write_text("# Named\n")
    mark = Finding.objects.filter(pair_id=reviewed).values_list("fingerprint", flat=True)[0]
    assert run("dispose_finding", mark, "--as", "rejected", "--reason", ESCAPES).exit == 0
    return mark


def calls(pair_id: int, mark: str, pack: str) -> list[tuple[object, ...]]:
    """Each command, as text and as JSON, on what tries to act."""
    texts: list[tuple[object, ...]] = [
        ("review_target_selector", "--all-gates", "--model", PARTITION, "--diff"),
        ("review_target_selector", "--all-gates", "--model", ESCAPES),
        ("review_target_selector", ESCAPES, "--model", PARTITION),
        ("review_target_selector", "prose", "--note", ESCAPES),
        ("create_review_jobs", "--input", pack, "--grouping", "note"),
        ("create_review_jobs", "--input", ESCAPES, "--grouping", "note"),
        ("claim_review_job", "--review-job-id", 1, "--runner", ESCAPES),
        ("claim_review_job", "--review-job-id", ESCAPES, "--runner", "x"),
        ("ingest_bundle_output", "--review-job-id", 1, "--input-file", ESCAPES),
        ("ack_gate_review", "--model", PARTITION, ESCAPES, "prose/x"),
        ("ack_trivial_changes", "--model", PARTITION, "--all-gates", "--dry-run"),
        ("carry_over_acceptances", ESCAPES, "kb/notes/z.md"),
        ("override_acceptance", "--model", PARTITION, "kb/notes/a.md", ESCAPES, "--reason", ESCAPES, "--actor", "human:a"),
        ("set_decision", "--review-pair-id", pair_id, "--as", "pass", "--reason", ESCAPES, "--actor", ESCAPES),
        ("warn_selector",), ("warn_selector", "--needs-a-look"), ("warn_selector", "--format", "csv"),
        ("warn_selector", "--status", "rejected", "open", "--format", "csv"),
        ("warn_selector", "--note", ESCAPES), ("warn_selector", f"--{ESCAPES}"),
        ("dispose_finding", mark, "--as", ESCAPES), ("dispose_finding", ESCAPES, "--as", "open"),
        ("fix_prompt", "kb/notes/a.md"), ("fix_prompt", ESCAPES),
        ("recover_review_jobs",), ("recover_review_jobs", ESCAPES),
        ("review_job_list",), ("review_status",), ("resolve_gates",), ("resolve_gates", "--note", "kb/notes/c.md"),
        ("render_review", "--review-pair-id", pair_id), ("render_review", "--note", "kb/notes/a.md"),
        ("render_review", "--note", ESCAPES), ("export_reviews", "--format", "csv", "--output", "-"),
        ("export_reviews", "--format", "markdown"), ("export_reviews", "--format", ESCAPES),
        ("review_doctor",), ("review_init", "--into", ESCAPES, "--dry-run"), (ESCAPES,),
    ]  # fmt: skip
    return [item for item in texts if item[0] != ESCAPES]


class TestEveryCommand:
    def test_writes_nothing_that_acts(self, root, reviewed, marked, tmp_path):
        pack = tmp_path / "selection.json"
        pack.write_bytes(
            run(
                "review_target_selector", "--all-gates", "--model", PARTITION, "--json"
            ).out.encode()
        )

        for name, *arguments in calls(reviewed, marked, str(pack)):
            for flags in ([], ["--json"]):
                result = run(name, *arguments, *flags)

                assert not unsafe(result), (name, arguments, flags)
                assert "Traceback" not in result.err, (name, arguments, flags)

    def test_says_all_the_same_what_was_written(self, root, reviewed):
        shown = run("render_review", "--review-pair-id", reviewed).out

        assert "\x1b" not in shown  # escape sequences are removed when a review is read
        assert r"\x9b31m\u202etxt\u2066" in shown

    def test_json_means_what_was_written(self, root, reviewed):
        document = json.loads(run("render_review", "--review-pair-id", reviewed, "--json").out)

        assert strip_escapes(ESCAPES) in document["reviews"][0]["text"]

    def test_of_an_output_tells_its_words_escaped(self, root, db):
        (job,) = make_jobs(root, ("a.md", "prose/x"))
        told = f"self-reported-model: {ESCAPES}\n".encode() + make_output(
            job.review_job_id, EVIL_REVIEW
        )
        (root / job.bundle_output_path).write_bytes(told)

        result = run("ingest_bundle_output", "--review-job-id", job.review_job_id)

        assert result.exit == 0
        assert not unsafe(result)


class TestTheWay:
    """What is told before a command begins: the program's own words, settings, places."""

    def test_a_command_s_name_cannot_act(self, root):
        result = run_forked(ESCAPES.replace("\0", ""), root=root)

        assert result.exit == 2
        assert not unsafe(result)

    @pytest.mark.parametrize("flags", [[], ["--json"]])
    def test_settings_cannot_act(self, tmp_path, flags):
        make_root(tmp_path, settings='[notes]\nroots = ["\\u001b]0;x\\u0007"]\n"\\u009b" = 1\n')

        result = run_forked("review_status", *flags, root=tmp_path)

        assert result.exit == 5
        assert not unsafe(result)

    def test_a_place_cannot_act(self, tmp_path):
        place = tmp_path / ESCAPES.replace("/", "")
        make_root(place)

        result = run_forked(
            "review_status", root=place, env={"COMMONPLACE_REVIEW_DB": str(place / "kb")}
        )

        assert result.exit != 0
        assert not unsafe(result)

    def test_a_user_s_name_cannot_act(self, tmp_path):
        make_root(tmp_path)
        pack = run_forked(
            "review_target_selector", "prose/x", "--model", "m", "--json", root=tmp_path
        ).out
        user = {"COMMONPLACE_ACTOR": "", "LOGNAME": f"{ESCAPES}{'x' * 3000}\nb"}

        result = run_forked(
            "create_review_jobs",
            "--input",
            "-",
            "--grouping",
            "note",
            "--json",
            root=tmp_path,
            stdin=pack,
            env=user,
        )
        events = run_forked("review_job_list", "--json", root=tmp_path)

        assert result.exit == 0, result.err
        assert not unsafe(result)
        assert not unsafe(events)
