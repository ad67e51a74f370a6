"""Proportions and agreement against other implementations.

Golden numbers: statsmodels 0.15 (`proportion_confint(method="wilson")` with the alpha of z = 1.96,
`cohens_kappa`, `mcnemar(exact=True)`), computed once; of bounds scipy 1.12 (`beta.ppf(0.95, 1, n)`), of AC1 irrCAC 0.4.4 (`CAC.gwet`), of alpha krippendorff (`alpha`).
"""

from __future__ import annotations

import pytest

from review.domain.statistics import (
    Agreement,
    Proportion,
    krippendorff,
    pooled_mean,
    shrunk,
)


@pytest.mark.parametrize(
    ("k", "n", "low", "high", "word"),
    [
        (0, 0, 0.0, 1.0, "few"),
        (0, 5, 0.0, 0.434491, "few"),
        (3, 3, 0.438494, 1.0, "few"),
        (8, 8, 0.675584, 1.0, "undecided"),
        (9, 9, 0.700847, 1.0, "trusted"),
        (19, 20, 0.763864, 0.991119, "trusted"),
        (27, 30, 0.743786, 0.965401, "trusted"),
        (14, 18, 0.547850, 0.909992, "undecided"),
        (2, 11, 0.051367, 0.476986, "noisy"),
        (1, 40, 0.004427, 0.128817, "noisy"),
        (500, 1000, 0.469069, 0.530931, "undecided"),
    ],
)
def test_wilson_interval_and_the_word_for_it(k, n, low, high, word):
    found = Proportion(k, n)

    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-6)
    assert found.word == word


@pytest.mark.parametrize(
    ("n", "most"),
    [(1, 0.95), (8, 0.312343978), (30, 0.095033853), (100, 0.029513050), (1000, 0.002991250)],
)
def test_none_in_n_is_seldom_more_than_three_in_n(n, most):
    assert Proportion(0, n).bound == pytest.approx(most, abs=1e-8)
    assert most < 3 / n
    assert Proportion(n, n).bound == pytest.approx(1 - most)
    assert Proportion(1, n + 1).bound is None


def test_ac1_is_high_where_flags_are_rare():
    assert Agreement(4, 5, 5, 186).ac1 == pytest.approx(0.9452983972)
    assert Agreement(45, 15, 25, 15).ac1 == pytest.approx(0.2660550459)
    assert Agreement().ac1 is None


@pytest.mark.parametrize(
    ("table", "positive", "kappa", "p"),
    [
        ((4, 3, 9, 184), 0.4, 0.3713986380303813, 0.14599609375),
        ((20, 5, 1, 74), 0.8695652173913043, 0.8309859154929576, 0.21875),
        ((10, 0, 8, 82), 0.7142857142857143, 0.6721311475409838, 0.0078125),
        ((45, 15, 25, 15), 0.6923076923076923, 0.13043478260869554, 0.1538599441628321),
        ((5, 0, 0, 5), 1.0, 1.0, 1.0),
        ((0, 0, 0, 10), None, None, 1.0),
        ((0, 0, 0, 0), None, None, 1.0),
    ],
)
def test_agreement_of_two_judges(table, positive, kappa, p):
    found = Agreement(*table)

    assert found.positive == (None if positive is None else pytest.approx(positive))
    assert found.kappa == (None if kappa is None else pytest.approx(kappa))
    assert found.mcnemar == pytest.approx(p)


@pytest.mark.parametrize(
    ("ratings", "alpha"),
    [
        ([(2, 0), (2, 1), (0, 3), (0, 3), (0, 2), (0, 2), (3, 0), (1, 2), (1, 2), (2, 0)], 6 / 11),
        ([(3, 0), (0, 2), (1, 0)], 1.0),
        ([(0, 3), (0, 2)], None),
    ],
)
def test_agreement_of_several_judges(ratings, alpha):
    assert krippendorff(ratings) == (None if alpha is None else pytest.approx(alpha))


def test_mcnemar_holds_for_numbers_beyond_a_float():
    assert Agreement(first=2000, second=2000).mcnemar == 1.0
    assert 0 <= Agreement(first=3000, second=1000).mcnemar < 1e-200


def test_a_small_gate_borrows_from_its_lens():
    lens = pooled_mean(Proportion(30, 40))
    new, known = Proportion(0, 0), Proportion(1, 10)

    assert shrunk(new, mean=lens, weight=4).mean == pytest.approx(30.5 / 41)
    assert shrunk(known, mean=lens, weight=4).mean == pytest.approx((4 * 30.5 / 41 + 1) / 14)
    assert shrunk(new, mean=lens, weight=4).learned_by_one > (
        shrunk(known, mean=lens, weight=4).learned_by_one
    )
    assert pooled_mean(new) == 0.5
