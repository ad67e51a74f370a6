"""Django finds the administration here."""

from __future__ import annotations

import review.web.admin_site.admin  # noqa: F401
