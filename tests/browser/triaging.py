"""What tests of triage ask of a tab: the rows, the one in focus, and what was recorded."""

from __future__ import annotations

from review.models import Disposition
from tests.browser.visiting import Visit

TEN = [f"point {number} of the note" for number in range(10)]


def shown(visit: Visit) -> list[str]:
    """The texts of the rows that are there to be decided."""
    return visit.page.locator("[data-row] .says").all_inner_texts()


def in_focus(visit: Visit) -> str:
    """The text of the row that has the focus."""
    return str(
        visit.page.evaluate("document.activeElement.querySelector('.says')?.innerText ?? ''")
    )


def wait_for_states(visit: Visit, number: int) -> dict[str, list[str]]:
    """All that was recorded, once there are as many; by fingerprint."""
    for _ in range(100):
        words = list(Disposition.objects.order_by("pk").values_list("fingerprint", "state"))
        if len(words) >= number:
            break
        visit.page.wait_for_timeout(50)
    found: dict[str, list[str]] = {}
    for mark, state in words:
        found.setdefault(mark, []).append(state)
    return found


def settle(visit: Visit) -> None:
    """Wait until no row is on its way out, and the list is the server's."""
    visit.page.locator(".leaving").first.wait_for(state="detached")
