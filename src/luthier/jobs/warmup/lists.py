"""Small jobs that reach the kernels of lists, metrics and evaluation."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from luthier.core.files.io import BLOCK_BYTES
from luthier.corpus.texts import Texts
from luthier.evaluation.comparison import Settings, compare
from luthier.evaluation.randomisation import EXCHANGES
from luthier.evaluation.systems import system_from_pool
from luthier.jobs.mbr import mbr
from luthier.kbest.building.lists import ReadOptions, read_pool
from luthier.kbest.derivations import Derivations, Tree
from luthier.kbest.derived import Derived, add_derived
from luthier.kbest.features import Features
from luthier.kbest.merge import drop_duplicates, merge
from luthier.kbest.rerank import rerank
from luthier.kbest.storage.writer import write_pool
from luthier.metrics.loading import load_metric, metric_names
from luthier.metrics.pools import pool_statistics
from luthier.synthetic.lists.noisy_channel import SyntheticLists

SAMPLES = {
    "moses": "{i} ||| w{k} b c ||| a= {k} 1 b={i}.5 s{k}=1 ||| -1 ||| 0-0\n",
    "fairseq": "S-{i}\ta b\nT-{i}\tb c\nH-{i}\t-0.{k}\tw{k} b c\nD-{i}\t-0.{k}\tw{k} b c\nP-{i}\t-0.5 -1\n",
    "kaldi": "utt{i} -1.{k} 2 w{k} b c\n",
    "jsonl": '{{"id": {i}, "hyp": "w{k} \\u00e9", "features": {{"a": 1.{k}, "s{k}": 1}}, "src": "x", "ref": "y",'
    ' "derivation": [{{"rule": "r{k}", "features": {{"p": 1}}}}]}}\n',
    "sockeye": '{{"sentence_id": "{i}-{k}", "translations": ["a b", "c"], "scores": [1.5, 2]}}\n',
}


def read_samples() -> None:
    """Read a list of every kind."""
    with tempfile.TemporaryDirectory() as name:
        for kind, line in SAMPLES.items():
            path = Path(name, kind)
            text = "".join(line.format(i=i, k=k) for i in range(2) for k in [*range(80), 79])
            path.write_text(text, encoding="utf-8")
            read_pool(path, options=ReadOptions(format=kind, any_order=kind == "sockeye"))
        path = Path(name, "plain")  # of more than one stretch, so that names are known in the second
        path.write_text("0 ||| a b ||| a= 1 2 b=3 ||| 1\n" * (1 + BLOCK_BYTES // 30), encoding="utf-8")
        read_pool(path)
        path = Path(name, "tsv")
        path.write_text("id\thyp\ta\n" + "".join(f"{i}\tx y\t{i}\n" for i in range(3)), encoding="utf-8")
        read_pool(path)


def use_pools() -> None:
    """Write, merge and re-rank."""
    pool = SyntheticLists(sentences=4, k=8).generate(0)
    with tempfile.TemporaryDirectory() as name:
        for ending in ("jsonl", "parquet", "txt"):
            write_pool(pool, Path(name, f"list.{ending}"))
            again = read_pool(Path(name, f"list.{ending}"))
    vectors = np.ones((3, pool.n_features))
    rerank(add_derived(pool, [Derived.parse("x=exp(log(1 + words ** 0.5) - chars)")]), np.ones(pool.n_features + 1))
    rerank(pool, vectors[0])
    rerank(pool, vectors)
    drop_duplicates(merge([pool, again]))
    one_rule = (np.array([0, 1]), np.zeros(1, np.int32), Texts.from_strings(["r"]))
    Derivations(*one_rule, Features.from_dense((), np.zeros((1, 0))), Tree(np.array([-1]), np.array([[0, 1]])))


def score_pools() -> None:
    """Compute the statistics of every metric."""
    pool = SyntheticLists(sentences=6, k=6, n_references=2).generate(0)
    for name in metric_names():
        pool_statistics(pool, load_metric(f"{name}:score" if name == "column" else name))


def compare_systems() -> None:
    """Compare two systems of two replicas."""
    pool = SyntheticLists(sentences=6, k=6, n_references=2).generate(0)
    scored = {name: load_metric(name) for name in ("bleu", "ter")}
    stats = {name: pool_statistics(pool, metric) for name, metric in scored.items()}
    rng = np.random.default_rng(0)
    systems = [
        system_from_pool(name, pool, rng.standard_normal((2, pool.n_features)), stats) for name in ("one", "other")
    ]
    for exchange in EXCHANGES:
        compare(systems, scored, Settings(draws=2, shuffles=2, exchange=exchange))


def score_pairs() -> None:
    """Find the consensus of lists by every utility, exactly, pruned and aggregated, and by votes."""
    pool = SyntheticLists(sentences=4, k=12, vocabulary=100).generate(0)
    weights = dict.fromkeys(pool.features.names, 1.0)
    mbr(pool, ["chrf++", "bleu", "ter", "wer"], posterior=weights, temperature=[1.0, 2.0])
    for utility in ("chrf", "bleu", "per"):
        mbr(pool, select=utility, prune=True)
    mbr(pool, ["chrf", "bleu"], aggregate=True)
    mbr(pool, rover=True)


JOBS = {
    "features": (score_pairs,),
    "kbest": (read_samples, use_pools),
    "metrics": (score_pools,),
    "evaluation": (compare_systems,),
}
