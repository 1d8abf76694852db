"""One table of jobs: what each takes, a rival in the same run, and how it grows with n, 4n and 16n.

python benchmarks/overview.py [--n 60] [--write docs/performance.md]

Synthetic lists of 50 hypotheses each, n, 4n and 16n of them; programs of so many rows, texts of so many sentences. The
growth is the exponent between n and 16n: 1 is in proportion. Ratios are of the largest size, or of a part of it where
the rival is slow. Every job is checked against its rival where both have the same answer. With --write the table
replaces that between the two comments of a page.
"""

import argparse
import functools
import importlib.util
import itertools
import math
import tempfile
from pathlib import Path

import numpy as np
import sacrebleu

from bench_common import cpu_seconds, machine
from bench_edits import rival_ter
from bench_forests import decoded
from bench_kbest import plain_python_reader
from bench_lp import highs_warm
from bench_systems import synthetic_system

K, FACTORS = 50, (1, 4, 16)
FEW = 1_000  # hypotheses that a slow rival is given
START, END = "<!-- made by benchmarks/overview.py -->", "<!-- to here -->"
COLUMNS = ("job", "unit", "Luthier, a second", "rival", "ratio", "growth", "command")


def lists_of(n):
    """Return n synthetic lists, and the weights of their decoder."""
    from luthier.synthetic.lists.noisy_channel import SyntheticLists

    spec = SyntheticLists(sentences=n, k=K, n_features=12)
    return spec.generate(0), np.array(list(spec.decoder_weights.values()))


def statistics(name, rival, compared):
    """Return a job: statistics of a metric from strings, beside a rival's scores of some hypotheses."""

    def job(n):
        from luthier.corpus.texts import Texts
        from luthier.metrics.batch import Batch
        from luthier.metrics.loading import load_metric

        pool, _ = lists_of(n)
        hyps, refs, metric = list(pool.texts), list(pool.references.texts), load_metric(name)
        pairs = list(zip(hyps, np.repeat(np.array(refs, object), pool.list_lengths), strict=True))[:FEW]

        def ours():
            texts, references = Texts.from_strings(hyps), Texts.from_strings(refs)
            given = {"references": references, "reference_offsets": pool.references.offsets}
            return metric.stats(Batch.of(texts=texts, offsets=pool.offsets, **given))

        def check(stats, theirs):
            assert np.allclose(compared(metric, stats[: len(pairs)]), theirs)

        return ours, len(hyps), (lambda: rival(pairs)), len(pairs), check

    return job


def scored_by(make):
    """Return a rival: a corpus score of sacrebleu."""
    return lambda pairs: make().corpus_score([h for h, _ in pairs], [[r for _, r in pairs]]).score


def corpus_score(metric, stats):
    return metric.score(stats.sum(axis=0))


def reading(n):
    from luthier import read_pool
    from luthier.kbest.storage.writer import write_pool

    pool, _ = lists_of(n)
    folder = tempfile.TemporaryDirectory()
    path = Path(folder.name, "list.moses")
    write_pool(pool, path)
    few = min(50_000, pool.n_hypotheses)

    def check(read, rows):
        assert folder
        assert [" ".join(words) for _, words, *_ in rows] == list(read.texts)[: len(rows)]

    plain = lambda: plain_python_reader(path, few)  # noqa: E731
    return (lambda: read_pool(path, keep_duplicates=True)), pool.n_hypotheses, plain, few, check


def reranking(n):
    from luthier import rerank

    pool, weights = lists_of(n)
    dense = np.array(pool.features.dense)
    return (lambda: rerank(pool, weights)), len(dense), (lambda: dense @ weights), len(dense), None


def envelopes(n):
    from luthier.geometry.lines.envelope import Envelopes

    pool, weights = lists_of(n)
    directions = np.random.default_rng(0).normal(size=(12, len(weights))) / pool.features.dense.std(axis=0)
    ready, count = Envelopes(pool.offsets, pool.features.dense), 12 * pool.n_hypotheses

    def check(found, expected):
        for one, other in zip(found, expected, strict=True):
            assert np.array_equal(one.breakpoints, other.breakpoints)
            assert np.array_equal(one.after, other.after)

    sort = lambda: ready.along_sorted(weights, directions)  # noqa: E731
    return (lambda: ready.along(weights, directions)), count, sort, count, check


