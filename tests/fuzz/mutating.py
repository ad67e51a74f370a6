"""Makes inputs that resemble kept ones: cut, doubled, and mixed with pieces of the others."""

from __future__ import annotations

import random
from collections.abc import Iterator


def mutants(
    data: bytes, *, count: int, chance: random.Random, others: list[bytes]
) -> Iterator[bytes]:
    """Inputs that differ from one by a few cuts, copies, swaps and pieces of others."""
    for _ in range(count):
        changed = bytearray(data)
        for _ in range(chance.randint(1, 4)):
            at = chance.randint(0, len(changed))
            until = min(len(changed), at + chance.randint(0, 30))
            piece = chance.choice(others)
            begin = chance.randint(0, len(piece))
            new = (
                b"",
                piece[begin : begin + chance.randint(1, 60)],
                bytes(changed[at:until]) * 2,
                bytes([chance.randint(0, 255)]),
                chance.choice((b"\n", b"\r", b"\0", b"```\n", b"> ", b"- ", b"<!--", b"\xff")),
            )[chance.randint(0, 4)]
            changed[at:until] = new
        yield bytes(changed)
