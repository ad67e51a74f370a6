"""The map of the base that several pages read: counted at once where that is quick, else remembered."""

from __future__ import annotations

from datetime import datetime

from review import conf
from review.corpus import Corpus
from review.queries.base_map import BaseMap, read_base_map
from review.web.first_time import Source
from review.web.remembered import Answer, Remembered, this_store


def _find(_now: datetime) -> BaseMap:
    with Corpus(conf.current()) as corpus:
        return read_base_map(corpus).prepared()


_maps = Remembered(_find)


def base_map(now: datetime) -> Answer[BaseMap]:
    """Every note, gate and partition at a glance, and when they were looked at."""
    return _maps.ask(this_store(), now=now)


BASE_MAP = Source("the state of every note", lambda: _maps.knows(this_store()), base_map)
