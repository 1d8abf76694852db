"""Scores of files of translations, and the oracles of a pool: what the commands show."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.errors import InputError, LuthierError
from luthier.core.files.io import display_name, open_output
from luthier.corpus.lines import read_lines
from luthier.corpus.texts import Texts
from luthier.kbest.pool import Pool
from luthier.metrics.base import Metric
from luthier.metrics.batch import Batch
from luthier.metrics.oracle import Oracle, all_selections
from luthier.metrics.pools import pool_statistics

if TYPE_CHECKING:
    from luthier.core.tasks import Engine
    from luthier.kbest.shards.manifest import Manifest

# by the name under which `all_selections` has them
ORACLES = {
    "corpus oracle (greedy)": "corpus-best", "per-sentence oracle": "sentence-best", "first of each list": "first",
    "random": "random", "per-sentence worst": "sentence-worst", "corpus worst (greedy)": "corpus-worst",
}  # fmt: skip


@dataclasses.dataclass(frozen=True, eq=False)
class ScoredFile:
    """Scores of one file of translations, by the metric's label, and of each of its sentences."""

    path: str
    scores: dict[str, float]
    sentence_scores: dict[str, Float64]


def read_parallel(paths: Sequence[str], like: Texts | None = None, like_path: str = "") -> list[Texts]:
    """Read text files that must have as many lines as `like`, or as the first of them."""
    columns: list[Texts] = []
    for path in paths:
        column = read_lines(path)
        first = like if like is not None else (columns[0] if columns else column)
        if len(column) != len(first):
            raise InputError(
                expected=f"{len(first)} lines, as in {display_name(like_path or paths[0])}",
                found=str(len(column)), path=display_name(path), line=min(len(column), len(first)) + 1,
                hint="translations and references must have one line for each sentence, in the same order",
            )  # fmt: skip
        columns.append(column)
    return columns


def score_files(hyps: Sequence[str], refs: Sequence[str], metrics: Mapping[str, Metric]) -> list[ScoredFile]:
    """Score each file of translations against the references by each metric."""
    if not refs:
        raise LuthierError("expected references, found none. hint: give `refs`")
    references = read_parallel(refs)
    results = []
    for path, column in zip(hyps, read_parallel(hyps, references[0], refs[0]), strict=True):
        batch = Batch.from_lines(column, references)
        stats = {label: metric.stats(batch) for label, metric in metrics.items()}
        results.append(
            ScoredFile(
                display_name(path),
                {label: float(metric.score(stats[label].sum(axis=0))) for label, metric in metrics.items()},
                {label: metric.sentence_score(stats[label]) for label, metric in metrics.items()},
            )
        )
    return results


def write_sentence_scores(scored: Sequence[ScoredFile], path: str) -> None:
    """Write a TSV with a line per sentence: its number, then each file's score by each metric."""
    names = [f"{item.path}:{label}" for item in scored for label in item.sentence_scores]
    columns = np.column_stack([column for item in scored for column in item.sentence_scores.values()])
    with open_output(path) as file:
        file.write(("sentence\t" + "\t".join(names) + "\n").encode("utf-8"))
        for number, row in enumerate(columns.tolist()):
            file.write(("\t".join([str(number), *map(repr, row)]) + "\n").encode("utf-8"))


def pool_oracles(pool: Pool | Manifest, metric: Metric, *, seed: int, engine: Engine | None = None) -> list[Oracle]:
    """Return the scores that bound a pool, best selection first told by how it is reached.

    Sentences without hypotheses count nothing. Of a sharded pool, one part after another is looked at,
    or several at a time by an `engine`.
    """
    if not isinstance(pool, Pool):
        from luthier.landscape.shard_work import shard_selections  # for sharded pools only: scoring texts is quick

        found = shard_selections(pool, metric, seed, engine=engine)
    else:
        found = all_selections(metric, pool_statistics(pool, metric), pool.offsets, seed)
    return [Oracle(name, found[key].score, found[key].passes) for name, key in ORACLES.items()]
