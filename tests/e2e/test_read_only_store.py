"""A server over a store that it may only read shows what others write there."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.builders import make_root
from tests.helpers.commands import REPOSITORY, process_environment, run_process

# Who runs the tests may write everywhere: that this process may not, it is told.
LOOKS = """
import json, sqlite3
from commonplace_site.loading import WEB_SETTINGS, load_apps
load_apps(WEB_SETTINGS)
from django.db import OperationalError, connection
from review import store
from review.models import ModelPartition
from review.store import opening as sqlite_file
writable = False
sqlite_file.is_writable = lambda path: writable
path = connection.settings_dict["NAME"]
store.ensure_store(write=False)
seen = {"at first": ModelPartition.objects.count()}
writer = sqlite3.connect(path)
writer.execute("INSERT INTO review_model_partitions (name) VALUES ('m-1')")
writer.commit()
store.recheck_store()
seen["while somebody writes"] = ModelPartition.objects.count()
writer.close()
store.recheck_store()
seen["afterwards"] = ModelPartition.objects.count()
try:
    ModelPartition.objects.create(name="m-2")
except OperationalError as error:
    seen["a write"] = str(error)
writable = True
store.recheck_store()
ModelPartition.objects.create(name="m-2")
seen["writable by now"] = [ModelPartition.objects.count(), connection.settings_dict["NAME"] == path]
print(json.dumps(seen))
"""


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    root = make_root(tmp_path_factory.mktemp("read-only"))
    assert run_process("review_status", root=root).exit == 0
    done = subprocess.run(
        [sys.executable, "-c", LOOKS], cwd=REPOSITORY, capture_output=True, text=True, check=False,
        env=process_environment(root),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


class TestReadOnlyStore:
    def test_shows_what_is_written_while_it_is_open(self, seen):
        assert (seen["at first"], seen["while somebody writes"], seen["afterwards"]) == (0, 1, 1)

    def test_is_not_written_to(self, seen):
        assert "readonly" in seen["a write"]

    def test_is_written_to_once_it_may_be(self, seen):
        assert seen["writable by now"] == [2, True]
