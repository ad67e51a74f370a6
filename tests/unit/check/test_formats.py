"""The formats of other tools, with texts and names that try to act in them."""

from __future__ import annotations

import json
import re
from xml.etree import ElementTree

import pytest
from markdown_it import MarkdownIt

from review.check.formats import CheckFindingJson, NotesCheckJson, Report
from review.domain.problems import Problem
from review.knowledge_base.gate_definition import read_gate
from review.management.kit.output import FORMATS
from review.selection.documents import PairReasonJson
from tests.builders import gate_path, make_gate
from tests.hostile import HOSTILE, harmless

NOTE = "kb/notes/a.md"
ACTIVE = [
    *HOSTILE,
    pytest.param("a\n::error file=x::b\r\n::set-output name=x::y", id="workflow-command"),
    pytest.param("a ##[error]b", id="old-workflow-command"),
    pytest.param("]]></failure><x/>&amp;\ufffe", id="xml"),
    pytest.param("@ana #12 `` a ``` b `", id="mention-and-backticks"),
    pytest.param("\x1b]0;x\x07\u202e\x9b31m", id="terminal"),
    pytest.param("100%0A::error::x", id="percent"),
]


def finding(**fields):
    given = {
        "note_path": NOTE, "gate_id": "prose/x", "model_partition": "m", "severity": "warn",
        "text": "a claim has no source", "quote": "A reader", "line": 3,
        "fingerprint": "0123456789abcdef", "new": None,
    }  # fmt: skip
    return CheckFindingJson(**given | fields)


def report(*findings, stale=(), problems=(), pairs=None, prefix=""):
    gate = read_gate(path=gate_path("prose/x"), gate_id="prose/x", text=make_gate("prose/x"))
    document = NotesCheckJson(
        notes=1, gates=1, pairs=1, findings=list(findings), stale=list(stale),
        problems=list(problems), notices=[],
    )  # fmt: skip
    found = dict.fromkeys((item.note_path, item.gate_id) for item in [*findings, *stale])
    return Report(document, (gate,), tuple(pairs or found), prefix)


def written(name, *findings, **more):
    return "".join(f"{line}\n" for line in FORMATS[name][0](report(*findings, **more)))


STALE = PairReasonJson(note_path=NOTE, gate_id="prose/y", reason="note-changed")
PROBLEM = Problem(path="kb/notes/b.md", code="not-utf8", message="no text", skipped=True)


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_of_the_format_is_known_by_its_start(name):
    assert written(name, finding()).startswith(FORMATS[name][1])


class TestGitHub:
    def test_a_command_a_finding_the_gravest_first_after_the_summary(self):
        lines = written(
            "github", finding(), finding(severity="fail", line=None, new=True), stale=[STALE],
            problems=[PROBLEM], prefix="docs/",
        ).splitlines()  # fmt: skip

        assert lines == [
            "::notice title=review_check::1 note by 1 gate: 1 fail, 1 warn, 0 info, 1 new,"
            " 1 stale pair, 1 problem",
            "::error file=docs/kb/notes/a.md,line=1,title=prose/x (new)::a claim has no source",
            "::warning file=docs/kb/notes/a.md,line=3,title=prose/x::a claim has no source",
            "::notice file=docs/kb/notes/a.md,title=stale::stale pairs: 1 note-changed",
            "::warning file=docs/kb/notes/b.md,title=not-utf8::no text",
        ]

    @pytest.mark.parametrize("text", ACTIVE)
    def test_no_text_or_name_makes_a_command(self, text):
        lines = written("github", finding(text=text, note_path=f"kb/{text}.md")).splitlines()

        assert len(lines) == 2
        # The runner reads the first command of a line; properties end at the second pair of colons.
        command, properties, _message = lines[1].split("::", 2)[1].partition(" ")[0], *lines[1].split("::", 2)[1:]  # fmt: skip
        assert (command, properties.count(",")) == ("warning", 2)


