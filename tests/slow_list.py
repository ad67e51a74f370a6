"""Write `slow_tests.txt` from the times of a full run: `python -m tests.slow_list REPORT.xml ...`.

The reports are JUnit files of pytest. Of each folder the tests with the highest time are taken, all
parameters of a test together, until what is left of the folder fits its share of the fast tier.
"""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ET
from collections import defaultdict
from pathlib import Path

TESTS = Path(__file__).parent
SHARE_OF_TESTS = 0.45
SECONDS = 0.7  # of all its parameters together; a quicker test is never slow


def main(reports: list[str]) -> None:
    """Write the list."""
    times: dict[str, float] = defaultdict(float)
    counts: dict[str, int] = defaultdict(int)
    for report in reports:
        for case in ET.parse(report).getroot().iter("testcase"):  # noqa: S314
            name = _node_id(case.attrib["classname"], case.attrib["name"])
            times[name] += float(case.attrib["time"])
            counts[name] += 1
    folders: dict[str, list[str]] = defaultdict(list)
    for name in times:
        folders[name.partition("::")[0].rpartition("/")[0]].append(name)
    slow: list[str] = []
    for names in folders.values():
        left = sum(counts[name] for name in names) * SHARE_OF_TESTS
        for name in sorted(names, key=lambda one: times[one], reverse=True):
            if left <= 0 or times[name] < SECONDS:
                break
            slow.append(name)
            left -= counts[name]
    (TESTS / "slow_tests.txt").write_text("".join(f"{name}\n" for name in sorted(slow)))
    total, saved = sum(times.values()), sum(times[name] for name in slow)
    print(f"{len(slow)} of {len(times)} tests are slow: {saved:.0f} of {total:.0f} seconds")  # noqa: T201


def _node_id(classname: str, name: str) -> str:
    """Return the node's id without parameters; the class name is dotted from the root."""
    parts = classname.split(".")
    for end in range(len(parts), 0, -1):
        path = Path(*parts[:end]).with_suffix(".py")
        if (TESTS.parent / path).is_file():
            return "::".join([path.as_posix(), *parts[end:], name.partition("[")[0]])
    return f"{classname}::{name}"


if __name__ == "__main__":
    main(sys.argv[1:])