def mert(n):
    from luthier.landscape.list_problem import ListProblem
    from luthier.metrics.loading import load_metric
    from luthier.tuning.base import tuner

    pool, weights = lists_of(n)
    problem, count = ListProblem.of(pool, load_metric("bleu")), 10 * len(weights) * pool.n_hypotheses
    lines = lambda: list(tuner("mert", sweeps=10).steps(problem, weights, np.random.default_rng(0)))  # noqa: E731
    return lines, count, None, 0, None


def cells(n):
    from luthier import rerank
    from luthier.geometry.plane.subdivision import Window
    from luthier.geometry.subspace import Subspace
    from luthier.landscape.list_problem import ListProblem
    from luthier.landscape.planes.plane import Plane
    from luthier.landscape.planes.surface import SurfaceOptions, look_at_plane
    from luthier.metrics.loading import load_metric

    pool, weights = lists_of(n)
    problem = ListProblem.of(pool, load_metric("bleu"))
    subspace = Subspace(weights, np.eye(len(weights))[:2], tuple(problem.names[:2]))

    def ours():
        plane = Plane.make(problem, subspace, Window(-1.0, 1.0, -1.0, 1.0))
        return look_at_plane(plane, SurfaceOptions(threads=1, check=0)).survey

    some = subspace.weights(np.random.default_rng(0).uniform(-1.0, 1.0, size=(16, 2)))
    return ours, ours().cells, (lambda: rerank(pool, some)), len(some), None


def programs(n):
    from luthier.geometry.lp.lp import maximize

    rng = np.random.default_rng(0)
    rows = rng.standard_normal((4 * n, 5))
    rows /= np.linalg.norm(rows, axis=1)[:, None]
    limits, objectives = 1.0 + 0.1 * rng.random(len(rows)), rng.standard_normal((500, 5))

    def check(ours, values):
        if values is not None:
            np.testing.assert_allclose(values, ours.values[: len(values)], rtol=1e-6)

    highs = lambda: highs_warm(rows, limits, objectives[:50])  # noqa: E731
    return (lambda: maximize(rows, limits, objectives, box=1e4)), len(objectives), highs, 50, check


def rival_module(name):
    """Return the module of a rival, or None where it is not installed."""
    return importlib.import_module(name) if importlib.util.find_spec(name) else None


def agreement(n):
    from luthier import mbr

    pool, _ = lists_of(n)
    texts, ends = list(pool.texts), pool.offsets.tolist()
    lists = [texts[a:b] for a, b in itertools.pairwise(ends)][:20]
    few, fastchrf = sum(map(len, lists)), rival_module("fastchrf")
    options = {"char_order": 6, "beta": 2.0, "remove_whitespace": True, "eps_smoothing": False}

    def rival():
        return fastchrf and fastchrf.pairwise_chrf(lists, lists, **options)

    def check(found, scores):
        means = np.concatenate([np.mean(matrix, axis=1) for matrix in scores])
        np.testing.assert_allclose(found.pool.features.dense[:few, -1], means, rtol=1e-5)

    count, some = int((pool.list_lengths**2).sum()), sum(len(one) ** 2 for one in lists)
    return (lambda: mbr(pool, "chrf", threads=1)), count, rival, some, check


def strategy(n):
    """Return a job: 20 generations of CMA-ES, beside pycma with one re-rank by NumPy for each weight vector."""
    import cma

    from luthier.landscape.list_problem import ListProblem
    from luthier.landscape.problem import effect_units
    from luthier.metrics.loading import load_metric
    from luthier.tuning.base import tuner

    pool, weights = lists_of(n)
    metric, dense = load_metric("bleu"), np.array(pool.features.dense)
    problem, starts = ListProblem.of(pool, metric), pool.offsets[:-1]
    units, lists = effect_units(problem.spread, weights), np.repeat(np.arange(len(starts)), pool.list_lengths)
    stats = problem.stats

    def loss(place):
        scores = dense @ (weights + place * units)
        tops = np.flatnonzero(scores == np.maximum.reduceat(scores, starts)[lists])
        _, first = np.unique(lists[tops], return_index=True)
        return -float(metric.score(stats[tops[first]].sum(axis=0)))

    def rival():
        rng = np.random.default_rng(0)
        options = {"seed": np.nan, "randn": lambda *shape: rng.standard_normal(shape), "CMA_diagonal": 0}
        options |= {"popsize": 24, "maxiter": 20, "verbose": -9}
        return -cma.fmin2(loss, np.zeros(len(weights)), 1.0, options)[1].result.fbest

    def check(states, best):
        np.testing.assert_allclose(states[-1].gain, max(best, states[0].gain), rtol=1e-12)

    run = tuner("cma", generations=20)
    ours = lambda: list(run.steps(problem, weights, np.random.default_rng(0)))  # noqa: E731
    return ours, 20 * 24, rival, 20 * 24, check


