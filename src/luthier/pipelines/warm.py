"""Compile every kernel of the package, by running each on a small job of the real kind."""

from __future__ import annotations

import dataclasses
import importlib
import itertools
import pkgutil
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import luthier
from luthier.core.errors import LuthierError, LuthierWarning
from luthier.core.plugins import available
from luthier.core.progress import progress
from luthier.core.rng import make_rng
from luthier.evaluation.comparison import Settings, compare
from luthier.evaluation.systems import system_from_pool
from luthier.geometry.lines.envelope import Envelopes
from luthier.invented.lists.synthetic import SyntheticLists
from luthier.kbest.duplicates import drop_duplicates
from luthier.kbest.features import Features
from luthier.kbest.merge import merge
from luthier.kbest.pool import Pool
from luthier.kbest.reading.lists import ReadOptions, read_pool
from luthier.kbest.rerank import rerank
from luthier.kbest.writer import write_pool
from luthier.landscape.problem import Problem
from luthier.metrics.loading import load_metric, metric_names
from luthier.metrics.pools import pool_statistics
from luthier.pipelines.warm_alignment import ALIGNMENT_JOBS
from luthier.pipelines.warm_geometry import GEOMETRY_JOBS
from luthier.pipelines.warm_lm import LM_JOBS
from luthier.tuning.base import PACKAGE as TUNERS
from luthier.tuning.base import Tuner, tuner

SAMPLES = {
    "moses": "{i} ||| w{k} b c ||| a= {k} 1 b={i}.5 s{k}=1 ||| -1 ||| 0-0\n",
    "fairseq": "S-{i}\ta b\nT-{i}\tb c\nH-{i}\t-0.{k}\tw{k} b c\nD-{i}\t-0.{k}\tw{k} b c\nP-{i}\t-0.5 -1\n",
    "kaldi": "utt{i} -1.{k} 2 w{k} b c\n",
    "jsonl": '{{"id": {i}, "hyp": "w{k} \\u00e9", "features": {{"a": 1.{k}, "s{k}": 1}}, "src": "x", "ref": "y",'
    ' "derivation": [{{"rule": "r{k}", "features": {{"p": 1}}}}]}}\n',
    "sockeye": '{{"sentence_id": "{i}-{k}", "translations": ["a b", "c"], "scores": [1.5, 2]}}\n',
}


def warm() -> dict[str, int]:
    """Run all kernels; return how many each kernel file has.

    Raises
    ------
    LuthierError
        If a kernel was not reached: then this job must learn of it.
    """
    with warnings.catch_warnings(), progress("compiling kernels") as advance:
        warnings.simplefilter("ignore", LuthierWarning)
        for job in (_read_samples, _use_pools, _score_and_compare, _tune, *ALIGNMENT_JOBS, *LM_JOBS, *GEOMETRY_JOBS):
            job()
            advance(1)
    modules = kernel_modules()
    counts = {module.__name__.removeprefix("luthier."): len(kernels_of(module)) for module in modules}
    missed = [name for name, kernel in entry_kernels(modules).items() if not kernel.signatures]
    if missed:
        raise LuthierError(f"these kernels are never run by 'luthier warm': {', '.join(missed)}")
    return counts


def _read_samples() -> None:
    with tempfile.TemporaryDirectory() as name:
        for kind, line in SAMPLES.items():
            path = Path(name, kind)
            text = "".join(line.format(i=i, k=k) for i in range(2) for k in [*range(80), 79])
            path.write_text(text, encoding="utf-8")
            read_pool(path, options=ReadOptions(format=kind, any_order=kind == "sockeye"))
        path = Path(name, "tsv")
        path.write_text("id\thyp\ta\n" + "".join(f"{i}\tx y\t{i}\n" for i in range(3)), encoding="utf-8")
        read_pool(path)


def _use_pools() -> None:
    pool = SyntheticLists(sentences=4, k=8).generate(0)
    with tempfile.TemporaryDirectory() as name:
        for ending in ("jsonl", "parquet", "txt"):
            write_pool(pool, Path(name, f"list.{ending}"))
            again = read_pool(Path(name, f"list.{ending}"))
    _rerank_all(pool)
    drop_duplicates(merge([pool, again]))


def _score_and_compare() -> None:
    pool = SyntheticLists(sentences=6, k=6, n_references=2).generate(0)
    metrics = {name: load_metric(f"{name}:score" if name == "column" else name) for name in metric_names()}
    for metric in metrics.values():
        pool_statistics(pool, metric)
    scored = {name: metrics[name] for name in ("bleu", "ter")}
    stats = {name: pool_statistics(pool, metric) for name, metric in scored.items()}
    rng = np.random.default_rng(0)
    systems = [
        system_from_pool(name, pool, rng.standard_normal((2, pool.n_features)), stats) for name in ("one", "other")
    ]
    compare(systems, scored, Settings(draws=2, shuffles=2))


def _tune() -> None:
    """Run every tuner, on dense and on sparse features, with a metric of counts and one of numbers."""
    dense = SyntheticLists(sentences=6, k=40).generate(0)
    f = dense.features
    rows = np.arange(len(f))
    sparse = Features(
        (*f.names, "s0", "s1"),
        f.dense,
        np.arange(len(f) + 1),
        (rows % 2).astype(np.int32),
        (1.0 + rows % 3).astype(np.float64),
    )
    axes = np.eye(dense.n_features)
    Envelopes(dense.offsets, f.dense).along_sorted(axes[0], axes[1:])
    for pool in (dense, dense.with_features(sparse)):
        for metric in ("bleu", "bleu_mean"):
            problem = Problem.make(pool, load_metric(metric))
            for method in _every_way():
                if not method.refuses(problem):
                    next(itertools.islice(method.steps(problem, problem.default_start(), make_rng(0)), 2, None), None)


def _every_way() -> Iterator[Tuner]:
    """Yield every tuner as it comes, and with each choice of each of its parameters."""
    for name in available(TUNERS):
        plain = tuner(name)
        yield plain
        for field in dataclasses.fields(plain):
            for choice in field.metadata.get("choices") or ():
                yield dataclasses.replace(plain, **{field.name: choice})


def _rerank_all(pool: Pool) -> None:
    vectors = np.ones((3, pool.n_features))
    rerank(pool, vectors[0])
    rerank(pool, vectors)


def kernel_modules() -> list[ModuleType]:
    """Import and return every module whose name ends in ``kernels``."""
    names = [
        info.name
        for info in pkgutil.walk_packages(luthier.__path__, "luthier.")
        if info.name.rsplit(".", 1)[-1].startswith("_") and info.name.endswith("kernels")
    ]
    return [importlib.import_module(name) for name in names]


def kernels_of(module: ModuleType) -> dict[str, Any]:
    """Return the kernels a module defines, by name."""
    return {
        name: value
        for name, value in vars(module).items()
        if hasattr(value, "py_func") and value.py_func.__module__ == module.__name__
    }


def entry_kernels(modules: list[ModuleType]) -> dict[str, Any]:
    """Return the kernels that Python calls; those that only other kernels call come along with them."""
    kernels = {f"{m.__name__}.{name}": kernel for m in modules for name, kernel in kernels_of(m).items()}
    inner = {
        id(kernel.py_func.__globals__.get(name))
        for kernel in kernels.values()
        for name in kernel.py_func.__code__.co_names
    }
    return {name: kernel for name, kernel in kernels.items() if id(kernel) not in inner}
