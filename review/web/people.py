"""The administration of people: Django's own pages, with boxes to tick in place of lists to shift."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, Permission, User
from django.db.models import ManyToManyField, Q, QuerySet
from django.forms import CheckboxSelectMultiple, ModelMultipleChoiceField
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

if TYPE_CHECKING:
    _UserPages = UserAdmin[User]
    _Many = ModelMultipleChoiceField[Permission]
else:
    _UserPages = UserAdmin
    _Many = ModelMultipleChoiceField

# What the pages ask for, in the words of what it lets a person do.
ACTS = {
    "change_reviewjob": "request reviews; ingest, fail and replace jobs",
    "change_reviewpair": "set the decision of a review; override an acceptance",
    "change_finding": "dispose of findings",
    "change_acceptance": "ack changes",
}
_PEOPLE = ("user", "group")


class PermissionsField(_Many):
    """Permissions by what they let a person do."""

    def label_from_instance(self, obj: Any) -> str:
        """The sentence, and the name that a refusal gives."""
        app = obj.content_type.app_label
        said = ACTS.get(obj.codename) if app == "review" else None
        return f"{said or obj.name} ({app}.{obj.codename})"


class PeopleAdmin(_UserPages):
    """Who may see the pages, and who may act; moments are told and cannot be set."""

    filter_horizontal = ()
    readonly_fields = ("logged_in", "joined")
    fieldsets = (
        (None, {"fields": ("username", "password")}),
        ("Name", {"fields": ("first_name", "last_name", "email")}),
        (
            "What this person may do",
            {
                "fields": ("is_active", "is_staff", "is_superuser", "groups", "user_permissions"),
                "description": "Staff see every page. Acting on jobs, reviews, findings or "
                "acceptances takes the permission to change them.",
            },
        ),
        ("Since when", {"fields": ("logged_in", "joined")}),
    )

    def formfield_for_manytomany(
        self, db_field: ManyToManyField[Any, Any], request: HttpRequest, **kwargs: Any
    ) -> ModelMultipleChoiceField[Any] | None:
        """Groups and permissions as boxes: no script is needed, and every box has its label."""
        return super().formfield_for_manytomany(db_field, request, **kwargs, **_boxes(db_field))

    @admin.display(description="last login")
    def logged_in(self, user: User) -> SafeString:
        """The moment, or that there was none."""
        return _moment(user.last_login)

    @admin.display(description="joined")
    def joined(self, user: User) -> SafeString:
        """The moment."""
        return _moment(user.date_joined)


class GroupsAdmin(GroupAdmin):
    """Permissions that several people share."""

    filter_horizontal = ()

    def formfield_for_manytomany(
        self, db_field: ManyToManyField[Any, Any], request: HttpRequest | None = None, **kwargs: Any
    ) -> ModelMultipleChoiceField[Any] | None:
        """Permissions as boxes."""
        return super().formfield_for_manytomany(db_field, request, **kwargs, **_boxes(db_field))


def register_people(site: admin.AdminSite) -> None:
    """Put these pages in the place of Django's own, which importing them has registered."""
    site.unregister(User)
    site.register(User, PeopleAdmin)
    site.unregister(Group)
    site.register(Group, GroupsAdmin)


def _boxes(db_field: Any) -> dict[str, Any]:
    boxes = {"widget": CheckboxSelectMultiple(), "help_text": ""}
    if db_field.related_model is not Permission:
        return boxes
    return boxes | {"form_class": PermissionsField, "queryset": _offered()}


def _offered() -> QuerySet[Permission]:
    """What our pages ask for, and whatever anybody holds: to save a form takes nothing away."""
    wanted = Q(content_type__app_label="review", codename__in=ACTS) | Q(
        content_type__app_label="auth", content_type__model__in=_PEOPLE
    )
    held = Q(user__isnull=False) | Q(group__isnull=False)
    ids = Permission.objects.filter(wanted | held).values("pk")
    return (
        Permission.objects.filter(pk__in=ids)
        .select_related("content_type")
        .order_by("-content_type__app_label", "content_type__model", "pk")
    )


def _moment(at: Any) -> SafeString:
    return format_html("<time>{}</time>", f"{at:%Y-%m-%d %H:%M} UTC") if at else SafeString("never")
