"""Keys written into a query: they find what parameters find, and can be nothing but integers."""

from __future__ import annotations

import pytest

from review.models import KbPath, NamedKeys

pytestmark = pytest.mark.django_db


@pytest.fixture
def keys() -> list[int]:
    return list(KbPath.objects.intern(f"kb/notes/{number}.md" for number in range(4)).values())


class TestNamedKeys:
    def test_find_the_rows(self, keys):
        found = KbPath.objects.filter(pk__in=NamedKeys(keys[1:3]))

        assert sorted(found.values_list("pk", flat=True)) == sorted(keys[1:3])

    def test_find_nothing_when_there_are_none(self, keys):
        assert not KbPath.objects.filter(pk__in=NamedKeys(())).exists()

    def test_take_more_than_a_statement_has_parameters(self, keys):
        many = [*keys, *range(10_000_000, 10_040_000)]

        assert KbPath.objects.filter(pk__in=NamedKeys(many)).count() == len(keys)

    @pytest.mark.parametrize("key", ["1) OR (1=1", "x", None])
    def test_are_integers(self, key):
        with pytest.raises((TypeError, ValueError)):
            NamedKeys([key])
