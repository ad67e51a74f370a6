"""Texts that try to act on a terminal, a spreadsheet or a log, and what tells that they could."""

from __future__ import annotations

import re

# An operating system command, a cleared screen, C1's own escape, text turned around, a line drawn over.
ESCAPES = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202etxt\u2066\x08\x0b\x7f"
ACTS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
EVIL_REVIEW = (
    f"### Summary\n{ESCAPES}\n\n### Findings\n"
    f"- WARN: =cmd|' /C calc'!A0 {ESCAPES} --> <script>alert(1)</script>\n"
    f"  > A reader finds a note by its title\n"
    f"- FAIL: @SUM(1+1) {ESCAPES};=HYPERLINK(0)\n\n## Result: WARN"
)
FORMULA_STARTS = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
