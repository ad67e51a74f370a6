"""The administration: lists that change nothing, and three named actions that recover jobs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.contrib import admin
from django.contrib.admin.options import ShowFacets
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from review.models import Acceptance, FileSnapshot, JobEvent, ReviewJob, ReviewPair
from review.orchestration.recovery import RecoveryAction
from review.vocabulary import ACCEPTING_DECISIONS
from review.web.acting import SeeOther
from review.web.long_lists import LOOKED_THROUGH, BoundedPaginator, Searched, search_rows
from review.web.people import register_people
from review.web.recovering import MAX_AT_ONCE, PERMISSION, recover_jobs
from review.web.template_tags import badge

SHOWN_CHARACTERS = 100_000
JOBS_A_PAGE = 100
AMONG_THE_LATEST = f"among the latest {LOOKED_THROUGH:,}"


# The lists need the width; the start page of the administration names them all.
admin.site.enable_nav_sidebar = False
register_people(admin.site)


class ReadOnlyAdmin(admin.ModelAdmin):
    """A list and a page for each row; staff see both, and nobody changes a field."""

    list_per_page = JOBS_A_PAGE
    paginator = BoundedPaginator
    show_full_result_count = False
    actions_selection_counter = True
    searched = Searched()

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """By what an index finds, else among the latest rows."""
        return search_rows(queryset, search_term, by=self.searched), False

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Under the name of what is listed: nothing is selected "to change"."""
        title = str(self.opts.verbose_name_plural).capitalize()
        return super().changelist_view(request, {"title": title, **(extra_context or {})})

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Staff see everything."""
        return True

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Staff see everything."""
        return True

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Rows are made by use cases."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Of a row: never. Of the list: whether actions may be taken on it."""
        return obj is None and super().has_change_permission(request)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """History is kept."""
        return False


