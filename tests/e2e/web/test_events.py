"""The page of events."""

from __future__ import annotations

import pytest

from tests.helpers.jobs import queued
from tests.helpers.reviewed import ingest


class TestEvents:
    def test_every_move_newest_first(self, web, root):
        job_id = queued(root)
        ingest(root, job_id)

        events = web.get("/events/").context["events"]

        assert [(event.from_status, event.to_status) for event in events] == [
            ("queued", "completed"),
            (None, "queued"),
        ]

    @pytest.mark.parametrize(
        ("query", "moves"),
        [
            pytest.param("to=completed", ["completed"], id="where-to"),
            pytest.param("actor=agent:", ["completed"], id="a-kind-of-actor"),
            pytest.param("actor=human:test", ["queued"], id="one-actor"),
            pytest.param("actor=human:", ["queued"], id="people"),
            pytest.param("actor=human:te", [], id="a-name-is-whole"),
            pytest.param("to=queued&to=completed", ["completed", "queued"], id="two-values"),
        ],
    )
    def test_filters(self, web, root, query, moves):
        ingest(root, queued(root))

        events = web.get(f"/events/?{query}").context["events"]

        assert [event.to_status for event in events] == moves

    def test_filters_by_job(self, web, root):
        _other, job_id = queued(root), queued(root)

        events = web.get(f"/events/?job={job_id}").context["events"]

        assert [event.review_job_id for event in events] == [job_id]

    @pytest.mark.parametrize("word", ["x", "-1", "²", "9" * 30])
    def test_a_job_is_named_by_its_number(self, web, root, word):
        assert web.get(f"/events/?job={word}").status_code == 400

    def test_goes_on_below_the_last_of_a_page(self, web, root, monkeypatch):
        monkeypatch.setattr("review.web.events.EVENTS_A_PAGE", 1)
        ingest(root, queued(root))

        first = web.get("/events/")
        second = web.get(first.context["paged"].next_url)

        assert [event.to_status for event in second.context["events"]] == ["queued"]
        assert web.get("/events/?format=json").json()["schema"] == "review-events/1"
