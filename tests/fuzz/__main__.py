"""Fuzzes one target, or all in turn, for so many seconds: `python -m tests.fuzz [TARGET …] --seconds 60`.

With atheris (`pip install atheris`, no dependency of ours) libFuzzer is led by the branches our code
takes; without it inputs are mutated blindly. What breaks a rule is kept in `tests/fuzz/found/`.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import importlib.util
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
FOUND = Path(__file__).parent / "found"
_MAX_INPUT = 4_096


def main() -> int:
    """Run what is asked for; 1 if anything was found."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    arguments = _arguments()
    if arguments.guided:
        return _guided(arguments.targets[0], arguments.seconds)
    failed = [name for name in arguments.targets or _names() if not _one(name, arguments.seconds)]
    sys.stdout.write(f"broken rules: {', '.join(failed) or 'none'}\n")
    return 1 if failed else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET")
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument("--guided", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def _names() -> list[str]:
    _load_apps()
    return [*importlib.import_module("tests.fuzz.targets").TARGETS]


def _load_apps() -> None:
    import django

    django.setup()


def _one(name: str, seconds: int) -> bool:
    """Whether a target broke no rule; libFuzzer ends its process, so each has one of its own."""
    sys.stdout.write(f"== {name}\n")
    sys.stdout.flush()
    if importlib.util.find_spec("atheris") is None:
        return _blind(name, seconds)
    command = [sys.executable, "-m", "tests.fuzz", name, "--guided", f"--seconds={seconds}"]
    return subprocess.run(command, cwd=REPOSITORY, check=False).returncode == 0


def _blind(name: str, seconds: int) -> bool:
    _load_apps()
    targets = importlib.import_module("tests.fuzz.targets")
    mutating = importlib.import_module("tests.fuzz.mutating")
    chance = random.Random()  # noqa: S311 - each run tries others
    kept = [seed.read_bytes() for seed in targets.seeds(name)]
    until, count = time.monotonic() + seconds, 0
    while time.monotonic() < until:
        for data in mutating.mutants(chance.choice(kept), count=50, chance=chance, others=kept):
            count += 1
            try:
                targets.TARGETS[name](data)
            except Exception as error:  # noqa: BLE001 - whatever it is, it is what was looked for
                FOUND.mkdir(exist_ok=True)
                place = FOUND / f"{name}-{hashlib.sha256(data).hexdigest()[:12]}"
                place.write_bytes(data)
                sys.stdout.write(f"{type(error).__name__}: {error}\nkept as {place}\n")
                return False
    sys.stdout.write(f"{count} inputs, nothing found\n")
    return True


def _guided(name: str, seconds: int) -> int:
    import atheris

    with atheris.instrument_imports(include=["review", "tests.fuzz.rules"]):
        _load_apps()
        targets = importlib.import_module("tests.fuzz.targets")
    FOUND.mkdir(exist_ok=True)
    # What libFuzzer learns on the way is its own; the kept seeds are only read.
    learnt = tempfile.mkdtemp(prefix=f"fuzz-{name}-")
    options = [
        f"-max_total_time={seconds}",
        f"-max_len={_MAX_INPUT}",
        "-timeout=20",
        "-rss_limit_mb=2048",
        f"-artifact_prefix={FOUND}/{name}-",
        "-print_final_stats=1",
        "-verbosity=0",
    ]
    atheris.Setup([name, *options, learnt, str(targets.CORPUS / name)], targets.TARGETS[name])
    atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.exit(main())
