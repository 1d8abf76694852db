"""Tables of studies, by hand."""

import itertools

import numpy as np
import pytest

from luthier.jobs.lab.start_tables import (
    Reached,
    equal_time_table,
    expected_best,
    starts_table,
    together_table,
    unseen_table,
)


def unit(tuner, start, gain, **more):
    record = {
        "tuner": tuner, "start": start, "gain": gain, "start_gain": -10.0, "metric": "TER", "steps": 4,
        "higher_is_better": False, "cpu_seconds": 0.5, "test": {"TER": -gain + 1},
    }  # fmt: skip
    return Reached(**{**record, **more})


UNITS = [
    unit("no tuning", -1, -9.0),
    *(unit("a", start, gain) for start, gain in enumerate([-4.0, -6.0, -5.0, -5.0])),
    *(unit("b", start, gain) for start, gain in enumerate([-3.0, -7.0, -5.0, -9.0])),
]


def test_scores_wins_and_times():
    # a ends at 4, 6, 5, 5: mean 5, s.d. √.5; b at 3, 7, 5, 9. a wins starts 1 and 3, b start 0, both start 2
    lines = starts_table(UNITS).splitlines()
    assert lines[2] == "| TER | a | 4 | 10.00 | 5.00 | 0.71 | 6.00 | 4.00 | 62% | 4 | 0.500 | 2.0 |"
    assert lines[3] == "| TER | b | 4 | 10.00 | 6.00 | 2.24 | 9.00 | 3.00 | 38% | 4 | 0.500 | 2.0 |"


@pytest.mark.parametrize("total", [1, 2, 5, 7])
def test_the_expected_best_is_the_mean_over_all_choices(total):
    gains = np.random.default_rng(total).integers(0, 4, total) / 3.0  # with ties
    for n in range(1, total + 1):
        choices = [max(chosen) for chosen in itertools.combinations(gains, n)]
        assert expected_best(gains, n) == pytest.approx(np.mean(choices))


def test_starts_that_fit_into_the_time_of_the_quickest():
    slow = [unit("slow", start, gain, cpu_seconds=1.2) for start, gain in enumerate([-4.0, -6.0, -5.0, -5.0])]
    lines = equal_time_table([*UNITS[:5], *slow]).splitlines()
    assert lines[2] == "| TER | a | 2.0 | 4 of 4 | 4.00 |"
    assert lines[3] == "| TER | slow | 2.0 | 1 of 4 | 5.00 |"  # 2 s are 1.7 starts of 1.2 s


def test_the_best_weights_on_the_test_lists():
    lines = unseen_table(UNITS, "TER").splitlines()
    assert lines[0] == "| weights | tuning | test TER | mean TER |"
    assert lines[2:5] == [
        "| no tuning | 9.00 | 10.00 | |",
        "| a, start 0 | 4.00 | 5.00 | 6.00 ± 0.71 |",
        "| b, start 0 | 3.00 | 4.00 | 7.00 ± 2.24 |",
    ]


def test_differences_over_several_data_sets_count_each_once():
    other = [unit("a", 0, -4.0), unit("a", 1, -2.0), unit("b", 0, -6.0), unit("c", 0, -9.0)]
    lines = together_table([UNITS, other]).splitlines()
    # a ends at 5 and 3 in the mean, b at 6 and 6; on the test each is one more
    assert lines[0] == "| metric | tuner | compared with | data sets | at end | test TER |"
    assert lines[2:4] == ["| TER | b | a | 2 | +2.00 ± 1.00 | +2.00 ± 1.00 |", ""]  # c has one data set only


def test_a_changed_tuner_is_compared_with_the_same_unchanged():
    ends = {"a": -4.0, "b": -6.0, "b, changed": -5.0}
    lines = together_table([[unit(name, 0, gain) for name, gain in ends.items()]] * 2).splitlines()
    assert lines[2:4] == [
        "| TER | b | a | 2 | +2.00 ± 0.00 | +2.00 ± 0.00 |",
        "| TER | b, changed | b | 2 | -1.00 ± 0.00 | -1.00 ± 0.00 |",
    ]
