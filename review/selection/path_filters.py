"""Notes that a reading command names: files and folders, which may be gone from disk."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from os.path import commonpath

from django.db.models import Q

from review.domain.paths import path_below
from review.knowledge_base import Corpus, NoteList, UnreadableFile
from review.models import KbPath
from review.vocabulary import ProblemCode

_ASKED_AT_MOST = 100


def named_places(corpus: Corpus, names: Iterable[str]) -> tuple[str, ...]:
    """The identities of files and folders that are on disk or that the store has notes of."""
    places = tuple(path_below(str(corpus.config.root), name) for name in names)
    for place in places:
        known = KbPath.objects.filter(below((place,), field="path")).values_list("path", flat=True)
        if not any(map(within((place,)), known.iterator())):
            corpus.notes([place])
    return places


def below(places: Sequence[str], *, field: str) -> Q:
    """Preselect paths at or below the places; `is_below` must filter the rows.

    SQLite ignores case, and of many places, which databases refuse, it is their common folder.
    """
    if len(places) > _ASKED_AT_MOST:
        return Q(**{f"{field}__startswith": commonpath(places)})
    condition = Q()
    for place in places:
        condition |= Q(**{field: place}) | Q(**{f"{field}__startswith": f"{place}/"})
    return condition


def is_below(path: str, places: Iterable[str]) -> bool:
    """True if the path is one of the places or below one, or there are no places."""
    return within(places)(path)


def within(places: Iterable[str]) -> Callable[[str], bool]:
    """`is_below` of these places, for many paths; there may be thousands of both."""
    known = frozenset(places)

    def holds(path: str) -> bool:
        while path and path not in known:
            path = path.rpartition("/")[0]
        return bool(path) or not known

    return holds


def digests_of(corpus: Corpus, listed: NoteList, paths: Iterable[str]) -> dict[str, str]:
    """Digests of the notes listed and at `paths`; "" if unreadable, none if gone."""
    digests = {note.path: note.sha256 for note in listed.notes}
    for path in paths:
        if path in digests:
            continue
        try:
            digests[path] = corpus.read_note(path).sha256
        except UnreadableFile as refused:
            if refused.problem.code is not ProblemCode.VANISHED:
                digests[path] = ""
    return digests
