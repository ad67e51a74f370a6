"""The environment a worker gets: the operator's, less what belongs to a harness around us, or to us."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping

_MARK = "COMMONPLACE_RUN"
# Set by a harness for what it starts: a CLI that finds them believes that it runs inside another.
_HARNESS = frozenset(
    {
        "CLAUDECODE", "CLAUDE_PROJECT_DIR", "CLAUDE_ENV_FILE", "CLAUDE_PID", "CLAUDE_PLUGIN_ROOT",
        "CLAUDE_EFFORT", "AI_AGENT", "CODEX_CI", "CODEX_MANAGED_BY_NPM", "CODEX_MANAGED_BY_BUN",
        "CODEX_THREAD_ID", "GEMINI_CLI", "CURSOR_AGENT", "CURSOR_TRACE_ID", "OPENCODE", "AGENT",
    }
)  # fmt: skip
_HARNESS_PREFIXES = ("CLAUDE_CODE_", "CODEX_SANDBOX", "GEMINI_CLI_IDE_", "OPENCODE_")
# How a person is known to the service, or which service it is: no harness's own.
_KEPT = frozenset(
    f"CLAUDE_CODE_{name}"
    for name in (
        "API_KEY_HELPER_TTL_MS", "CLIENT_CERT", "CLIENT_KEY", "CLIENT_KEY_PASSPHRASE",
        "OAUTH_TOKEN", "USE_BEDROCK", "USE_FOUNDRY", "USE_VERTEX", "SKIP_BEDROCK_AUTH",
        "SKIP_FOUNDRY_AUTH", "SKIP_VERTEX_AUTH", "MAX_OUTPUT_TOKENS", "MAX_RETRIES",
        "PROXY_RESOLVES_HOSTS", "CERT_STORE",
    )
)  # fmt: skip
# Our own: the store's address, the pages' secret key.
_OURS_PREFIXES = ("COMMONPLACE_", "DJANGO_", "REVIEW_SWEEP_")
# How the store's server is entered, where the address does not say it.
_STORE = frozenset(
    {
        "PGPASSWORD", "PGPASSFILE", "PGSERVICE", "PGSERVICEFILE", "PGSSLKEY", "PGSSLCERT",
        "PGUSER", "PGHOST", "PGHOSTADDR", "PGPORT", "PGDATABASE",
    }
)  # fmt: skip
# What ties git to a hook's repository.
_GIT = frozenset(
    {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_OBJECT_DIRECTORY"}
)


def worker_environment(environ: Mapping[str, str], *, extra: Mapping[str, str]) -> dict[str, str]:
    """`environ` without the variables that are not a worker's business, then `extra`."""
    kept = {name: value for name, value in environ.items() if _belongs_to_worker(name)}
    return {**kept, **extra}


def new_mark() -> str:
    """A variable, `NAME=value`, by which the processes of one run are found."""
    return f"{_MARK}={secrets.token_hex(16)}"


def is_mark(text: object) -> bool:
    """Return whether `text` is such a variable: processes that carry it may be killed."""
    return isinstance(text, str) and re.fullmatch(rf"{_MARK}=[0-9a-f]{{32}}", text) is not None


def _belongs_to_worker(name: str) -> bool:
    is_ours = name in _GIT | _STORE or name.startswith(_OURS_PREFIXES)
    is_harness = name in _HARNESS or name.startswith(_HARNESS_PREFIXES)
    return name in _KEPT or not (is_ours or is_harness)
