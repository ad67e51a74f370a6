"""The gates, types and starter files that we ship keep the contract they describe."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from pathlib import Path

import pytest
import yaml

from review.settings import Config
from review.settings.file import Partition, read_settings
from review.vocabulary import Region

ROOT = Path(__file__).resolve().parents[3]
GATES_FOLDER = ROOT / Config.gates_folder
GATES = sorted(GATES_FOLDER.glob("*/*.md"))
TYPES = sorted((ROOT / "kb" / "types").glob("*.md"))
STARTER = ROOT / "review" / "starter"
SECTIONS = ["## Failure mode", "## Test", "## Example (fail)", "## Example (pass)"]
KEYS = {
    "type",
    "gate_id",
    "name",
    "lens",
    "watches",
    "reads",
    "staleness",
    "requires_type",
    "requires_trait",
    "applies_to",
    "language",
    "description",
    "rule",
    "severity",
}
LENSES_OF_RULES_ONLY = {"links", "markup"}


def gate_id(path: Path) -> str:
    return path.relative_to(GATES_FOLDER).with_suffix("").as_posix()


def parts(path: Path) -> tuple[dict[str, object], str]:
    _empty, block, body = path.read_text(encoding="utf-8").split("---\n", 2)
    return yaml.safe_load(block), body


def headings(body: str) -> list[str]:
    """Heading lines outside fences."""
    found, fence = [], ""
    for line in body.splitlines():
        mark = re.match(r"(`{3,})", line)
        if mark and not fence:
            fence = mark[1]
        elif mark and line.strip() == fence:
            fence = ""
        elif not fence and line.startswith("#"):
            found.append(line)
    return found


every_gate = pytest.mark.parametrize("path", [pytest.param(p, id=gate_id(p)) for p in GATES])


class TestGate:
    @every_gate
    def test_says_where_it_stands(self, path):
        fields, body = parts(path)

        assert fields["type"] == "kb/types/review-gate.md"
        assert fields["gate_id"] == gate_id(path)
        assert fields["lens"] == gate_id(path).split("/")[0]
        assert headings(body)[0] == f"# {fields['name']}"

    @every_gate
    def test_has_the_known_keys_with_values_that_are_understood(self, path):
        fields, _body = parts(path)

        assert set(fields) <= KEYS
        assert {"watches", "staleness", "description"} <= set(fields)
        assert fields["watches"]
        assert set(fields["watches"]) <= set(Region.values)
        assert re.fullmatch(r"changed|rewrite\(0\.[1-9]\)", fields["staleness"])

    @every_gate
    def test_describes_itself_in_a_sentence_that_fits_a_list(self, path):
        fields, _body = parts(path)

        assert 40 <= len(fields["description"]) <= 200
        assert fields["description"].endswith(".")

    @every_gate
    def test_has_the_four_sections_in_order(self, path):
        _fields, body = parts(path)

        assert headings(body)[1:] == SECTIONS

    @every_gate
    def test_says_where_its_decisions_begin(self, path):
        test = parts(path)[1].split("## Test\n")[1].split("## Example (fail)")[0]

        assert "- PASS: " in test
        assert re.search("^- (INFO|WARN|FAIL): ", test, re.MULTILINE)

    @every_gate
    def test_for_models_alone_ends_its_test_with_what_is_worth_a_report(self, path):
        fields, body = parts(path)
        paragraphs = body.split("## Test\n")[1].split("## Example (fail)")[0].strip().split("\n\n")

        marked = [p.startswith("**Before you report:** ") for p in paragraphs]

        assert sum(marked) == marked[-1] == ("rule" not in fields)

    @every_gate
    def test_names_neighbours_that_exist(self, path):
        lenses = "|".join({p.parent.name for p in GATES})
        named = re.findall(rf"`((?:{lenses})/[a-z0-9-]+)`", parts(path)[1])

        assert [name for name in named if not (GATES_FOLDER / f"{name}.md").is_file()] == []

    @every_gate
    def test_needs_types_that_exist(self, path):
        wanted = parts(path)[0].get("requires_type")

        assert wanted is None or (ROOT / wanted).is_file()

    @every_gate
    def test_with_a_rule_counts_every_edit_because_rules_cost_nothing(self, path):
        fields, _body = parts(path)

        assert "rule" not in fields or fields["staleness"] == "changed"


class TestCatalogue:
    def test_covers_the_lenses(self):
        count = Counter(p.parent.name for p in GATES)

        assert set(count) >= {
            "frontmatter",
            "prose",
            "accessibility",
            "semantic",
            "structure",
            "sentence",
        }
        assert min(count.values()) >= 3

    def test_has_whole_lenses_that_cost_nothing(self):
        without_rule = {p.parent.name for p in GATES if "rule" not in parts(p)[0]}

        assert LENSES_OF_RULES_ONLY.isdisjoint(without_rule)

    def test_has_one_gate_for_a_rule_at_most(self):
        rules = Counter(rule for p in GATES if (rule := parts(p)[0].get("rule")))

        assert [rule for rule, times in rules.items() if times > 1] == []

    def test_uses_names_only_once(self):
        names = Counter(parts(p)[0]["name"] for p in GATES)

        assert [name for name, times in names.items() if times > 1] == []


class TestTypes:
    @pytest.mark.parametrize("path", [pytest.param(p, id=p.stem) for p in TYPES])
    def test_are_references_with_a_description(self, path):
        fields, body = parts(path)

        assert fields["type"] == "kb/types/reference.md"
        assert len(fields["description"]) <= 200
        assert len([line for line in headings(body) if line.startswith("# ")]) == 1

    def test_of_a_gate_lists_exactly_the_keys_there_are(self):
        body = parts(ROOT / "kb" / "types" / "review-gate.md")[1]

        assert set(re.findall(r"^\| `([a-z_]+)` \|", body, re.MULTILINE)) == KEYS


class TestStarter:
    def test_settings_are_accepted_as_they_are_and_set_nothing(self):
        assert read_settings(STARTER / "review.toml") == {}

    def test_settings_show_the_defaults(self, tmp_path):
        shown = re.sub(
            r"(?m)^# ?((?:[a-z_]+ = .*|\[broker\]|\[(?:partitions|runners|workers)\..*\]))$",
            r"\1",
            (STARTER / "review.toml").read_text(encoding="utf-8"),
        )
        copy = tmp_path / "review.toml"
        copy.write_text(shown, encoding="utf-8")

        settings = read_settings(copy)

        assert settings.pop("runners")
        assert settings.pop("workers")
        assert settings.pop("broker_url"), "an example: there is no broker by default"
        assert settings.pop("sweep_max_cost_usd"), "an example: there is no limit by default"
        assert settings.pop("contracts"), "an example: there are none by default"
        assert settings.pop("anchors"), "an example: by default it follows from the flavour"
        assert settings.pop("site_root"), "an example: there is none by default"
        assert settings == {
            "note_roots": Config.note_roots,
            "excludes": (),
            "max_note_bytes": Config.max_note_bytes,
            "uses_cache": True,
            "flavour": "commonmark",
            "strips_comments": False,
            "max_gates": Config.max_gates,
            "lease": Config.lease,
            "gates_folder": Config.gates_folder,
            "abandoned_after": Config.abandoned_after,
            "max_prompt_tokens": Config.max_prompt_tokens,
            "sweep_jobs": Config.sweep_jobs,
            "sweep_timeout": Config.sweep_timeout,
            "sweep_attempts": Config.sweep_attempts,
            "partitions": {
                "careful": Partition(
                    "careful", ("some-model-4-6", "other-model-2"), any_effort=True
                )
            },
        }

    def test_manifest_names_files_that_exist(self):
        manifest = tomllib.loads((STARTER / "manifest.toml").read_text(encoding="utf-8"))

        missing = [
            entry["from"]
            for entry in manifest["copy"]
            if not (STARTER / entry["from"]).exists() and not (ROOT / entry["from"]).exists()
        ]

        assert missing == []

    def test_gates_leave_to_others_only_what_gates_of_the_set_judge(self):
        manifest = tomllib.loads((STARTER / "manifest.toml").read_text(encoding="utf-8"))
        without = {name for entry in manifest["copy"] for name in entry.get("without", ())}
        copied = [path for path in GATES if f"review-gates/{gate_id(path)}.md" not in without]
        lenses = "|".join({path.parent.name for path in GATES})

        named = {
            name
            for path in copied
            for name in re.findall(
                rf"`((?:{lenses})/[a-z0-9-]+)`", path.read_text(encoding="utf-8")
            )
        }

        assert named - {gate_id(path) for path in copied} == set()
