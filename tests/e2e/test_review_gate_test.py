"""`review_gate_test`: cases as trials, and that no review is affected by them."""

from __future__ import annotations

import pytest

from review.knowledge_base import Corpus
from review.models import ReviewPair
from tests.builders import PARTITION, make_config, make_gate, make_jobs, make_output, make_root
from tests.helpers.commands import run
from tests.helpers.scripted import MODEL, make_scripted
from tests.helpers.sweeping import command

FOLDER = "kb/instructions/review-gates/prose/x.cases"
WARN = "### Summary\nIt shows.\n\n### Findings\n\n- WARN: It shows.\n  > Twice said.\n\n## Result: WARN"
PASS = "### Summary\nFine.\n\n### Findings\n\n## Result: PASS"
UNKNOWN = "### Summary\nHm.\n\n## Result: HM"
TEST = ("review_gate_test", "prose/x", "--model", PARTITION, "--json")


def case(root, name, text, *lines, folder=FOLDER):
    path = root / folder / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("---\n" + "".join(f"{line}\n" for line in lines) + f"---\n\n{text}")
    return path


@pytest.fixture
def root(tmp_path, monkeypatch):
    make_root(tmp_path, gates={"prose/x": make_gate("prose/x"), "prose/y": make_gate("prose/y")})
    monkeypatch.setenv("COMMONPLACE_ROOT", str(tmp_path))
    case(tmp_path, "doubled", "# Doubled\n\nTwice said.\n", "expect: flag", "severity: fail")
    case(tmp_path, "tempting", "# Tempting\n\nOnce said.\n", "expect: pass", "origin: example")
    return tmp_path


def answer(root, **by_title):
    """Claim the trials that wait and answer each by the title of its case."""
    while (
        taken := run("claim_review_job", "--next", "--trial", "--runner", "h", "--json")
    ).exit == 0:
        (job,) = taken.json["jobs"]
        prompt = (root / job["prompt_path"]).read_text()
        reviews = [text for title, text in by_title.items() if f"# {title.title()}\n" in prompt]
        (root / job["bundle_output_path"]).write_bytes(
            make_output(job["review_job_id"], *(reviews or [PASS]))
        )
        assert run("ingest_bundle_output", "--review-job-id", job["review_job_id"]).exit == 0


