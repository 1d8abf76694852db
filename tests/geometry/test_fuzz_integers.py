"""A sample of the fuzz on whole numbers; `python fuzz_integers.py 1000` in this folder tries more."""

import fuzz_integers
import pytest


@pytest.mark.compiled  # slow as plain Python; test_overlay.py and test_arrangement.py reach the same kernels
@pytest.mark.parametrize("subject", fuzz_integers.SUBJECTS, ids=lambda subject: subject.__name__)
def test_whole_numbers_are_as_brute_force_finds_them(subject):
    # 30: a cell of area 0.26 with corners 1e-16 apart; 1062: a strip whose centroid is infinitely far
    for seed in (1, 2, 3, 4, 5, 30, 1062):
        assert subject(seed), seed


def test_a_run_counts_what_disagrees(capsys, monkeypatch):
    monkeypatch.setattr(fuzz_integers, "SUBJECTS", (lambda seed: seed != 3,))
    assert fuzz_integers.run(5) == ["<lambda> 3"]
    assert "5 instances, 1 disagree [3]" in capsys.readouterr().out
