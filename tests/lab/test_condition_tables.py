"""Tables of conditions, by hand."""

from luthier.evaluation.bootstrap import Interval
from luthier.evaluation.comparison import Difference, compare_replicas
from luthier.jobs.lab.condition_tables import (
    ConditionResult,
    ConditionTables,
    Setting,
    Tries,
    main_table,
    table_parts,
    tries_table,
    turns_table,
)

DIFFERENCE = Difference(
    1.5, 0.0004, compare_replicas([30.0, 31.0], [32.0, 32.0], seed=0), Interval(-0.25, 2.0, 0.95, None)
)


def result(name, bits=0, values="", scores=(30.0, 31.0), **more):
    fields = {
        "setting": Setting(name, bits, values), "features": 1234, "scores": scores, "wanted": 3, "s_opt": 0.7071,
        "decoded": ((20.0, 25.0, 26.0), (20.0, 24.0)), "against": {}, "seconds": (60.4, 9.6), "together": 1,
    }  # fmt: skip
    return ConditionResult(**{**fields, **more})


TABLES = ConditionTables(
    "cs-en", ("bleu", "bleu()"),
    {"P": result("P"), "MNR": result("MNR", 4, "beta=1000", against={"P": DIFFERENCE}, together=2), "C": None}, ("P",),
    (Tries("MNR", ((Setting("MNR", 4, "beta=1"), 63, 34.0, 35.0), (Setting("MNR", 4, "beta=1000"), 63, 33.0, 36.0)),
           Setting("MNR", 4, "beta=1000")),),
)  # fmt: skip


def test_conditions_and_what_is_missing():
    lines = main_table(TABLES).splitlines()
    assert lines[2] == "| P | – | – | 1,234 | 2 of 3 | 30.50 | 0.71 | – | – | – | 60 | 10 |"
    assert (
        lines[3]
        == "| MNR | 4 | beta=1000 | 1,234 | 2 of 3 | 30.50 | 0.71 | +1.50 | -0.25 … +2.00 | < 0.001 | 60 | 10 |"
    )
    assert lines[4] == "| C | – | – | – | – | – | – | – | – | – | – | – |"
    assert lines[-1].startswith("Bits and parameters were chosen by re-ranking")
    assert "up to 2 at a time" in lines[-1]


def test_turns_and_tries():
    # 20 twice, 25 and 24, 26 of one replica; the last turns brought 1 and 4
    assert turns_table(TABLES).splitlines()[2] == "| P | 20.00 | 24.50 | 26.00 | +2.50 |"
    assert tries_table(TABLES.tries[0]).splitlines()[2:] == [
        "| MNR | 4 | beta=1 | 63 | 34.00 | 35.00 |  |", "| MNR | 4 | beta=1000 | 63 | 33.00 | 36.00 | chosen |"
    ]  # fmt: skip


def test_the_page_leaves_out_what_there_is_nothing_of():
    text = "\n".join(table_parts(TABLES))
    assert "### What was chosen among" in text
    assert "### More turns" not in text