@pytest.mark.django_db
class TestTrials:
    def test_are_made_claimed_and_ingested_like_any_job_and_then_tell(self, root):
        made = run(*TEST)
        assert (made.exit, len(made.json["open_job_ids"])) == (0, 2)
        again = run(*TEST)
        assert again.json["open_job_ids"] == made.json["open_job_ids"]

        answer(root, doubled=WARN, tempting=WARN)
        (gate,) = run(*TEST).json["gates"]

        assert gate["hits"] == {"count": 1, "of": 1, "bound": 0.05}
        assert gate["false_alarms"] == {"count": 1, "of": 1, "bound": 0.05}
        doubled, tempting = gate["cases"]
        assert (doubled["decisions"], doubled["missed"], doubled["other_severity"]) == (
            ["warn"], False, 1,
        )  # fmt: skip
        assert (tempting["expect"], tempting["origin"], tempting["missed"]) == (
            "pass", "example", True,
        )  # fmt: skip
        read = run("render_review", "--review-pair-id", doubled["review_pair_ids"][0])
        assert "It shows." in read.out

    def test_a_dry_run_names_the_jobs_and_makes_none(self, root):
        dry = (*TEST, "--repeat", 2, "--dry-run")
        doubled, tempting = (f"{FOLDER}/{name}.md" for name in ("doubled", "tempting"))

        assert run(*dry).json["planned"] == [[doubled], [tempting]] * 2
        assert run(*dry, "--batch-size", 2).json["planned"] == [[doubled, tempting]] * 2
        assert not ReviewPair.objects.exists()
        run(*TEST)
        answer(root, doubled=WARN)

        done = run(*dry)

        assert done.json["planned"] == [[doubled], [tempting]]
        # One case says little: with none missed, up to 95 % of others may be.
        assert done.json["gates"][0]["hits"] == {"count": 1, "of": 1, "bound": 0.05}

    def test_the_prompt_gives_nothing_away(self, root):
        (job_id, _other) = run(*TEST).json["open_job_ids"]
        prompt = (root / f"kb/reports/bundle-reviews/review-job-{job_id}/prompt.md").read_text()

        assert "# Doubled" in prompt or "# Tempting" in prompt
        for word in ("expect", "severity: fail", ".cases", "tempting", "doubled", "origin"):
            assert word not in prompt
        assert "/1: kb/notes/" in prompt

    def test_count_nowhere_but_in_the_costs(self, root):
        make_jobs(root, ("a.md", "prose/x"))
        (root / "kb/reports/bundle-reviews/review-job-1/bundle-output.md").write_bytes(
            make_output(1, PASS)
        )
        run("ingest_bundle_output", "--review-job-id", 1, "--runner", "h")
        reads = (
            ("review_status", "--json"),
            ("review_target_selector", "--all-gates", "--model", PARTITION, "--json"),
            ("warn_selector", "--json"),
            ("warn_selector", "--needs-a-look", "--json"),
            ("export_reviews", "--format", "csv", "--output", "-"),
            ("reread_reviews", "--dry-run", "--json"),
            ("recover_review_jobs", "--json"),
            ("review_doctor", "--check"),
            ("run_review_jobs", "--all", "--runner", "rules", "--json"),
            ("render_review", "--note", "kb/notes/a.md"),
        )  # fmt: skip
        answers = [run(*argv) for argv in reads]
        assert {done.exit for done in answers} <= {0, 3}, answers
        before = [done.out for done in answers]

        run(*TEST, "--repeat", 3)
        assert run("claim_review_job", "--next", "--runner", "h").exit == 3
        queued = [run(*argv).out for argv in reads]
        answer(root, doubled=UNKNOWN, tempting=WARN)
        done = [run(*argv).out for argv in reads]

        assert queued[:7] == before[:7]
        # The doctor counts rows, and a trial is a job of the store.
        assert [one for at, one in enumerate(done) if at != 7] == [
            one for at, one in enumerate(before) if at != 7
        ]
        assert run("review_doctor", "--check").exit == 0
        costs = run("review_status", "--costs", "--json").json["costs"]
        assert [(cost["name"], cost["jobs"]) for cost in costs["purposes"]] == [
            ("review", 1), ("trial", 6),
        ]  # fmt: skip
        listed = run("review_job_list", "--json").json["jobs"]
        assert {job["purpose"] for job in listed} == {"review", "trial"}

    def test_no_decision_makes_a_review_of_one(self, root):
        run(*TEST)
        answer(root, doubled=UNKNOWN)
        pair = ReviewPair.objects.get(decision="unknown")

        refused = run(
            "set_decision", "--review-pair-id", pair.pk, "--as", "warn", "--reason", "seen", "--actor", "human:a", "--json"
        )  # fmt: skip

        assert (refused.exit, refused.error["code"]) == (4, "pair-of-trial")

    @pytest.mark.parametrize("changed", ["gate", "case"])
    def test_of_earlier_texts_count_no_more(self, root, changed):
        run(*TEST)
        answer(root, doubled=WARN)
        assert run(*TEST, "--fail-on", "miss").exit == 0

        if changed == "gate":
            gate = root / "kb/instructions/review-gates/prose/x.md"
            gate.write_text(gate.read_text() + "\nAnd one word more.\n")
        else:
            case(root, "doubled", "# Doubled\n\nSaid twice, twice.\n", "expect: flag")
        done = run(*TEST, "--fail-on", "miss")

        assert done.exit == 6
        (gate,) = done.json["gates"]
        doubled, tempting = gate["cases"]
        assert (doubled["decisions"], doubled["state"]) == ([], "queued")
        assert tempting["decisions"] == ([] if changed == "gate" else ["pass"])

    def test_repeated_tell_which_cases_flip_and_renaming_a_case_loses_nothing(self, root):
        run(*TEST)
        answer(root, doubled=WARN)
        run(*TEST, "--repeat", 2)
        answer(root, doubled=PASS)
        (root / FOLDER / "doubled.md").rename(root / FOLDER / "other.md")

        (gate,) = run(*TEST, "--repeat", 2).json["gates"]

        assert gate["flips"] == {"count": 1, "of": 2, "bound": None}
        # Four runs of two cases say as much as two.
        assert gate["false_alarms"] == {"count": 0, "of": 2, "bound": 0.95}
        assert {case["name"]: case["decisions"] for case in gate["cases"]} == {
            "other": ["warn", "pass"], "tempting": ["pass", "pass"],
        }  # fmt: skip


