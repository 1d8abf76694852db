"""A seeded sample of `make fuzz`: damaged files of every kind, in a process of their own."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

import fuzz as harness
from fuzz import fuzz

MUTANTS, SEED = 60, 2026


@pytest.mark.slow
@pytest.mark.compiled
def test_no_damaged_file_does_harm():
    ended, failures = fuzz(MUTANTS, SEED)
    assert failures == []
    assert sum(ended[way] for way in ("unharmed", "refused", "refused later", "told by the digest")) == MUTANTS
    assert ended["refused"] > MUTANTS / 4  # the damage is felt
    assert ended["unharmed"] > 0  # and does not lie in the harness


@pytest.mark.parametrize(
    ("still", "most", "code", "told"),
    [
        (0.0, 1e9, "import time; time.sleep(1000)", "hang: no processor time for"),
        (1e9, 0.1, "while True: pass", "s of processor time without an end"),
    ],
)
def test_a_hang_takes_no_processor_time_or_much_of_it(monkeypatch, still, most, code, told):
    monkeypatch.setattr(harness, "STILL", still)
    with subprocess.Popen([sys.executable, "-c", code]) as child:
        watch = harness.Watch(child.pid)
        while not (found := watch.hang(most)):
            time.sleep(0.05)
        child.kill()
    assert told in found
