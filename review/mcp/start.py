"""Start the MCP server, where the SDK is installed."""

from __future__ import annotations

import gc
from collections.abc import Callable

from review.errors import ReviewError


class McpMissing(ReviewError):
    """The SDK of the Model Context Protocol is not installed."""


def serve(load: Callable[[], None]) -> None:
    """Serve until standard input ends.

    :param load: loads Django, before the first call of a tool: a client waits for the start.
    :raises McpMissing: the extra `mcp` is not installed.
    """
    gc.enable()
    try:
        from review.mcp.server import run
    except ModuleNotFoundError as error:
        if (error.name or "").startswith(("review", "commonplace_site")):
            raise
        raise McpMissing(
            f"the MCP server needs {error.name}, which is not installed",
            hint="install the project with it: pip install 'commonplace-review[mcp]'",
        ) from error
    run(load)
