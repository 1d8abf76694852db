"""Tables of a study of tuners in loops, from its lines alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.errors import LuthierError
from luthier.core.files.io import open_output
from luthier.core.files.journal import Record
from luthier.evaluation.comparison import Difference, Settings, compare
from luthier.evaluation.systems import System

from .packed_statistics import unpack_statistics
from .tuner_loop_scores import TunerLoop, TunerLoopTables
from .tuner_loop_settings import TunerLoopEntry, TunerLoopStudy
from .tuner_loop_tables import tuner_loop_tables
from .units import TABLES, Place


def write_results(study: TunerLoopStudy, records: Sequence[Record], place: Place) -> list[str]:
    """Write the tables of the loops that have ended; return their paths."""
    found = [_tables(study, entry, records) for entry in study.data]
    tables = [table for table in found if table.loops]
    if not tables:
        return []
    with open_output(place.folder / TABLES) as file:
        file.write(tuner_loop_tables(study.name, tables).encode("utf-8"))
    return [str(place.folder / TABLES)]


def _tables(study: TunerLoopStudy, entry: TunerLoopEntry, records: Sequence[Record]) -> TunerLoopTables:
    """Return what is shown of a data set: the loops that the study still names, in its order."""
    lines = {(r["metric"], r["tuner"]): r for r in records if r["data"] == entry.name}
    loops: list[TunerLoop] = []
    size = (0, 0, 0)
    for metric in entry.metrics:
        own = [lines[metric, tuner] for tuner in study.tuners if (metric, tuner) in lines]
        against = _differences(study, own)
        for record in own:
            size = record["sentences"], record["k"], record["features"]
            loops.append(_loop(study, record, against.get(record["tuner"], {})))
    return TunerLoopTables(entry.name, size, study.baseline, tuple(loops))


def _loop(study: TunerLoopStudy, record: Record, against: dict[str, Difference]) -> TunerLoop:
    before, after = (
        {n: float(m.score(_statistics(study, record, part, n).sum(axis=0))) for n, m in study.test_metrics.items()}
        for part in ("test_before", "test")
    )
    return TunerLoop(
        record["metric"], record["tuner"], record["loop"]["restarts"] + 1, tuple(record["decoded"]),
        tuple(record["tuned"]), record["hypotheses"], float(record["tune_cpu"]), record["ended"],
        before, after, against,
    )  # fmt: skip


def _differences(study: TunerLoopStudy, records: Sequence[Record]) -> dict[str, dict[str, Difference]]:
    """Return how the loops of one metric differ from the baseline's on the test sentences: tuner → metric → how."""
    order = sorted(records, key=lambda record: record["tuner"] != study.baseline)
    if len(order) < 2 or order[0]["tuner"] != study.baseline:
        return {}
    systems = [
        System(r["tuner"], {name: _statistics(study, r, "test", name)[None] for name in study.test_metrics})
        for r in order
    ]
    found: dict[str, dict[str, Difference]] = {record["tuner"]: {} for record in order[1:]}
    for compared in compare(systems, study.test_metrics, Settings(seed=study.seed)).metrics:
        for result in compared.results[1:]:
            assert result.against_baseline is not None
            found[result.system][compared.metric] = result.against_baseline
    return found


def _statistics(study: TunerLoopStudy, record: Record, part: str, name: str) -> Float64:
    """Return the test statistics of a line under one metric, (N, S)."""
    try:
        return np.asarray(unpack_statistics(record[part][name], len(study.test_metrics[name].stat_names)))
    except (KeyError, ValueError) as error:
        where = f"the line of {record['tuner']!r} for {record['metric']!r}"
        raise LuthierError(f"{where} has no statistics of {name!r}: {error}") from None