def synthetic_pairs(n):
    from luthier.synthetic.pair.pair import PairGenerator

    pairs = list(PairGenerator().pairs("train", n, seed=0))
    return [str(pair.source) for pair in pairs], [str(pair.references[0]) for pair in pairs]


def aligning(method):
    """Return a job: word alignment in both directions by a method, `fertility` beside eflomal."""

    def job(n):
        from luthier.alignment.aligner import align

        source, target = synthetic_pairs(10 * n)

        def rival():
            eflomal = rival_module("eflomal")
            with tempfile.TemporaryDirectory() as folder:
                links = {f"links_filename_{way}": str(Path(folder, way)) for way in ("fwd", "rev")}
                return eflomal and not eflomal.Aligner().align(source, target, **links)

        beside = rival if method == "fertility" else None
        return (lambda: align(source, target, method, threads=1)), len(source), beside, len(source), None

    return job


def modelling(n):
    from luthier.lm.estimate import estimate_lm

    texts = synthetic_pairs(10 * n)[1]
    return (lambda: estimate_lm(texts)), len(texts), None, 0, None


def scoring(n):
    from luthier.lm.arpa import write_arpa
    from luthier.lm.estimate import estimate_lm
    from luthier.lm.model import LanguageModel

    texts, kenlm = synthetic_pairs(10 * n)[1], rival_module("kenlm")
    made = estimate_lm(texts[::2]).model
    model = LanguageModel.from_arpa(made)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "lm.arpa")
        write_arpa(made, path)
        theirs = kenlm and kenlm.Model(str(path))

    def check(scores, totals):
        np.testing.assert_allclose(scores.totals, totals, rtol=1e-4)

    rival = lambda: theirs and [theirs.score(text) for text in texts]  # noqa: E731
    return (lambda: model.score(texts)), len(texts), rival, len(texts), check


def rapidfuzz_distances(pairs):
    """Return the edits of some hypotheses by rapidfuzz, in C++; None if it is not there."""
    levenshtein = rival_module("rapidfuzz.distance.Levenshtein")
    return levenshtein and [levenshtein.distance(h.split(), r.split()) for h, r in pairs]


@functools.cache
def system(n):
    """Return a grammar, a language model, n sentences and weights: a system of 5,000 pairs of the synthetic pair."""
    return synthetic_system(5_000, n)


def extracting(n):
    from luthier.grammar.extraction.extract import extract
    from luthier.grammar.model import read_model
    from luthier.synthetic.pair.pair import PairGenerator

    pairs, sentences = list(PairGenerator().pairs("train", 5_000, 0)), system(n)[2]
    with tempfile.TemporaryDirectory() as name:
        links = Path(name, "links")
        links.write_text("".join(" ".join(f"{i}-{j}" for i, j in pair.links) + "\n" for pair in pairs))
        sides = [[str(pair.source) for pair in pairs], [str(pair.references[0]) for pair in pairs]]
        model, _ = read_model(*sides, links)
    return (lambda: extract(model, sentences)), len(sentences), None, 0, None


def decoding(n):
    from luthier.decoding.decoder import Decoder

    grammar, model, sentences, weights = system(n)
    decoder = Decoder(grammar, [model])
    return (lambda: list(decoder.translate(sentences, weights))), len(sentences), None, 0, None


