"""The page of events."""

from __future__ import annotations

from datetime import timedelta

import pytest

from review.acceptance.ack import AckRequest, ack_gate_review
from review.acceptance.decide import OverrideRequest, override_acceptance
from review.jobs.job_documents import JobEventJson
from review.models import DecisionEvent, ReviewPair
from tests.builders import NOTE, NOW, PARTITION, make_gate, write_gate, write_note
from tests.helpers.jobs import queued
from tests.helpers.reviewed import ingest, open_corpus, review_pairs
from tests.helpers.triage import decide, report

LATER = NOW + timedelta(hours=2)


def acts_of(response):
    """The events of the page, as documents have them."""
    return [shown[0].event for shown in response.context["events"]]


def words_of(response):
    """What became of each thing that was acted on."""
    return [
        event.to_status
        if isinstance(event, JobEventJson)
        else getattr(event, "state", None) or event.decision
        for event in acts_of(response)
    ]


@pytest.fixture
def eventful(root, db):
    """A reported finding that was rejected, and a review on which a person decided."""
    (mark,) = report(root, "a.md", "prose/x", "vague")
    decide(mark, "rejected", at=LATER, actor="human:bo", reason="it is not")
    pair = ReviewPair.objects.get()
    DecisionEvent.objects.create(
        pair=pair, decision="pass", actor="human:cy", reason="mild", at=LATER + timedelta(hours=1)
    )
    return mark


@pytest.fixture
def acked(root, db):
    """Two pairs whose note changed and was acked, and one that was overridden."""
    write_gate(root, "prose/y", make_gate("prose/y"))
    review_pairs(root, ("a.md", "prose/x"), ("a.md", "prose/y"))
    write_note(root, "a.md", NOTE + "\nOne more line.\n")
    names = {"note": "kb/notes/a.md", "model_partition": PARTITION}
    acks = AckRequest(gates=("prose/x", "prose/y"), actor="human:ana", **names)
    ack_gate_review(acks, corpus=open_corpus(root), now=LATER)
    override = OverrideRequest(gates=("prose/x",), reason="leave it", actor="human:bo", **names)
    override_acceptance(override, corpus=open_corpus(root), now=LATER + timedelta(hours=1))


class TestAcceptances:
    def test_acks_and_overrides_stand_among_the_moves(self, web, acked):
        page = web.get("/events/")

        override, ack, *_more = acts_of(page)
        assert (override.kind, override.actor, override.reason) == (
            "override",
            "human:bo",
            "leave it",
        )
        assert (ack.kind, ack.note_path, ack.model_partition) == (
            "ack",
            "kb/notes/a.md",
            PARTITION,
        )
        assert "with 1 more pair at once" in page.content.decode()

    def test_one_s_own_acks_can_be_asked_for(self, web, acked):
        page = web.get("/events/?what=acceptance&actor=human:ana")

        assert [event.gate_id for event in acts_of(page)] == ["prose/y"]

    def test_the_document_has_them_apart(self, web, acked):
        document = web.get("/events/?what=acceptance&format=json").json()

        assert [item["kind"] for item in document["acceptances"]] == ["override", "ack", "ack"]
        assert document["events"] == []


