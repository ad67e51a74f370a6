"""Clean notes of several shapes, and for each rule a mechanical change that brings its fault in."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

SUBJECTS = ("cache", "queue", "parser", "index", "ledger", "router", "worker", "store", "scanner")
VERBS = ("keeps", "reads", "drops", "orders", "counts", "merges", "copies", "checks")
OBJECTS = (
    "entries by their key", "records in one pass", "old rows at night", "requests of one client",
    "files that changed", "lines without a break", "values per group", "names in small letters",
)  # fmt: skip
REASONS = (
    "because a second read would be slow", "so that a restart loses nothing",
    "while the others wait for it", "unless the limit is reached", "before anything is written",
)  # fmt: skip
TOPICS = ("Purpose", "Limits", "Costs", "Failure", "Recovery", "Format", "History of use", "Terms")

Mutator = Callable[[str, random.Random], str]


def sentence(rng: random.Random) -> str:
    subject = f"The {rng.choice(SUBJECTS)}"
    return f"{subject} {rng.choice(VERBS)} {rng.choice(OBJECTS)} {rng.choice(REASONS)}."


def paragraph(rng: random.Random, *, number: int) -> str:
    text = " ".join([f"Point {number} is about one thing.", *(sentence(rng) for _ in range(3))])
    return wrapped(text) if rng.random() < 0.5 else text


def wrapped(text: str) -> str:
    lines, line = [], ""
    for word in text.split():
        if len(line) + len(word) > 76:
            lines.append(line)
            line = ""
        line = f"{line} {word}".strip()
    return "\n".join([*lines, line])


def clean_note(seed: int) -> str:
    """A note without findings: prose, lists, code, a table, links, footnotes and quotations."""
    rng = random.Random(seed)  # noqa: S311
    subject = rng.choice(SUBJECTS)
    title = f"How the {subject} handles load"
    head = f"---\ntitle: {title}\ndescription: Explains which limits the {subject} has and how one plans for them\n---\n\n"
    parts = [f"# {title}", paragraph(rng, number=0)]
    for number, topic in enumerate(rng.sample(TOPICS, 4), 1):
        parts += [f"## {topic} of the {subject}", paragraph(rng, number=number)]
        parts.append(_extra(rng, number))
        if rng.random() < 0.4:
            parts += [f"### Details {number}", paragraph(rng, number=number + 10)]
    return head + "\n\n".join(parts) + "\n"


def _extra(rng: random.Random, number: int) -> str:
    return rng.choice(
        (
            f"- {sentence(rng)}\n- {sentence(rng)}\n- {sentence(rng)}",
            f"```sh\nrun --limit {number}\n```",
            f"| Size | Time |\n| --- | --- |\n| {number} kB | {number} s |\n| {number}0 kB | 9 s |",
            f"> {sentence(rng)}",
            f"Read [what a limit means](#limits-{number}x) first.\n\n## Limits {number}x\n\n{sentence(rng)}",
            f"![A chart of load over {number} days](load-{number}.png)\n\n{sentence(rng)}",
            f"It is known{number}[^n{number}] to be so.\n\n[^n{number}]: {sentence(rng)}",
            f"See [the plan][p{number}] for more.\n\n[p{number}]: https://site.dev/plan-{number}",
        )
    )


def _paragraphs(text: str) -> list[str]:
    return [
        part
        for part in text.split("\n\n")
        if part.startswith("Point ") and not part.startswith("Point 0")
    ]


def _into(text: str, rng: random.Random, words: str) -> str:
    """Put words behind a full stop of some paragraph."""
    chosen = rng.choice(_paragraphs(text))
    stops = [found.end() for found in re.finditer(r"\.(?=\s|$)", chosen)]
    at = rng.choice(stops)
    return text.replace(chosen, f"{chosen[:at]} {words}{chosen[at:]}", 1)


def _below(text: str, rng: random.Random, block: str) -> str:
    chosen = rng.choice(_paragraphs(text))
    return text.replace(chosen, f"{chosen}\n\n{block}", 1)


def _heading(text: str, rng: random.Random) -> str:
    return rng.choice(re.findall(r"^## .*$", text, re.MULTILINE))


def _without(pattern: str, replacement: str = "") -> Mutator:
    return lambda text, rng: re.sub(pattern, replacement, text, count=1, flags=re.MULTILINE)


def _doubled_word(text: str, rng: random.Random) -> str:
    places = [
        found for found in re.finditer(r"(?<=\s)(the|a|in|so|by|of|one)\s", text)
        if found[1] in ("the", "a", "in", "by", "of")
    ]  # fmt: skip
    body = text.index("\n---\n", 4)
    inside = [found for found in places if found.start() > body and _is_prose(text, found.start())]
    found = rng.choice(inside)
    return f"{text[: found.start()]}{found[1]} {text[found.start() :]}"


def _is_prose(text: str, at: int) -> bool:
    line = text[text.rfind("\n", 0, at) + 1 :].partition("\n")[0]
    return line.startswith(("Point", "The ")) or line[:1].islower()


def _doubled_heading(text: str, rng: random.Random) -> str:
    return f"{text}\n{_heading(text, rng)}\n\nAnother matter.\n"


def _doubled_paragraph(text: str, rng: random.Random) -> str:
    paragraphs = _paragraphs(text)
    return text.replace(paragraphs[-1], f"{paragraphs[-1]}\n\n{rng.choice(paragraphs)}", 1)


def _joined_sentences(text: str, rng: random.Random) -> str:
    joined = " and it also ".join(sentence(rng).removeprefix("The ").rstrip(".") for _ in range(6))
    return _into(text, rng, f"The {joined}.")


SOURCE = " ".join(
    f"The {one} {two} {what}." for one in SUBJECTS for two in VERBS for what in OBJECTS
)


def _altered_quotation(text: str, rng: random.Random) -> str:
    """Quote `source.md`, whose text is `SOURCE`, with one word left out, added or changed."""
    words = rng.choice(SOURCE.split(". ")).rstrip(".").split()
    at = rng.randrange(1, len(words) - 1)
    words[at : at + 1] = rng.choice(([], [words[at], "always"], ["mostly"]))
    quote, link = " ".join(words), "[the source](source.md)"
    return rng.choice(
        (
            _into(text, rng, f'It is so: "{quote}" ({link}).'),
            _into(text, rng, f"The note {link} says: \u201c{quote}\u201d."),
            _below(text, rng, f"> {quote}.\n>\n> \u2014 {link}"),
            _below(text, rng, f"> *{quote}*\n\n\u2014 {link}"),
            _below(text, rng, f"As {link} says:\n\n> {quote}"),
        )
    )


MUTATORS: dict[str, Mutator] = {
    "bare-urls": lambda text, rng: _into(text, rng, "More is at https://site.dev/more there."),
    "bold-as-heading": lambda text, rng: text.replace(
        head := _heading(text, rng), f"**{head[3:]}**", 1
    ),
    "broken-anchors": lambda text, rng: _into(text, rng, "See [the end](#no-such-part)."),
    "broken-footnotes": lambda text, rng: _into(text, rng, "This is so.[^9]"),
    "description-length": _without(r"^description: .*$", "description: Limits"),
    "description-repeats-title": lambda text, rng: re.sub(
        r"^title: (.*)\ndescription: .*$", r"title: \1\ndescription: \1", text, flags=re.MULTILINE
    ),
    "duplicate-headings": _doubled_heading,
    "empty-sections": lambda text, rng: text.replace(
        head := _heading(text, rng), f"## Open matters\n\n{head}", 1
    ),
    "fences-without-language": lambda text, rng: _below(text, rng, "```\nplain\n```"),
    "heading-level-skips": lambda text, rng: text.replace(
        head := _heading(text, rng), f"###{head}", 1
    ),
    "images-without-alt-text": lambda text, rng: _below(text, rng, "![](picture.png)"),
    "long-paragraphs": lambda text, rng: _below(
        text, rng, wrapped(" ".join(sentence(rng) for _ in range(18)))
    ),
    "missing-description": _without(r"^description: .*\n"),
    "missing-paths": lambda text, rng: _into(text, rng, "It starts in `src/app/gone.py`."),
    "missing-title": lambda text, rng: re.sub(
        r"^(?:title: .*|# .*)\n", "", text, flags=re.MULTILINE
    ),
    "multiple-h1": lambda text, rng: text.replace(head := _heading(text, rng), head[1:], 1),
    "non-descriptive-title": lambda text, rng: re.sub(
        r"^(title: |# ).*$", r"\1Notes", text, flags=re.MULTILINE
    ),
    "overlong-sentences": _joined_sentences,
    "placeholder-text": lambda text, rng: _into(text, rng, "TODO: say which."),
    "positional-references": lambda text, rng: _into(text, rng, "As mentioned above, it holds."),
    "readable-frontmatter": _without(r"^title: ", "title: [a: "),
    "relative-dates": lambda text, rng: _into(text, rng, "It was changed last week."),
    "repeated-paragraphs": _doubled_paragraph,
    "repeated-words": _doubled_word,
    "table-column-mismatch": lambda text, rng: _below(
        text, rng, "| a | b |\n| - | - |\n| 1 | 2 | 3 |"
    ),
    "title-matches-h1": _without(r"^title: .*$", "title: Baking bread at home"),
    "unclosed-fences": lambda text, rng: _below(text, rng, "```sh\nrun it"),
    "undefined-acronyms": lambda text, rng: _into(text, rng, "The QXR does that too."),
    "undefined-references": lambda text, rng: _into(text, rng, "See [how it is][no such]."),
    "unresolved-links": lambda text, rng: _into(text, rng, "See [the rest](gone.md)."),
    "vague-link-text": lambda text, rng: _into(text, rng, "Read on [here](#purpose)."),
    "verbatim-quotes": _altered_quotation,
    "wall-of-links": lambda text, rng: _below(
        text, rng, "\n".join(f"- [part {n}](part-{n}.md)" for n in range(9))
    ),
}
