"""A seeded sample of the fuzz of cones."""

import pytest
from fuzz_cones import SUBJECTS, run_subject


@pytest.mark.compiled
@pytest.mark.parametrize("subject", sorted(SUBJECTS))
def test_a_sample_agrees_with_exact_brute_force(subject):
    assert run_subject(subject, 12, seed=1) == []
