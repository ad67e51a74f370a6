"""The forms of links, and how many links of a form resolve in a knowledge base."""

from __future__ import annotations

import re
from typing import NamedTuple

ANCHORED = "#"

_FORM = re.compile(r"^(\.\./|@?/)?.*?(\.\w{1,5})?$", re.DOTALL)
_CODE = re.compile(r"^ *(```|~~~).*?(?:^ *\1|\Z)|`[^`\n]*`", re.DOTALL | re.MULTILINE)
_TARGET = re.compile(r"\[[^\[\]\n]*\](?:\(|: )<?([^()\s<>{}$%`]+)")
_FEWEST_DEAD = 5
_USUAL_SHARE = 0.8


class Share(NamedTuple):
    """How many links of one form resolve, in a sample of the knowledge base."""

    resolved: int = 0
    dead: int = 0

    @property
    def is_low(self) -> bool:
        """True if so many are dead that a builder may resolve the form, in a way not known here."""
        return self.dead >= _FEWEST_DEAD and self.resolved < sum(self) * _USUAL_SHARE


def form_of(target: str) -> str:
    """Return how the path of a link is written: `../x.md`, `/x`, `x.html`."""
    return _FORM.sub(r"\1x\2", target.partition("#")[0].partition("?")[0], count=1)


def targets_in(text: str) -> list[str]:
    """Return the targets of inline links and definitions, as a pattern finds them."""
    return _TARGET.findall(_CODE.sub("", text))
