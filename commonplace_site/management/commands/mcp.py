"""Serve the tools of agents by the Model Context Protocol."""

from __future__ import annotations

from commonplace_site.loading import serve_mcp
from review import store
from review.management.kit import Options, ReviewCommand


class Command(ReviewCommand):
    help = (
        "Serve the tools of agents by the Model Context Protocol on standard input and output."
        " An MCP client starts it; review_init --mcp writes its settings."
    )
    store_use = store.Use.NONE
    examples = ("commonplace mcp",)

    def run(self, options: Options) -> None:
        serve_mcp()
