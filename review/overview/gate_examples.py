"""A gate's own examples, judged by its rule: whether the rule says what the gate says of them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from review.domain.markdown.links import extract_links
from review.knowledge_base import Gate
from review.overview.documents import ExampleJson
from review.runners.rules.judge import RULES, judge
from review.runners.rules.values import RuleInput, RuleLink
from review.vocabulary import Decision, Severity

# Headed "Example (fail)" or "Example (pass)", fenced, and after a fail the severity it should have.
_EXAMPLE = re.compile(
    r"^##+ Example \((?P<kind>fail|pass)\)[^\n]*\n\s*\n(?P<fence>`{3,}|~{3,})(?P<language>\w*)[^\n]*\n"
    r"(?P<text>.*?)\n(?P=fence)[ \t]*$(?:\s*(?P<label>INFO|WARN|FAIL):)?",
    re.DOTALL | re.MULTILINE,
)
_TOLD = "text"  # the language of an example that is told and not shown in full
_MAX_EXAMPLES = 20
_NOTE = "kb/notes/example.md"
_GRAVITY = [Severity.INFO, Severity.WARN, Severity.FAIL]


def try_examples(gate: Gate) -> list[ExampleJson]:
    """The gate's examples with what its rule says of them, in the order they stand."""
    return list(_results(gate))[:_MAX_EXAMPLES]


def _results(gate: Gate) -> Iterator[ExampleJson]:
    for example in _EXAMPLE.finditer(gate.text.replace("\r\n", "\n")):
        is_fail = example["kind"] == "fail"
        expected = (example["label"] or "").lower() if is_fail else Decision.PASS.value
        found = holds = None
        if gate.rule in RULES and example["language"] != _TOLD:
            found = _judged(gate.rule, example["text"] + "\n", example["language"])
            holds = found == expected if expected else found != Decision.PASS
        yield ExampleJson(kind=example["kind"], expected=expected, found=found, holds=holds)


def _judged(rule: str, text: str, language: str) -> str:
    """`pass` for no finding, else the severity of the gravest."""
    if language == "yaml" and not text.startswith("---"):
        text = f"---\n{text}---\n"
    links = tuple(
        RuleLink(link.target, link.line, resolved=None, external="://" in link.target)
        for link in extract_links(text)
    )
    findings = judge(rule, RuleInput(_NOTE, text, links)).findings
    if not findings:
        return Decision.PASS.value
    return max((finding.severity for finding in findings), key=_GRAVITY.index).value
