"""Opens the knowledge base for a command."""

from __future__ import annotations

from review.knowledge_base import Corpus
from review.settings.config import Config


def open_corpus(config: Config, *, use_cache: bool = True) -> Corpus:
    """The knowledge base of `config`, where gates may name the rules there are.

    :param use_cache: False reads every file, for network shares where no stat can be trusted.
    """
    return Corpus(config, use_cache=use_cache)
