"""A gate, and its file's frontmatter: what it watches, and which notes it applies to.

A fault that would make the gate judge other notes than its author meant (a requirement that cannot
be read, or has a misspelt key) keeps the gate out; any other is reported, and the gate
works with the stricter reading: it watches everything, and every change makes its pairs stale.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from review.domain.applicability import Requirement, resolve_type
from review.domain.markdown.frontmatter import parse_frontmatter
from review.domain.paths import lens_of, near_matches, sha256_hex
from review.domain.problems import Problem
from review.knowledge_base.reader import left_by_git
from review.vocabulary import ProblemCode, Region, Severity

ALL_REGIONS = frozenset(Region)
_TEXT_KEYS = ("type", "gate_id", "name", "lens", "staleness", "language", "description", "rule")
_REQUIREMENTS = ("requires_type", "requires_trait", "applies_to", "language")
KEYS = (
    "type", "gate_id", "name", "lens", "watches", "reads", "staleness", "requires_type",
    "requires_trait", "applies_to", "language", "description", "rule", "severity",
)  # fmt: skip
_REWRITE = re.compile(r"rewrite\s*+\(\s*+(\d*+\.\d++|\d++\.?)\s*+\)")
# Apart from the rules, so that asking is cheap.
_RULES = """
    bare-urls bold-as-heading broken-anchors broken-footnotes description-length
    description-repeats-title duplicate-headings empty-sections fences-without-language
    heading-level-skips images-without-alt-text long-paragraphs missing-description
    missing-paths missing-title multiple-h1 non-descriptive-title overlong-sentences
    placeholder-text positional-references readable-frontmatter relative-dates
    repeated-paragraphs repeated-words table-column-mismatch title-matches-h1 unclosed-fences
    undefined-acronyms undefined-references unresolved-links vague-link-text verbatim-quotes
    wall-of-links
