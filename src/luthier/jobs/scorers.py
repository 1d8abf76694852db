"""Hypotheses out to a scorer of another program, and its scores back: ``luthier.export`` and ``luthier.add``."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from luthier.core.errors import LuthierError
from luthier.core.html import Shown
from luthier.core.params import checked, names_of, path_of
from luthier.jobs.opening import AnyPath, AnyPool, pool_at
from luthier.kbest.building.lists import add_scores
from luthier.kbest.building.scorer_files import Scorer, write_for_scorer
from luthier.kbest.pool import Pool


@dataclasses.dataclass(frozen=True, eq=False)
class Added(Shown):
    """A pool with more numbers for each hypothesis, and their names."""

    pool: Pool
    features: tuple[str, ...]
    columns: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return what was added as plain data."""
        return {
            "features": list(self.features),
            "columns": list(self.columns),
            "sentences": self.pool.n_sentences,
            "hypotheses": self.pool.n_hypotheses,
        }


@checked
def add(pool: AnyPool, scores: str | Sequence[str], *, column: str | Sequence[str] = ()) -> Added:
    """Add scores of another program to the hypotheses of a pool.

    Parameters
    ----------
    pool : Pool or a path
    scores
        Files, ``NAME=FILE`` or ``FILE``: a number a line in the order of the pool; a table with an id, an index from 0
        and numbers; or a list with sources, texts and numbers, as COMET and MetricX write it.
    column
        Names that are columns to tune for, and no features.

    Raises
    ------
    InputError
        Another number of lines than hypotheses, a hypothesis without a score, a number that is not finite.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from luthier import pool_from_frame
    >>> lists = pool_from_frame({"id": [0, 0], "hyp": ["a", "b"], "lm": [1.0, 2]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "kiwi.txt")
    ...     _ = file.write_text("0.5\\n0.75\\n")
    ...     add(lists, f"kiwi={file}").pool.features.column("kiwi").tolist()
    [0.5, 0.75]
    """
    before, files, columns = pool_at(pool), names_of(scores, "files of scores"), names_of(column, "columns")
    if not files:
        raise LuthierError("expected at least one file of scores to add")
    made = add_scores(before, files, columns)
    new = [name for name in made.features.names if name not in before.features.names]
    return Added(made, tuple(new), tuple(name for name in made.columns if name not in before.columns))


@dataclasses.dataclass(frozen=True)
class Exported(Shown):
    """The files that were written, and how many hypotheses each has."""

    files: tuple[str, ...]
    hypotheses: int

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {"files": list(self.files), "hypotheses": self.hypotheses}


@checked
def export(pool: AnyPool, scorer: Scorer, output: AnyPath) -> Exported:
    """Write the hypotheses of a pool for a scorer, one after another, as ``luthier.add`` reads its answer.

    Parameters
    ----------
    pool : Pool or a path
    scorer
        ``"comet"``: ``src.txt``, ``hyp.txt`` and, where there are references, ``ref.txt``, a line for each hypothesis;
        ``"metricx"``: ``input.jsonl`` with source, hypothesis and reference; ``"text"``: ``hyp.txt`` alone. Of several
        references the first is written.
    output
        The folder; it is made if it is not there.
    """
    lists = pool_at(pool)
    files = write_for_scorer(lists, scorer, Path(path_of(output, "a folder")))
    return Exported(tuple(str(path) for path in files), lists.n_hypotheses)
