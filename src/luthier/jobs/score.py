"""How good translations are: ``luthier.score`` of files, ``luthier.oracle`` of the best that a pool has."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.errors import InputError, LuthierError
from luthier.core.files.io import display_name, open_output
from luthier.core.html import Shown
from luthier.core.params import DEFAULT_SEED, checked, paths_of
from luthier.corpus.lines import read_lines
from luthier.corpus.texts import Texts
from luthier.jobs.opening import AnyMetrics, AnyPath, AnyPool, lists_at, metrics_at
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
    "corpus oracle (greedy)": "corpus-best",
    "per-sentence oracle": "sentence-best",
    "first of each list": "first",
    "random": "random",
    "per-sentence worst": "sentence-worst",
    "corpus worst (greedy)": "corpus-worst",
}


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
                found=str(len(column)),
                path=display_name(path),
                line=min(len(column), len(first)) + 1,
                hint="translations and references must have one line for each sentence, in the same order",
            )
        columns.append(column)
    return columns


@dataclasses.dataclass(frozen=True, eq=False)
class Scores(Shown):
    """Scores of files of translations, and the signatures of the metrics by label."""

    signatures: Mapping[str, str]
    translations: tuple[ScoredFile, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON, without the sentences."""
        files = [{"path": item.path, "scores": item.scores} for item in self.translations]
        return {"signatures": dict(self.signatures), "translations": files}


@checked
def score(
    hyps: AnyPath | Sequence[AnyPath], refs: AnyPath | Sequence[AnyPath], metric: AnyMetrics = "bleu,ter,chrf"
) -> Scores:
    """Score files of translations against references, a line per sentence.

    `metric` is names that commas separate, a metric, or metrics by label. Each of the `translations` has `scores` of
    the corpus and `sentence_scores` by label.
    """
    metrics = metrics_at(metric)
    files, refs = paths_of(hyps, "a file of translations"), paths_of(refs, "a file of references")
    if not refs:
        raise LuthierError("expected references, found none. hint: give `refs`")
    references = read_parallel(refs)
    results = []
    for path, column in zip(files, read_parallel(files, references[0], refs[0]), strict=True):
        batch = Batch.from_lines(column, references)
        stats = {label: one.stats(batch) for label, one in metrics.items()}
        results.append(
            ScoredFile(
                display_name(path),
                {label: float(one.score(stats[label].sum(axis=0))) for label, one in metrics.items()},
                {label: one.sentence_score(stats[label]) for label, one in metrics.items()},
            )
        )
    return Scores({label: one.signature for label, one in metrics.items()}, tuple(results))


def write_sentence_scores(scored: Sequence[ScoredFile], path: str) -> None:
    """Write a TSV with a line per sentence: its number, then each file's score by each metric."""
    names = [f"{item.path}:{label}" for item in scored for label in item.sentence_scores]
    columns = np.column_stack([column for item in scored for column in item.sentence_scores.values()])
    with open_output(path) as file:
        file.write(("sentence\t" + "\t".join(names) + "\n").encode("utf-8"))
        for number, row in enumerate(columns.tolist()):
            file.write(("\t".join([str(number), *map(repr, row)]) + "\n").encode("utf-8"))


@dataclasses.dataclass(frozen=True, eq=False)
class Oracles(Shown):
    """The scores that bound a pool, by the metric's signature."""

    seed: int
    found: Mapping[str, Sequence[Oracle]]

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        found = {signature: [dataclasses.asdict(one) for one in oracles] for signature, oracles in self.found.items()}
        return {"seed": self.seed, "oracles": found}


@checked
def oracle(
    pool: AnyPool | Manifest,
    metric: AnyMetrics = "bleu",
    *,
    seed: int = DEFAULT_SEED,
    engine: Engine | None = None,
) -> Oracles:
    """Find what the best, worst and other selections of a pool would score.

    Sentences without hypotheses count nothing. Of a sharded pool one shard after another is inspected, or several at a
    time by an `engine`. The corpus oracles are greedy, so they bound the best and the worst from inside.

    Examples
    --------
    >>> from luthier import pool_from_frame
    >>> frame = {"id": [0, 0, 1, 1], "hyp": ["a", "b", "c", "d"], "lm": [1.0, 2, 1, 2], "q": [0.9, 0.1, 0.2, 0.8]}
    >>> found = oracle(pool_from_frame(frame, columns=["q"]), "column:q")
    >>> [(one.selection, round(one.score, 2)) for oracles in found.found.values() for one in oracles[1:3]]
    [('per-sentence oracle', 0.85), ('first of each list', 0.55)]
    """
    lists = lists_at(pool)
    found = {one.signature: _oracles(lists, one, seed, engine) for one in metrics_at(metric).values()}
    return Oracles(seed, found)


def _oracles(pool: Pool | Manifest, metric: Metric, seed: int, engine: Engine | None) -> tuple[Oracle, ...]:
    if not isinstance(pool, Pool):
        from luthier.landscape.shard_work import shard_selections  # for sharded pools only: scoring texts is quick

        found = shard_selections(pool, metric, seed, engine=engine)
    else:
        found = all_selections(metric, pool_statistics(pool, metric), pool.offsets, seed)
    return tuple(Oracle(name, found[key].score, found[key].passes) for name, key in ORACLES.items())
