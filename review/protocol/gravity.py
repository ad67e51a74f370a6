"""Tells a WARN or FAIL that is meant from a word of the scale, a denial, a tool's notice, or one taken back."""

from __future__ import annotations

from review.protocol.folding import ascii_lower, compiled, fold
from review.protocol.review_lines import Place, walk_review

_HEAD = 300
_NOT_MEANT = (
    r"\s*(?:[:=(,\u2013\u2014]|-{1,2}(?=\s))[\s\"'`(\[]*(?:(?:only )?(?:if|unless|in case|whenever)\b"
    r"|not (?:here|applicable|found|present|seen|observed|in this|so\b|this\b|at all|an? (?:fail|warn)|triggered|reached|the case|warranted)"
    r"|no (?:instances?|occurrences?|cases?|violations?|findings?|issues?|problems?)\b(?=\W*$|\s+(?:found|seen|here|in|of|at all)\b)"
    r"|(?:none|nothing)\b(?=\W*$|\s+(?:found|seen|here|to report)\b)|n/?a\b|never\W*$)"
)
_SCALE = r"\s*[.,;/]\s*(?:or\s+)?(?:pass|warn|fail|error)s?\s*[.,;/]"
_DISCLAIMER = (
    r"\W*warning\W{0,4}:.{0,80}?(?:\b(?:ai|llm|machine|model)[- ]generated\b|\b(?:generated|written|produced) by (?:an? )?(?:ai|model|llm|assistant|machine)\b"
    r"|\b(?:content|answers?|output|responses?) (?:may|might|can|could) (?:be|contain)\b)"
)
_TOOL = (
    r"\W*warning\W{0,4}:.{0,80}?\b(?:(?:response|output|answer|reply) (?:was|is|may be|has been|got) (?:truncated|cut|shortened)|"
    r"experimental (?:feature|model|mode)|deprecated (?:option|flag|setting|model)|rate limits?|token limit|context window|timed out)\b"
)
_TURNED = (
    r"^\W*(?:on (?:second thoughts?|reflection|re-?reading)|second thoughts?|correction|actually|wait|scratch that|strike that|hmm+|no|"
    r"edit|update[ds]?|revised|revision|after all|sorry|oops|i (?:was wrong|take it back|changed my mind)|my mistake)\b.{0,250}?\bpass(?:es|ed)?\b"
)
_CONCLUDED = (
    r"(?:\b(?:so|therefore|thus|hence|is now|it is|it['\u2019]s|this is|becomes?|make it|changed? (?:it |this )?to|upgraded? to)\s+"
    r"|\b(?:verdict|result|outcome|decision|overall|final(?:ly)?|answer)\b\s*(?::|=|is|->|\u2192)\s*)"
    r"(?:an? |now |clean |clear |still |therefore )*pass(?:es)?\W{0,20}$"
)
_HYPOTHETICAL = (
    r"\b(?:not|no longer|never|\w+n['\u2019]t|cannot|hardly|would|could|might|if|before|until|unless|once|after|then|when|with|needs?|"
    r"should|will|can|to (?:be|get|become|reach|earn))\b"
)


def is_not_meant(tail: str) -> bool:
    """Whether what follows the word WARN or FAIL makes it a word of the scale, or denies it."""
    head = ascii_lower(tail[:_HEAD])
    return bool(compiled(_NOT_MEANT).match(head) or compiled(_SCALE).match(head))


def is_notice(text: str) -> bool:
    """Whether the line is a tool's own warning, about itself and not about the note."""
    head = fold(text[:_HEAD])
    return is_disclaimer(text) or compiled(_TOOL).match(head) is not None


def is_disclaimer(text: str) -> bool:
    """Whether the line says no more than that a machine wrote the text."""
    head = text[:_HEAD]
    # Few lines hold the word, and folding costs more than looking for it.
    return "warning" in head.lower() and compiled(_DISCLAIMER).match(fold(head)) is not None


def turned_into_pass(text: str, *, below: int) -> int:
    """Give the number of the first line below a WARN or FAIL that makes a PASS of it, 0 for none."""
    for line in walk_review(text):
        if line.number <= below or line.place is not Place.BODY:
            continue
        folded = fold(line.text)
        found = compiled(_TURNED).search(folded) or compiled(_CONCLUDED).search(folded)
        if found and not compiled(_HYPOTHETICAL).search(_clause(folded, found.end())):
            return line.number
    return 0


def _clause(folded: str, end: int) -> str:
    head = folded[max(0, end - _HEAD) : end]
    return head[max(head.rfind(mark) for mark in ".;:!?,") + 1 :]