class TestSarif:
    def test_holds_rules_results_and_fingerprints(self):
        document = json.loads(written("sarif", finding(new=False), finding(severity="fail", line=None), stale=[STALE]))  # fmt: skip

        (run,) = document["runs"]
        (rule,) = run["tool"]["driver"]["rules"]
        assert (rule["id"], rule["help"]["text"].startswith("# x")) == ("prose/x", True)
        first, second = run["results"]
        assert (first["level"], first["baselineState"]) == ("warning", "unchanged")
        assert first["partialFingerprints"] == {"commonplaceFinding/v1": "0123456789abcdef"}
        assert first["locations"][0]["physicalLocation"] == {
            "artifactLocation": {"uri": NOTE, "uriBaseId": "%SRCROOT%"},
            "region": {"startLine": 3, "snippet": {"text": "A reader"}},
        }
        assert second["level"] == "error"

    @pytest.mark.parametrize("text", ACTIVE)
    def test_an_address_is_escaped_and_no_message_holds_a_link(self, text):
        (run,) = json.loads(written("sarif", finding(text=text, note_path=f"kb/{text}.md")))["runs"]

        (result,) = run["results"]
        uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        assert re.fullmatch(r"[\w./%~-]+", uri, re.ASCII)
        assert not re.search(r"(?<!\\)\]\(", result["message"]["text"])


class TestRdjsonl:
    def test_a_diagnostic_a_line(self):
        first, second = written(
            "rdjsonl", finding(), finding(severity="fail", line=None)
        ).splitlines()

        assert json.loads(first) == {
            "message": "a claim has no source",
            "location": {"path": NOTE, "range": {"start": {"line": 3}}},
            "severity": "WARNING",
            "source": {"name": "commonplace-review"},
            "code": {"value": "prose/x"},
        }
        assert json.loads(second)["location"] == {"path": NOTE}


class TestJunit:
    def test_a_case_a_pair(self):
        text = written(
            "junit", finding(), finding(severity="fail", text="two"), stale=[STALE],
            pairs=[(NOTE, "prose/x"), (NOTE, "prose/y"), (NOTE, "prose/z")],
        )  # fmt: skip

        root = ElementTree.fromstring(text)  # noqa: S314
        (suite,) = root
        assert (
            suite.attrib | {"name": NOTE, "tests": "3", "failures": "1", "skipped": "1"}
            == suite.attrib
        )
        failed, skipped, passed = suite
        assert (failed.attrib["name"], failed[0].attrib["type"]) == ("prose/x", "fail")
        assert "line 3: fail: two" in failed[0].text
        assert skipped[0].attrib["message"] == "stale: note-changed"
        assert len(passed) == 0

    @pytest.mark.parametrize("text", ACTIVE)
    def test_any_text_and_name_is_text(self, text):
        document = written("junit", finding(text=text, note_path=f"kb/{text}.md", gate_id=text))

        root = ElementTree.fromstring(document)  # noqa: S314
        assert [element.tag for element in root.iter()] == [
            "testsuites",
            "testsuite",
            "testcase",
            "failure",
        ]


class TestMarkdown:
    @pytest.mark.parametrize("text", ACTIVE)
    def test_every_text_and_name_is_in_code(self, text):
        document = written(
            "markdown",
            finding(text=text, note_path=f"kb/{text}.md", gate_id=text),
            problems=[Problem(path=text, code="x", message=text, skipped=True)],
        )

        html = MarkdownIt("gfm-like", {"html": True, "linkify": False}).render(document)
        assert harmless(html)
        outside = re.sub(r"<code>.*?</code>", "", html)
        assert not re.search(r"alert|@ana|#12|error|<a |<img", outside)

    def test_is_bounded(self):
        document = written("markdown", *[finding(text="x " * 5000)] * 400)

        assert len(document) < 65_000
        assert "and 300 more" in document
