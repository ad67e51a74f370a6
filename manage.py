"""Runs a command from the checkout: `python manage.py NAME`."""

from __future__ import annotations

from commonplace_site.console import main

if __name__ == "__main__":
    main()
