"""Finds a result line that stands beside the declared PASS and does not say the same."""

from __future__ import annotations

from review.protocol.declarations import is_denied_by, names_several
from review.protocol.doubts import doubt_in, odd_parenthesis_in, without_denials
from review.protocol.folding import compiled, fold

_HEAD = 300
# The label in the languages a reviewer falls into; the value may be anything.
_LABEL = (
    r"^[^\w`\"\u201c\u201e\u00ab]{0,40}\d{0,3}[^\w`\"\u201c\u201e\u00ab]{0,8}(?:(?:final|overall|gate|review|pair|my|the|our)\s+){0,3}"
    r"(?:result|verdict|outcome|decision|ergebnis|urteil|resultat|resultado|veredicto|risultato|esito|wynik|"
    r"\u7ed3\u8bba|\u7ed3\u679c|\u7d50\u679c|\u7d50\u8ad6|\u5224\u5b9a|\uacb0\uacfc|\u0432\u0435\u0440\u0434\u0438\u043a\u0442|\u0440\u0435\u0437\u0443\u043b\u044c\u0442\u0430\u0442)"
    r"[\s\"'`)\]]*(?:[:=]|\.{2,}|\s[\u2013\u2014-]{1,2}\s)[\s=>-]*(?P<value>\S.*)$"
)
_SAME = (
    r"[\"'`\s\u2705\u2714\ufe0f\U0001f7e2\U0001f44d]*(?:(?:a|clean|clear|plain)\s+)*"
    r"(?:pass(?:ed|es|ing)?|ok|okay|clean|clear|info|sound|good|fine|positive|accepted|approved|acceptable|satisfied|met|"
    r"compliant|yes|green|accept|approve|bestanden|erfullt|reussi|valide|aprobado|aprovado|superato|approvato|\u901a\u8fc7|\u5408\u683c|"
    r"(?:no|0|zero) (?:findings?|issues?|instances?|problems?|remarks?)(?: found)?|publishable|\u2705|\u2714)(?![\w-])[\"'`]?(?P<rest>.*)$"
)
_TICK = r"[\s\u2705\u2714\ufe0f\U0001f7e2\U0001f44d]+"
# Prose about an outcome is no result: `Outcome: the note improves.`
_PROSE = r"(?:the|an?|its|this|these|it|each|all|every|readers?)\s+\S+\s+\S"
_TOLD = r"\W*the (?:decision|outcome)\b"
_SENTENCE = r"[.!](?:\s|$)"


def other_result_in(text: str) -> str:
    """Give the value of a result line that is not the PASS declared, else an empty string."""
    head = fold(text[:_HEAD])
    found = compiled(_LABEL).match(head)
    if found is None or compiled(_TOLD).match(head) or names_several(head.lstrip("#>* ")):
        return ""
    value = found["value"].strip()
    if not without_denials(value).strip(" .!") or compiled(_TICK).fullmatch(value):
        return ""
    same = compiled(_SAME).match(value)
    if same is None:
        return "" if compiled(_PROSE).match(value) else value
    if is_denied_by(same["rest"]):
        return value
    rest = compiled(_SENTENCE).split(same["rest"], maxsplit=1)[0]
    return doubt_in(rest) or odd_parenthesis_in(rest)
