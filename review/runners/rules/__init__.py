"""The embedded reviewer: deterministic checks over one note, by rule name; it is not a model.

`judge` knows which function checks which rule, and judges a note by one; `registry` writes what was
found as a reviewer's answer. The other modules hold the rules, by what they look at.
"""

from __future__ import annotations
