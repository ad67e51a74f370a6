"""How a gate of a review is called."""

from __future__ import annotations

from review.domain.identity import BadPath, gate_id_of


def gate_label(gate_path: str, gates_folder: str) -> str:
    """The gate's id; its path where the gates folder was another one at that time."""
    try:
        return gate_id_of(gate_path, gates_folder=gates_folder)
    except BadPath:
        return gate_path