def forest_lines(n):
    from luthier.decoding.forests.lines import ForestLines

    forests, table, weights = decoded(system(n), np.arange(n // 4))
    directions = np.eye(len(weights))
    return (lambda: ForestLines(forests, table).envelopes(weights, directions)), len(forests), None, 0, None


JOBS = (
    ("read a K-best list", "hypotheses", "a plain Python reader", reading, "bench_kbest.py"),
    ("re-rank by one vector", "hypotheses", "the matrix product alone", reranking, "bench_kbest.py"),
    ("BLEU from strings", "hypotheses", "sacrebleu",
     statistics("bleu", scored_by(lambda: sacrebleu.BLEU(tokenize="none", force=True)), corpus_score),
     "bench_metrics.py"),
    ("chrF from strings", "hypotheses", "sacrebleu", statistics("chrf", scored_by(sacrebleu.CHRF), corpus_score),
     "bench_metrics.py"),
    ("TER from strings", "hypotheses", "sacrebleu",
     statistics("ter", lambda pairs: rival_ter([r for _, r in pairs], [(s, [h]) for s, (h, _) in enumerate(pairs)]),
                lambda _, stats: stats[:, 0]), "bench_edits.py"),
    ("WER from strings", "hypotheses", "rapidfuzz",
     statistics("wer", rapidfuzz_distances, lambda _, stats: stats[:, 0]), "bench_edits.py"),
    ("chrF of all pairs of a list", "pairs", "mbrs' fastchrf, in Rust", agreement, "bench_consensus.py"),
    ("envelopes, random directions", "hypotheses and directions", "sorting", envelopes, "bench_line_search.py"),
    ("MERT from one start, ten sweeps at most", "hypotheses and directions", "", mert, "bench_tuners.py"),
    ("CMA-ES, 20 generations of 24", "weight vectors", "pycma, with a re-rank by NumPy for each", strategy,
     "bench_tuners.py"),
    ("cells of a plane with their BLEU", "cells", "a re-rank for each", cells, "bench_plane.py"),
    ("linear programs, 5 unknowns, 4n rows", "programs", "HiGHS, warm model", programs, "bench_lp.py"),
    ("word alignment, diagonal, 10n pairs", "pairs of sentences", "", aligning("diagonal"), "bench_alignment.py"),
    ("word alignment, fertility, 10n pairs", "pairs of sentences", "eflomal", aligning("fertility"),
     "bench_alignment.py"),
    ("n-gram model, 10n sentences", "sentences", "", modelling, "bench_lm.py"),
    ("scores of 10n sentences by it", "sentences", "kenlm", scoring, "bench_lm.py"),
    ("grammars of n sentences, from 5,000 pairs", "sentences", "", extracting, "bench_grammar.py"),
    ("decode n sentences, with their forests", "sentences", "", decoding, "bench_decoding.py"),
    ("envelopes of n/4 forests along all axes", "forests", "", forest_lines, "bench_forests.py"),
)  # fmt: skip


def row_of(job, unit, name, make, command, n):
    """Return what a job takes at three sizes, beside its rival at the largest."""
    seconds = []
    for factor in FACTORS:
        ours, count, rival, some, check = make(factor * n)
        taken, found = cpu_seconds(ours, repeats=3)
        seconds.append(taken)
    growth, ratio = math.log(seconds[-1] / seconds[0], FACTORS[-1] / FACTORS[0]), ""
    if rival is not None:
        slow, theirs = cpu_seconds(rival, repeats=1)
        if theirs is None:
            name += " (not installed)"
        else:
            if check is not None:
                check(found, theirs)
            ratio = f"{(slow / some) / (taken / count):,.1f}"
    return job, unit, f"{count / taken:,.0f}", name, ratio, f"{growth:.2f}", f"`{command}`"


def markdown(rows, n):
    """Return the table as lines of a page."""
    heads = [f"| {' | '.join(COLUMNS)} |", "| --- | --- | --: | --- | --: | --: | --- |"]
    note = f"n = {n}. {machine()}."
    return "\n".join([START, "", *heads, *(f"| {' | '.join(row)} |" for row in rows), "", note, "", END])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=60, help="the least size (default: 60)")
    parser.add_argument("--write", type=Path, help="page whose table is made anew")
    parser.add_argument("--only", default="", help="jobs with this in their name")
    arguments = parser.parse_args()
    from luthier.core.threads import hold_blas

    hold_blas(1)
    rows = []
    for job, *about in JOBS:
        if arguments.only in job:
            rows.append(row_of(job, *about, arguments.n))
            print(*rows[-1], sep=" | ", flush=True)
    if arguments.write and not arguments.only:
        page = arguments.write.read_text(encoding="utf-8")
        before, rest = page.split(START)
        text = before + markdown(rows, arguments.n) + rest.split(END)[1]
        arguments.write.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
