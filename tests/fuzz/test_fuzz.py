"""A seeded sample of `make fuzz`: damaged files of every kind, in a process of their own."""

from __future__ import annotations

import pytest

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