class TestEvents:
    def test_every_move_newest_first(self, web, root):
        job_id = queued(root)
        ingest(root, job_id)

        events = acts_of(web.get("/events/"))

        assert [(event.from_status, event.to_status) for event in events] == [
            ("queued", "completed"),
            (None, "queued"),
        ]

    def test_what_people_decided_stands_among_the_moves(self, web, eventful):
        page = web.get("/events/")

        assert words_of(page) == ["pass", "rejected", "completed", "queued"]
        decision, disposition = acts_of(page)[:2]
        assert (decision.actor, decision.reason, decision.gate_id) == (
            "human:cy",
            "mild",
            "prose/x",
        )
        assert (disposition.actor, disposition.reason) == ("human:bo", "it is not")
        assert (disposition.text, disposition.note_path) == ("vague", "kb/notes/a.md")

    def test_names_them_on_the_start_page_too(self, web, eventful):
        page = web.get("/").content.decode()

        assert "human:bo" in page
        assert f"/findings/{eventful}/" in page

    def test_a_finding_that_no_review_reports_any_more_is_named_by_its_mark(self, web, root, db):
        decide("0123456789abcdef", "fixed")

        page = web.get("/events/")

        assert acts_of(page)[0].text is None
        assert ">0123456789abcdef</a>" in page.content.decode()

    def test_what_was_done_at_once_is_one_entry(self, web, root, db):
        for mark in report(root, "a.md", "prose/x", "vague", "unclear", "too long"):
            decide(mark, "fixed", at=LATER)
        decide(mark, "fixed", at=LATER, reason="another reason")

        first, second, *_jobs = web.get("/events/?what=finding").context["events"]

        assert (len(first[1:]), len(second[1:])) == (0, 2)

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

        assert words_of(web.get(f"/events/?{query}")) == moves

    @pytest.mark.parametrize(
        ("query", "words"),
        [
            pytest.param("what=finding", ["rejected"], id="findings"),
            pytest.param("what=review", ["pass"], id="decisions"),
            pytest.param("what=job&what=finding", ["rejected", "completed", "queued"], id="two"),
            pytest.param("as=rejected", ["rejected"], id="a-state-asks-for-findings"),
            pytest.param("as=fixed", [], id="another-state"),
            pytest.param(
                "to=queued&as=rejected", ["rejected", "queued"], id="a-state-and-a-status"
            ),
            pytest.param("to=queued&what=finding", [], id="nothing-is-both"),
            pytest.param("actor=human:bo", ["rejected"], id="one-actor"),
        ],
    )
    def test_filters_what_people_decided(self, web, eventful, query, words):
        assert words_of(web.get(f"/events/?{query}")) == words

    def test_filters_by_job(self, web, root):
        _other, job_id = queued(root), queued(root)

        events = acts_of(web.get(f"/events/?job={job_id}"))

        assert [event.review_job_id for event in events] == [job_id]

    @pytest.mark.parametrize("word", ["x", "-1", "²", "9" * 30])
    def test_a_job_is_named_by_its_number(self, web, root, word):
        assert web.get(f"/events/?job={word}").status_code == 400

    def test_goes_on_below_the_last_of_a_page(self, web, eventful, monkeypatch):
        monkeypatch.setattr("review.web.pages.start.EVENTS_A_PAGE", 1)
        address, seen = "/events/", []

        while address:
            page = web.get(address)
            seen += words_of(page)
            address = page.context["paged"].next_url

        assert seen == ["pass", "rejected", "completed", "queued"]

    def test_the_document_has_each_kind_apart(self, web, eventful):
        document = web.get("/events/?format=json").json()

        assert document["schema"] == "review-events/1"
        assert [event["to_status"] for event in document["events"]] == ["completed", "queued"]
        assert [event["state"] for event in document["dispositions"]] == ["rejected"]
        assert [event["decision"] for event in document["decisions"]] == ["pass"]
        assert document["next"] is None

    def test_the_document_leads_to_the_document_after_it(self, web, eventful, monkeypatch):
        monkeypatch.setattr("review.web.pages.start.EVENTS_A_PAGE", 1)

        first = web.get("/events/?format=json").json()
        second = web.get(first["next"]).json()

        assert [len(first[kind]) for kind in ("decisions", "dispositions")] == [1, 0]
        assert [len(second[kind]) for kind in ("decisions", "dispositions")] == [0, 1]

    def test_no_more_queries_with_more_events(self, web, root, eventful, count_queries):
        web.get("/events/")  # a process looks at the store once
        few = count_queries(lambda: web.get("/events/"))
        for mark in report(root, "a.md", "prose/x", "one", "two", "three", "four"):
            decide(mark, "fixed")

        assert count_queries(lambda: web.get("/events/")) == few
