"""The language of a note is told by its script or its small words, or not at all."""

from __future__ import annotations

import pytest

from review.domain.applicability import language_of


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The cache keeps what is read from the store, and it is dropped with the job.", "en"),
        ("Der Speicher ist nicht leer, und das ist auch gut für die Suche, die er hat.", "de"),
        ("La mémoire est dans le dossier que les travaux ont, et cette page est pour vous.", "fr"),
        ("El almacén no es lo que se ve en los libros, pero está con su índice para la red.", "es"),
        ("Кэш хранит записи API до конца работы.", "ru"),
        ("缓存保存已读取的记录 API。", "zh"),
        ("キャッシュは読んだ記録を保存する。", "ja"),
        ("Cache, queue, parser.", ""),
        ("```\nthe and of to is that it with\n```\n`the the the the the the`", ""),
    ],
)  # fmt: skip
def test_is_told(text, language):
    assert language_of(text) == language
