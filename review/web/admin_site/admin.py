"""The administration: lists that change nothing, and three named actions that recover jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from django.contrib import admin
from django.contrib.admin.filters import ChoicesFieldListFilter, FieldListFilter
from django.contrib.admin.options import ShowFacets
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, User
from django.db.models import ManyToManyField, QuerySet
from django.forms import CheckboxSelectMultiple
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from review import settings
from review.domain.printing import count_words
from review.models import Acceptance, FileSnapshot, JobEvent, ReviewJob, ReviewPair
from review.recovery.recover import RecoveryAction
from review.web.core import SeeOther, badge, label, read_number
from review.web.pages.jobs import MAX_AT_ONCE, preview_url, queue_missing, recover_jobs

SHOWN_CHARACTERS = 100_000
_PAGES = {ReviewJob: "job", ReviewPair: "review"}  # that tell the history of a row

# The lists need the width; the start page of the administration names them all.
admin.site.enable_nav_sidebar = False
admin.site.index_title = "Administration"


class _Words(ChoicesFieldListFilter):
    def choices(self, changelist: Any) -> Iterator[Any]:
        """Words of closed lists in sentence case."""
        for choice in super().choices(changelist):
            yield choice | {"display": str(choice["display"]).capitalize()}


FieldListFilter.register(lambda field: bool(field.choices), _Words, take_priority=True)


class _Checkboxes(admin.ModelAdmin):
    """Groups and permissions as checkboxes: the admin's two lists side by side are not accessible."""

    filter_horizontal = ()
    formfield_overrides: ClassVar = {ManyToManyField: {"widget": CheckboxSelectMultiple}}


admin.site.unregister((User, Group))


@admin.register(User)
class PeopleAdmin(_Checkboxes, UserAdmin):
    readonly_fields = ("last_login", "date_joined")


@admin.register(Group)
class GroupsAdmin(_Checkboxes, GroupAdmin):
    pass


class _ReadOnly:
    """Staff can view everything; rows cannot be added, changed or deleted here."""

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return True

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    has_change_permission = has_delete_permission = has_add_permission


class ReadOnlyAdmin(_ReadOnly, admin.ModelAdmin):
    show_full_result_count = False
    ordering = ("-pk",)
    change_form_template = "admin/review/change_form.html"

    def has_module_permission(self, request: HttpRequest) -> bool:
        return True

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Allow actions on the list; a row is never changed."""
        return obj is None and admin.ModelAdmin.has_change_permission(self, request)

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Give the list its own title: nothing is selected "to change"."""
        title = str(self.opts.verbose_name_plural).capitalize()
        return super().changelist_view(request, {"title": title, **(extra_context or {})})

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if (number := read_number(object_id)) is None:
            raise Http404
        change = f"admin:review_{self.opts.model_name}_change"
        return SeeOther(f"{reverse(_PAGES.get(self.model, change), args=[number])}#events")


class ReadOnlyInline(_ReadOnly, admin.TabularInline):
    template = "admin/review/inline.html"
    extra = 0


