"""The key that signs sessions: from the environment, else from a file made on first use."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

from review.errors import StoreRefused
from review.private_files import create_file, make_private

VARIABLE = "COMMONPLACE_SECRET_KEY"
MIN_LENGTH = 32
_OTHERS = 0o077
_MOST = 4_096


def secret_key(path: Path) -> str:
    """COMMONPLACE_SECRET_KEY, else what `path` holds; the file is made, readable by us alone.

    :raises StoreRefused: the key is too short, or the file cannot be read or made.
    """
    key = os.environ.get(VARIABLE, "") or _kept_key(path)
    if len(key) < MIN_LENGTH:
        where = VARIABLE if os.environ.get(VARIABLE) else str(path)
        raise StoreRefused(
            f"the secret key in {where} is shorter than {MIN_LENGTH} characters",
            "secret-key-refused",
            hint=f"remove the file, or set {VARIABLE} to a long random string",
        )
    return key


def _kept_key(path: Path) -> str:
    try:
        if not path.exists():
            make_private(path.parent)
            with suppress(FileExistsError):  # two servers that start together end up with one key
                create_file(path, [secrets.token_urlsafe(48).encode()])
        return _read_own(path).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise StoreRefused(
            f"cannot keep a secret key in {path}: {error}",
            "secret-key-refused",
            hint=f"set {VARIABLE}",
        ) from error


def _read_own(path: Path) -> str:
    """Read a file that no other user can read or write: anyone with the key can sign sessions."""
    with path.open(encoding="ascii") as stream:
        info = os.fstat(stream.fileno())
        if info.st_mode & _OTHERS or info.st_uid not in (os.geteuid(), 0):
            raise StoreRefused(
                f"the secret key in {path} is open to other users of this machine",
                "secret-key-refused",
                hint=f"remove the file, and a new key is made; or set {VARIABLE}",
            )
        return stream.read(_MOST)
