"""Real agents as clients of the MCP server: they review a note with its tools alone."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders import PARTITION, make_root
from tests.helpers.commands import REPOSITORY, process_environment, run_process
from tests.real_clis.stand_in import Script, serving
from tests.real_clis.test_real_clis import Real, each

SECONDS = 180
BLOCK = {"ordinal": 1, "decision": "warn", "summary": "One.", "findings": []}
WORK = (
    ("take_jobs", {"gates": ["prose/x"], "model": PARTITION}),
    ("submit_review", {"jobs": [{"review_job_id": 1, "blocks": [BLOCK]}]}),
)


def server(root: Path) -> dict[str, object]:
    """Where the server is, as a client's settings say it."""
    env = {"COMMONPLACE_ROOT": str(root), "PYTHONPATH": str(REPOSITORY)}
    return {"command": sys.executable, "args": [str(REPOSITORY / "manage.py"), "mcp"], "env": env}


def claude(program: Path, root: Path) -> list[str]:
    settings = json.dumps({"mcpServers": {"commonplace": server(root)}})
    allowed = "mcp__commonplace__take_jobs,mcp__commonplace__submit_review"
    return [
        str(program), "-p", "review it", "--model", "claude-opus-4-6", "--output-format", "json",
        "--mcp-config", settings, "--strict-mcp-config", "--allowedTools", allowed,
    ]  # fmt: skip


def codex(program: Path, root: Path, options: tuple[str, ...]) -> list[str]:
    table = server(root) | {"default_tools_approval_mode": "approve", "required": True}
    given = ",".join(f"{key}={_toml(value)}" for key, value in table.items())
    return [
        str(program), "exec", "--skip-git-repo-check", "--json", *options,
        "-c", f"mcp_servers.commonplace={{{given}}}", "-m", "gpt-5.1-codex", "review it",
    ]  # fmt: skip


def _toml(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ",".join(f"{key}={json.dumps(item)}" for key, item in value.items()) + "}"
    return json.dumps(value)


@pytest.mark.parametrize("runner", each("claude-code", "codex"))
def test_a_client_reviews_a_note(runner, tmp_path):
    root = make_root(tmp_path / "base")
    is_claude = runner == "claude-code"
    names = "mcp__commonplace__{}" if is_claude else "mcp__commonplace/{}"
    calls = [(names.format(name), given) for name, given in WORK]
    # It starts its servers while the model answers; this is how a model waits.
    waits = [("WaitForMcpServers", {})] if is_claude else []
    script = Script(answer="Reviewed.", calls=(*waits, *calls))

    with serving(script) as url:
        cli = Real(runner, tmp_path, url)
        program = Path(cli.spec().command[0])
        command = claude(program, root) if is_claude else codex(program, root, cli.spec().options)
        done = subprocess.run(
            command, cwd=root, env=cli.environ(), stdin=subprocess.DEVNULL, capture_output=True,
            text=True, timeout=SECONDS, check=False,
        )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert "End of the prompt" in script.prompts()
    status = run_process("review_status", "--json", root=root, env=process_environment(root)).json
    assert status["queue"] == {"warn": 1, "fail": 0}
    rendered = run_process("render_review", "--review-pair-id", 1, "--json", root=root).json
    provenance = rendered["reviews"][0]["provenance"]
    assert provenance["runner"] == ("claude-code" if is_claude else "codex-mcp-client")
    assert provenance["claimed_by"] == f"agent:{provenance['runner']}"
