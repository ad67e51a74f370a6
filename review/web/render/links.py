"""Leads from the links in a note, as they are written, to our pages of notes and gates."""

from __future__ import annotations

from urllib.parse import urlencode

from django.urls import reverse

from review.domain.markdown.links import LinkKind
from review.domain.paths import BadPath, gate_id_of
from review.knowledge_base import Corpus
from review.settings.config import Config
from review.web.render.markdown import Look


class NoteLinks:
    """Addresses for the links of one text; what is neither note nor gate has none."""

    def __init__(self, corpus: Corpus, note_path: str, *, config: Config) -> None:
        """Resolve as from the note at `note_path`."""
        self._corpus = corpus
        self._note_path = note_path
        self._config = config
        self.flavour = corpus.flavour

    def __call__(self, target: str, kind: LinkKind) -> str | None:
        """The address of the page, or None."""
        is_reference = kind is LinkKind.REFERENCE
        found = self._corpus.linker.resolve(
            target, note_path=self._note_path, kind=None if is_reference else kind
        )
        address = page_of(found.path, config=self._config) if found.path else None
        if address is None or not found.anchor:
            return address
        return f"{address}#{Look.prefix}{found.anchor.lower().replace(' ', '-')}"


def page_of(path: str, *, config: Config) -> str | None:
    """The page of a note or gate; None for another file."""
    try:
        return reverse("gate", args=[gate_id_of(path, gates_folder=config.gates_folder)])
    except BadPath:
        pass
    is_note = path.endswith(".md") and any(
        path.startswith(f"{root}/") for root in config.note_roots
    )
    return reverse("note", args=[path]) if is_note else None


def finding_page(fingerprint: str) -> str:
    """The page of a finding."""
    return f"/findings/{fingerprint}/"


def diff_page(note_path: str, *, gate_id: str, model_partition: str, **more: str) -> str:
    """The page of a pair's change since its text was accepted."""
    wanted = {"gate": gate_id, "model": model_partition} | more
    return f"{reverse('diff', args=[note_path])}?{urlencode(wanted)}"