class ReadOnlyInline(admin.TabularInline):
    """Rows of another table on a row's page."""

    template = "admin/review/inline.html"
    extra = 0
    can_delete = False
    show_change_link = False

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Rows are made by use cases."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nothing is changed."""
        return False

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Staff see everything."""
        return True


class PairInline(ReadOnlyInline):
    """The pairs of a job."""

    model = ReviewPair
    fields = ("ordinal", "note", "gate", "status", "decision", "not_accepted", "problem")
    ordering = ("ordinal",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[ReviewPair]:
        """With the names that are shown."""
        return super().get_queryset(request).select_related("note", "gate")


class EventInline(ReadOnlyInline):
    """The timeline of a job."""

    model = JobEvent
    fields = ("at", "from_status", "to_status", "actor", "note")
    ordering = ("pk",)


class FailureFilter(admin.AllValuesFieldListFilter):
    """Why jobs failed; that most did not has a name, too."""

    def choices(self, changelist: Any) -> Iterator[Any]:
        """As they are, but for the empty one."""
        for choice in super().choices(changelist):
            shown = str(choice["display"])
            is_empty = shown.partition(" (")[0] == ""
            yield {**choice, "display": f"not failed{shown}" if is_empty else shown}


@admin.register(ReviewJob)
class ReviewJobAdmin(ReadOnlyAdmin):
    """Jobs, with the actions that recover them."""

    list_display = (
        *("number", "state", "model_partition", "lens", "pairs_asked"),
        *("claimed_by", "started_at", "why"),
    )
    list_display_links = ("number",)
    list_filter = (
        *("status", ("failure_code", FailureFilter)),
        *("grouping", "model_partition", "lens"),
    )
    list_select_related = ("model_partition",)
    search_fields = ("pk",)  # so that there is a form for `searched`
    searched = Searched(
        numbers=("id",),
        texts=(
            *("claimed_by__icontains", "lens__icontains", "failure_reason__icontains"),
            "model_partition__name__icontains",
        ),
    )
    search_help_text = (
        "a job's number; or who claimed it, its lens or partition, or why it failed:"
        f" {AMONG_THE_LATEST}"
    )
    show_facets = ShowFacets.ALWAYS
    ordering = ("-pk",)
    actions = ("ingest_now", "fail", "replace")
    inlines = (PairInline, EventInline)
    change_form_template = "admin/review/reviewjob/change_form.html"

    @admin.display(description="job", ordering="pk")
    def number(self, job: ReviewJob) -> str:
        """Its number."""
        return f"Job {job.pk}"

    @admin.display(description="status", ordering="status")
    def state(self, job: ReviewJob) -> SafeString:
        """Glyph and word."""
        return badge(job.status)

    @admin.display(description="pairs", ordering="pair_count")
    def pairs_asked(self, job: ReviewJob) -> int:
        """How many."""
        return job.pair_count

    @admin.display(description="why it failed", ordering="failure_code")
    def why(self, job: ReviewJob) -> str:
        """The beginning of it."""
        return f"{job.failure_code}: {job.failure_reason[:120]}" if job.failure_code else ""

    @admin.action(description="Ingest now: ingest the output that is there", permissions=["change"])
    def ingest_now(self, request: HttpRequest, jobs: QuerySet[ReviewJob]) -> HttpResponse | None:
        """Show what an ingest would do."""
        return self._confirm(request, jobs, RecoveryAction.INGEST)

    @admin.action(description="Fail: give the job up", permissions=["change"])
    def fail(self, request: HttpRequest, jobs: QuerySet[ReviewJob]) -> HttpResponse | None:
        """Show what failing would do."""
        return self._confirm(request, jobs, RecoveryAction.FAIL)

    @admin.action(
        description="Replace: fail, and make a new job for its pairs", permissions=["change"]
    )
    def replace(self, request: HttpRequest, jobs: QuerySet[ReviewJob]) -> HttpResponse | None:
        """Show what replacing would do."""
        return self._confirm(request, jobs, RecoveryAction.REPLACE)

    def _confirm(
        self, request: HttpRequest, jobs: QuerySet[ReviewJob], action: RecoveryAction
    ) -> HttpResponse | None:
        ids = list(jobs.order_by("pk").values_list("pk", flat=True)[: MAX_AT_ONCE + 1])
        if len(ids) > MAX_AT_ONCE:
            self.message_user(request, f"at most {MAX_AT_ONCE} jobs at once", level="error")
            return None
        place = reverse("admin:review_reviewjob_recover", args=[action.value])
        return SeeOther(f"{place}?ids={','.join(map(str, ids))}")

    def get_urls(self) -> list[URLPattern]:
        """With the page that previews a recovery and does it."""
        recover = path(
            "recover/<str:action>/",
            self.admin_site.admin_view(self.recover),
            name="review_reviewjob_recover",
        )
        return [recover, *super().get_urls()]

    def recover(self, request: HttpRequest, action: str) -> HttpResponse:
        """The preview, and after its confirmation the deed."""
        around = self.admin_site.each_context(request) | {"opts": self.model._meta}
        return recover_jobs(request, action, around=around)

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """With the way to the actions, for who may take them."""
        context = {
            **(extra_context or {}),
            "may_recover": request.user.has_perm(PERMISSION),
            "recoveries": [action.value for action in RecoveryAction],
        }
        return super().change_view(request, object_id, form_url, context)


@admin.register(ReviewPair)
class ReviewPairAdmin(ReadOnlyAdmin):
    """Pairs with their decisions."""

    list_display = ("id", "job", "note", "gate", "status", "decided", "not_accepted", "reviewed_at")
    list_filter = ("status", "decision", "decision_source", "not_accepted")
    list_select_related = ("note", "gate", "job")
    search_fields = ("pk",)
    searched = Searched(paths=("note", "gate"), numbers=("id", "job"))
    search_help_text = (
        "a pair's or job's number, or a part of a note's path;"
        f" or a part of a gate's: {AMONG_THE_LATEST}"
    )
    ordering = ("-pk",)
    fields = (
        *("review", "job", "ordinal", "note", "gate", "note_snapshot", "gate_snapshot"),
        *("status", "decision", "decision_source", "problem", "not_accepted"),
        *("result_path", "reviewed_at"),
    )

    @admin.display(description="decision", ordering="decision")
    def decided(self, pair: ReviewPair) -> SafeString:
        """Glyph and word."""
        return badge(pair.decision)

    @admin.display(description="review")
    def review(self, pair: ReviewPair) -> SafeString:
        """The page where it is read, and decided on."""
        return format_html('<a href="/reviews/{}/">Read it, or decide on it</a>', pair.pk)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        """What is no field of the model."""
        return ("review",)


@admin.register(FileSnapshot)
class FileSnapshotAdmin(ReadOnlyAdmin):
    """The texts that were judged."""

    list_display = ("id", "path", "content_sha256", "byte_size", "captured_at")
    list_filter = ("captured_at",)
    list_select_related = ("path",)
    search_fields = ("pk",)
    searched = Searched(paths=("path",), texts=("content_sha256__startswith",))
    search_help_text = f"a part of a path; or the beginning of a digest: {AMONG_THE_LATEST}"
    ordering = ("-pk",)
    fields = ("path", "content_sha256", "byte_size", "captured_at", "shown")

    def get_queryset(self, request: HttpRequest) -> QuerySet[FileSnapshot]:
        """A list of texts does not read them."""
        return super().get_queryset(request).defer("text")

    @admin.display(description="text")
    def shown(self, snapshot: FileSnapshot) -> SafeString:
        """The text as it is."""
        return format_html('<pre class="text">{}</pre>', snapshot.text[:SHOWN_CHARACTERS])

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        """What is no field of the model."""
        return ("shown",)


class AcceptedDecisionFilter(admin.SimpleListFilter):
    """The decisions that accept; asking the table which it holds would read all of it."""

    title = "decision"
    parameter_name = "decision"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """The words."""
        return [(word.value, word.label) for word in ACCEPTING_DECISIONS]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Acceptance]) -> Any:
        """Those that are asked for."""
        return queryset.filter(decision=self.value()) if self.value() else queryset


@admin.register(Acceptance)
class AcceptanceAdmin(ReadOnlyAdmin):
    """The events by which texts were taken as judged."""

    list_display = (
        *("id", "note", "gate", "model_partition", "kind", "decided", "actor", "accepted_at"),
        "reason",
    )
    list_filter = ("kind", AcceptedDecisionFilter, "model_partition")
    list_select_related = ("note", "gate", "model_partition")
    search_fields = ("pk",)
    searched = Searched(paths=("note", "gate"), texts=("actor__icontains", "reason__icontains"))
    search_help_text = (
        f"a part of a note's path; or a part of a gate's, who, or why: {AMONG_THE_LATEST}"
    )
    ordering = ("-pk",)

    @admin.display(description="decision", ordering="decision")
    def decided(self, event: Acceptance) -> SafeString:
        """Glyph and word."""
        return badge(event.decision)
