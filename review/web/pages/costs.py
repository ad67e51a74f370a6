"""The page of costs: by partition, lens, gate and runner, and a week at a time."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import path

from review.jobs.costs import CostsJson, read_costs
from review.overview.documents import StatusJson
from review.web.core.cached import cached, trends
from review.web.core.filters import Filters, parse_filters
from review.web.core.responses import page
from review.web.pages.start import read_whole_status
from review.web.render.charts import make_chart


def costs(request: HttpRequest) -> HttpResponse:
    filters = parse_filters(request, {"partition": None})
    return page(
        request,
        "review/costs.html",
        lambda: _context(filters),
        document=lambda: _document(filters.one("partition") or None),
    )


def _document(partition: str | None) -> StatusJson:
    """The answer of `review_status --costs`."""
    status = read_whole_status(partition)
    status.costs = _read(partition)
    return status


def _read(partition: str | None) -> CostsJson:
    return cached(
        f"costs {partition}",
        lambda _corpus, config: read_costs(model_partition=partition, config=config),
    ).value


def _context(filters: Filters) -> dict[str, Any]:
    partition = filters.one("partition")
    found, (trend, _lenses) = _read(partition or None), trends()
    shown = {name: values for name, values in trend.costs.items() if partition in ("", name)}
    return {
        "filters": filters,
        "partition": partition,
        "total": found.total,
        "chart": make_chart(trend.ends, shown, digits=2),
        "tables": [
            ("Model partition", found.partitions),
            ("Lens", found.lenses),
            ("Gate", found.gates),
            ("Runner", found.runners),
            ("Purpose", found.purposes if len(found.purposes) > 1 else []),
        ],
    }


urlpatterns = [path("costs/", costs, name="costs")]