@pytest.mark.django_db
class TestCases:
    def test_make_nothing_stale_and_are_neither_gates_nor_notes(self, root):
        (root / "kb/review.toml").write_text('[notes]\nroots = ["kb"]\n')

        gates = run("resolve_gates", "--json").json
        with Corpus(make_config(root, note_roots=("kb",))) as corpus:
            notes = [note.path for note in corpus.notes().notes]

        assert [gate["gate_id"] for gate in gates["gates"]] == ["prose/x", "prose/y"]
        assert gates["problems"] == []
        assert "kb/instructions/review-gates/prose/x.md" in notes
        assert not [path for path in notes if ".cases/" in path]

    @pytest.mark.parametrize(
        ("lines", "said"),
        [
            pytest.param([], "no key `expect`; expected flag or pass", id="no-expectation"),
            pytest.param(["expect: warn"], "line 2: expect is 'warn'; expected flag or pass", id="word"),
            pytest.param(["expect: pass", "severity: warn"], "line 3: severity goes with", id="severity"),
            pytest.param(["expect: pass", "donors: x"], "line 3: unknown key 'donors'", id="key"),
        ],
    )  # fmt: skip
    def test_that_cannot_be_read_are_named_and_the_others_tried(self, root, lines, said):
        bad = case(root, "bad", "# Bad\n", *lines)

        done = run(*TEST, "--fail-on", "miss")

        (gate,) = done.json["gates"]
        (problem,) = gate["problems"]
        assert done.exit == 6
        assert (problem["path"], problem["code"]) == (
            bad.relative_to(root).as_posix(), "invalid-case",
        )  # fmt: skip
        assert said in problem["message"]
        assert len(gate["cases"]) == 2

    def test_that_nobody_has_kept_are_tried_and_do_not_count(self, root):
        case(root, "seeded", "# Seeded\n\nA line.\n", "expect: flag", "draft: true")
        run(*TEST)
        answer(root, doubled=WARN)

        done = run(*TEST, "--fail-on", "miss")

        assert done.exit == 0
        assert done.json["gates"][0]["hits"]["count"] == 1
        people = run(*TEST[:-1]).out
        assert f"{FOLDER}/seeded.md (draft): expected flag: pass" in people

    def test_a_gate_without_any_is_nothing_to_do(self, root):
        assert run("review_gate_test", "prose/y", "--rules").exit == 3


@pytest.mark.django_db
def test_rules_judge_at_once_and_trip_where_a_case_is_missed(root):
    gate = make_gate("links/z", rule="vague-link-text")
    (root / "kb/instructions/review-gates/links").mkdir()
    (root / "kb/instructions/review-gates/links/z.md").write_text(gate)
    folder = FOLDER.replace("prose/x", "links/z")
    case(root, "here", "# A\n\nRead on [here](a.md).\n", "expect: flag", folder=folder)
    rules = ("review_gate_test", "links", "--rules", "--fail-on", "miss", "--json")
    assert run(*rules).exit == 0
    assert run(*rules, "--repeat", 2, "--dry-run").json["planned"] == []

    case(root, "named", "# A\n\nRead [the plan](a.md).\n", "expect: flag", folder=folder)
    done = run(*rules)

    assert done.exit == 6
    assert done.json["gates"][0]["hits"] == {"count": 1, "of": 2, "bound": None}
    assert not ReviewPair.objects.exists()


@pytest.mark.own_stores
def test_a_runner_answers_the_cases_and_nothing_twice(tmp_path):
    base = make_scripted(tmp_path, notes=1)
    case(base.root, "flat", "# Flat\n\nOnce said.\n", "expect: pass")
    case(base.root, "doubled", "# Doubled\n\nTwice said.\n", "expect: flag")
    argv = ("review_gate_test", "prose/x", "--model", MODEL, "--runner", "scripted")

    first = command(base, *argv, "--fail-on", "miss", "--json")
    second = command(base, *argv)

    assert (first.exit, second.exit) == (6, 0)
    assert first.json["gates"][0]["hits"] == {"count": 0, "of": 1, "bound": 0.95}
    assert f"{FOLDER}/doubled.md: expected flag: pass [pair " in second.out
    assert base.calls().total() == 2