"""
RULE_NAMES = tuple(_RULES.split())
_SHOWN_CHARACTERS = 80
_SHOWN_WORDS = 4
_NO_NAMES = frozenset({"null", "true", "false"})


@dataclass(frozen=True, slots=True)
class Gate:
    """A gate as its file declares it; `text` is byte-exact, `rule` is "" if a model judges it."""

    path: str
    gate_id: str
    lens: str
    sha256: str
    text: str
    name: str
    watches: frozenset[Region]
    rewrite_threshold: float | None
    requirement: Requirement
    rule: str
    description: str
    reads_links: bool = False
    severity: Severity | None = None
    problems: tuple[Problem, ...] = ()


@lru_cache(maxsize=256)  # the jobs of a sweep ask for the same ones
def read_gate(*, path: str, gate_id: str, text: str) -> Gate:
    return _GateReader(path, gate_id, text).read()


class _GateReader:
    def __init__(self, path: str, gate_id: str, text: str) -> None:
        self._path = path
        self._gate_id = gate_id
        self._text = text
        self._frontmatter = parse_frontmatter(text)
        self._problems: list[Problem] = []

    def read(self) -> Gate:
        path, gate_id = self._path, self._gate_id
        self._check_text()
        for key in self._frontmatter.fields:
            if key not in KEYS:
                self._refuse_key(key)
        texts = {key: self._read_text(key) for key in _TEXT_KEYS}
        for key, expected in (("gate_id", gate_id), ("lens", lens_of(gate_id))):
            if texts[key] and texts[key] != expected:
                message = (
                    f"is {_shown(texts[key])}, the file's place says {expected!r}, which holds"
                )
                self._report(key, message, code=ProblemCode.GATE_ID_MISMATCH)
        if texts["rule"] and texts["rule"] not in RULE_NAMES:
            known = ", ".join(near_matches(texts["rule"], RULE_NAMES) or RULE_NAMES)
            said = f"names {_shown(texts['rule'])}, which is no rule; known: {known}"
            self._report("rule", said, code=ProblemCode.UNKNOWN_RULE)
        types = self._names("requires_type")
        return Gate(
            path=path,
            gate_id=gate_id,
            lens=lens_of(gate_id),
            sha256=sha256_hex(self._text.encode()),
            text=self._text,
            name=texts["name"] or gate_id.rpartition("/")[2],
            description=texts["description"],
            watches=self._watches(),
            rewrite_threshold=self._rewrite_threshold(texts["staleness"]),
            requirement=Requirement(
                types=tuple(resolve_type(name, note_path=path) for name in types),
                traits=self._names("requires_trait"),
                places=self._names("applies_to"),
                language=self._language(texts["language"]),
                gate_id=gate_id,
            ),
            reads_links=self._reads_links(),
            rule=texts["rule"],
            severity=self._severity(texts["rule"]),
            problems=tuple(self._problems),
        )

    def _report(
        self,
        key: str,
        message: str,
        *,
        code: ProblemCode = ProblemCode.INVALID_GATE,
        skipped: bool = False,
    ) -> None:
        message = message if key not in KEYS else f"`{key}` {message}"
        line = self._frontmatter.line_of(key)
        self._problems.append(Problem(self._path, code, message, skipped=skipped, line=line))

    def _check_text(self) -> None:
        frontmatter = self._frontmatter
        if problem := left_by_git(self._path, self._text):
            self._problems.append(problem)
        if frontmatter.problem is not None:
            self._problems.append(frontmatter.problem.of(self._path, skipped=True))
        elif not self._text[frontmatter.body_offset :].lstrip("\ufeff").strip():
            message = "no text below the frontmatter; expected the failure mode and the test"
            problem = Problem(self._path, ProblemCode.EMPTY_GATE, message, skipped=True)
            self._problems.append(problem)

    def _refuse_key(self, key: str) -> None:
        near = near_matches(key.replace("-", "_"), KEYS, limit=1)
        guess = f"did you mean `{near[0]}`?" if near else f"known: {', '.join(KEYS)}"
        message = f"unknown key {_shown(key)}: {guess}"
        if key.strip().lower().startswith("requir") or set(near) & set(_REQUIREMENTS):
            message += (
                " Not used until this is settled: without its requirement it would judge every note"
            )
            self._report(key, message, skipped=True)
        else:
            self._report(key, message, code=ProblemCode.UNKNOWN_KEY)

    def _read_text(self, key: str) -> str:
        written = self._frontmatter.text(key)
        if written is None and key in self._frontmatter.fields:
            self._report(key, "holds a list or a mapping; expected text", skipped=True)
        return (written or "").strip()

    def _watches(self) -> frozenset[Region]:
        if "watches" not in self._frontmatter.fields:
            return ALL_REGIONS
        names = self._frontmatter.strings("watches")
        words = [word.strip() for name in names or () for word in name.split(",")]
        unknown = [word for word in words if word not in Region.values]
        if words and not unknown:
            return frozenset(Region(word) for word in words)
        wrong = ", ".join(map(_shown, unknown[:_SHOWN_WORDS])) or "no list of names"
        message = f"holds {wrong}; expected any of {', '.join(Region.values)}. Watches all"
        self._report("watches", message, code=ProblemCode.UNKNOWN_WATCH)
        return ALL_REGIONS

    def _reads_links(self) -> bool:
        names = self._frontmatter.strings("reads")
        if names != ("links",) and "reads" in self._frontmatter.fields:
            written = ", ".join(map(_shown, (names or ())[:_SHOWN_WORDS])) or "no name"
            self._report("reads", f"holds {written}; expected `links`. Reads the note alone")
        return names == ("links",)

    def _rewrite_threshold(self, written: str) -> float | None:
        try:
            return parse_staleness_rule(written) if written else None
        except ValueError:
            expected = "expected `changed` or `rewrite(0.5)`. Taken as `changed`"
            self._report("staleness", f"is {_shown(written)}; {expected}")
            return None

    def _severity(self, rule: str) -> Severity | None:
        written = str(self._frontmatter.fields.get("severity", "")).strip()
        if rule and written.lower() == Severity.WARN:
            return Severity.WARN
        if "severity" in self._frontmatter.fields:
            expected = "expected `warn`, and a key `rule`. The rule's own severities hold"
            self._report("severity", f"is {_shown(written)}; {expected}")
        return None

    def _language(self, written: str) -> str:
        if written and not re.fullmatch(r"[a-z]{2}", written.lower()):
            message = f"is {_shown(written.lower())}; expected a code of two letters, such as en"
            self._report("language", message, skipped=True)
        return written.lower()

    def _names(self, key: str) -> tuple[str, ...]:
        if key not in self._frontmatter.fields:
            return ()
        names = tuple(name.strip() for name in self._frontmatter.strings(key) or ())
        if names and all(_is_name(name) for name in names):
            return names
        message = "is not readable as a requirement; expected a name or a list of names"
        self._report(key, message, skipped=True)
        return ()


def parse_staleness_rule(raw: str) -> float | None:
    """Read `staleness`: None for `changed`, the share 0..1 for `rewrite(0.5)`, or ValueError."""
    rule = raw.strip().lower()
    if rule == "changed":
        return None
    found = _REWRITE.fullmatch(rule)
    if found is None or float(found[1]) > 1:
        raise ValueError(f"{raw[:80]!r} is no staleness rule; expected changed, or rewrite(0.5)")
    return float(found[1])


def _shown(written: str) -> str:
    return repr(written if len(written) <= _SHOWN_CHARACTERS else written[:_SHOWN_CHARACTERS] + "…")


def _is_name(word: str) -> bool:
    """Return whether a trait or type could be called this; a number is a slip of the pen."""
    return any(char.isalpha() for char in word) and word.lower() not in _NO_NAMES
