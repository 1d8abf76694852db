"""A sample of the soak: schedulers are killed in the middle of a study; all of it is `make soak`."""

import pytest
from separate import Separate

import soak
from luthier.jobs.lab.kinds import starts


@pytest.mark.slow
@pytest.mark.compiled
def test_a_study_goes_on_after_its_scheduler_was_killed(tmp_path, monkeypatch):
    monkeypatch.setattr(starts, "draw_starts", lambda units, title, path: path.touch())
    cluster = Separate(tmp_path)  # its workers start while the undisturbed run is made
    try:
        small = soak.Soak(tmp_path, starts=20, rounds=20, seed=4, inside=True)
        assert "1 schedulers killed" in soak.kill_schedulers(small, 1, cluster)
    finally:
        cluster.close()


@pytest.mark.slow
@pytest.mark.compiled
def test_a_scheduler_killed_under_cluster_local_takes_its_command_along_and_nothing_else(tmp_path, monkeypatch):
    monkeypatch.setattr(starts, "draw_starts", lambda units, title, path: path.touch())
    small = soak.Soak(tmp_path, starts=20, rounds=20, seed=4, inside=True)
    assert "1 clients killed" in soak.kill_clients(small, 1)