class PairInline(ReadOnlyInline):
    model = ReviewPair
    fields = ("ordinal", "note", "gate", "status", "decision", "not_accepted", "problem")
    ordering = ("ordinal",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[ReviewPair]:
        return super().get_queryset(request).select_related("note", "gate")


class EventInline(ReadOnlyInline):
    model = JobEvent
    fields = ("at", "from_status", "to_status", "actor", "note")
    ordering = ("pk",)


def _leading_to(action: RecoveryAction, name: str, description: str) -> Callable[..., Any]:
    """An action that leads to the page that shows what recovering the jobs would do."""

    @admin.action(description=description, permissions=["change"])
    def confirm(
        self: ReadOnlyAdmin, request: HttpRequest, jobs: QuerySet[ReviewJob]
    ) -> HttpResponse | None:
        ids = list(jobs.order_by("pk").values_list("pk", flat=True)[: MAX_AT_ONCE + 1])
        if len(ids) > MAX_AT_ONCE:
            self.message_user(
                request, f"at most {count_words(MAX_AT_ONCE, 'job')} at once", level="error"
            )
            return None
        return SeeOther(preview_url(action, ids))

    confirm.__name__ = name
    return confirm


@admin.action(description="Queue again: new jobs for missing pairs", permissions=["change"])
def queue_again(self: ReadOnlyAdmin, request: HttpRequest, jobs: QuerySet[ReviewJob]) -> None:
    queue_missing(request, list(jobs.values_list("pk", flat=True)))


@admin.register(ReviewJob)
class ReviewJobAdmin(ReadOnlyAdmin):
    list_display = (
        "number", "state", "model_partition", "lens", "pair_count", "claimed_by", "started_at",
        "why",
    )  # fmt: skip
    list_display_links = ("number",)
    list_filter = ("status", "failure_code", "grouping", "model_partition", "lens")
    list_select_related = ("model_partition",)
    search_fields = ("=id", "claimed_by", "lens", "failure_reason", "model_partition__name")
    search_help_text = "a job's number; or who claimed it, its lens or partition, or why it failed"
    show_facets = ShowFacets.ALWAYS
    actions = (
        _leading_to(RecoveryAction.INGEST, "ingest_now", "Ingest: store the output"),
        _leading_to(RecoveryAction.FAIL, "fail", "Fail: give up the job"),
        _leading_to(
            RecoveryAction.REPLACE, "replace", "Replace: fail, and queue a new job for its pairs"
        ),
        queue_again,
    )
    inlines = (PairInline, EventInline)
    change_form_template = "admin/review/reviewjob/change_form.html"

    @admin.display(description="job", ordering="pk")
    def number(self, job: ReviewJob) -> str:
        return f"Job {job.pk}"

    @admin.display(description="status", ordering="status")
    def state(self, job: ReviewJob) -> SafeString:
        return badge(job.status)

    @admin.display(description="why it failed", ordering="failure_code")
    def why(self, job: ReviewJob) -> str:
        return f"{job.failure_code}: {job.failure_reason[:120]}" if job.failure_code else ""

    def get_urls(self) -> list[URLPattern]:
        view, name = self.admin_site.admin_view(self.recover), "review_reviewjob_recover"
        return [path("recover/<str:action>/", view, name=name), *super().get_urls()]

    def recover(self, request: HttpRequest, action: str) -> HttpResponse:
        context = self.admin_site.each_context(request) | {"opts": self.model._meta}
        return recover_jobs(request, action, around=context)


@admin.display(description="decision", ordering="decision")
def decided(row: ReviewPair | Acceptance) -> SafeString:
    return badge(row.decision)


@admin.display(description="gate", ordering="gate__path")
def gate_id(row: ReviewPair | Acceptance) -> str:
    return settings.current().gate_label(row.gate.path)


def _in_words(name: str) -> Callable[[Any], str]:
    """A column of words of a closed list."""
    return admin.display(description=name.replace("_", " "), ordering=name)(
        lambda row: label(getattr(row, name))
    )


@admin.register(ReviewPair)
class ReviewPairAdmin(ReadOnlyAdmin):
    list_display = (
        "id",
        decided,
        "status",
        _in_words("not_accepted"),
        "note",
        gate_id,
        "job",
        "reviewed_at",
    )
    list_filter = ("status", "decision", "decision_source", "not_accepted")
    list_select_related = ("note", "gate", "job")
    search_fields = ("=id", "=job__id", "note__path", "gate__path")
    search_help_text = "a pair's or job's number, or a part of a note's or gate's path"
    fields = (
        "review", "job", "ordinal", "note", "gate", "note_snapshot", "gate_snapshot", "status",
        "decision", "decision_source", "problem", "not_accepted", "result_path", "reviewed_at",
    )  # fmt: skip
    readonly_fields = ("review",)

    @admin.display(description="review")
    def review(self, pair: ReviewPair) -> SafeString:
        url = reverse("review", args=[pair.pk])
        return format_html('<a href="{}">Read it, or set its decision</a>', url)


@admin.register(FileSnapshot)
class FileSnapshotAdmin(ReadOnlyAdmin):
    list_display = ("id", "path", "content_sha256", "byte_size", "captured_at")
    list_filter = ("captured_at",)
    list_select_related = ("path",)
    search_fields = ("path__path", "content_sha256__startswith")
    search_help_text = "a part of a path, or the beginning of a digest"
    fields = ("path", "content_sha256", "byte_size", "captured_at", "shown")
    readonly_fields = ("shown",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[FileSnapshot]:
        return super().get_queryset(request).defer("text")

    @admin.display(description="text")
    def shown(self, snapshot: FileSnapshot) -> SafeString:
        return format_html('<pre class="text">{}</pre>', snapshot.text[:SHOWN_CHARACTERS])


@admin.register(Acceptance)
class AcceptanceAdmin(ReadOnlyAdmin):
    list_display = (
        "id", decided, _in_words("kind"), "note", gate_id, "model_partition", "actor", "accepted_at", "reason",
    )  # fmt: skip
    list_filter = ("kind", "decision", "model_partition")
    list_select_related = ("note", "gate", "model_partition")
    search_fields = ("note__path", "gate__path", "actor", "reason")
    search_help_text = "a part of a note's or gate's path, who, or why"
