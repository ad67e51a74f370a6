"""The embedded reviewer: deterministic checks over one note, by rule name; it is not a model.

`names` says which rules there are and costs nothing to import, `judging` judges a note by one,
`rendering` writes what was found as a reviewer's answer.
"""

from __future__ import annotations
