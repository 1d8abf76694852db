"""A sample of the soak: a scheduler is killed in the middle of a study; all of it is `make soak`."""

import pytest

import soak


@pytest.mark.slow
@pytest.mark.compiled
def test_a_study_goes_on_after_its_scheduler_was_killed(tmp_path):
    small = soak.Soak(tmp_path, starts=20, rounds=20, seed=4)
    assert "1 schedulers killed" in soak.kill_schedulers(small, 1)
