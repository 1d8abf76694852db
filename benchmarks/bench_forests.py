"""Forests: line searches, K-best lists, values of all derivations; with --data, forests against lists in tuning.

python benchmarks/bench_forests.py [--data FOLDER] [--tune [N]]

The folder holds multi30k/ (val.de.gz, val.en.gz, train.en.5gram.arpa.gz) and kbest-de-en/ (grammar.val.gz,
weights.init, weights.final). Without it a system of the synthetic pair is made, and decoded with the stated default
weights. Limits of the search: 200 pops, spans of 15 words. With --tune, MERT goes from weights.init on the forests of
val (its first N sentences) and on lists of the 1000 best strings of the same search; both answers are judged by
decoding these sentences with them.
"""

import argparse
import time
from pathlib import Path

import numpy as np

from bench_common import cpu_seconds, machine, show
from bench_systems import real_system, synthetic_system
from luthier.decoding.forests.expectation import Semiring

SENTENCES, DIRECTIONS = 51, 30


def decoded(system, rows):
    """Return the forests of some sentences, the table of rules and the weights as a vector."""
    from luthier.decoding.decoder import Decoder
    from luthier.decoding.models import weight_vector

    grammar, model, sentences, weights = system
    decoder = Decoder(grammar, [model])
    some = sentences.take(rows)
    ready = decoder.prepare(some)
    found = [done.forest for done in decoder.translate(some, weights)]
    return found, ready.table, weight_vector(weights, ready.table.names)


class Count(Semiring):
    """The number of derivations."""

    def edge(self, e):  # noqa: ARG002
        return 1

    def times(self, first, second):
        return first * second

    def plus(self, first, second):
        return first + second


def measure(label, system):
    """Print the times of all that is asked of some forests."""
    from luthier.decoding.forests.expectation import value_of
    from luthier.decoding.forests.lines import ForestLines
    from luthier.decoding.lazy_kbest import k_best

    forests, table, weights = decoded(system, np.arange(1, SENTENCES + 1))
    n_state, n = len(table.state_names), len(forests)
    rule_scores = table.rule_scores(weights)
    scores = [forest.edge_scores(rule_scores, weights[-n_state:]) for forest in forests]
    d = len(weights)
    rng = np.random.default_rng(0)
    directions = np.vstack([np.eye(d), rng.normal(size=(max(DIRECTIONS - d, 0), d)) / np.sqrt(d)])[:DIRECTIONS]
    lines = ForestLines(forests, table)
    searched, envelopes = cpu_seconds(lambda: lines.envelopes(weights, directions))
    at_goal = np.mean([len(e.breakpoints) / n + 1 for e in envelopes])
    rows = [
        ("forests", f"{n}"),
        ("nodes, edges that a derivation uses", f"{_mean(len(f.reachable[0]) for f in forests):,.0f}, "
         f"{_mean(len(f.reachable[1]) for f in forests):,.0f} of {_mean(f.n_edges for f in forests):,.0f}"),
        (f"envelopes along {DIRECTIONS} directions (limit 5, goal 2.5; cdec 25)", f"{searched:.2f} s"),
        ("lines at a goal", f"{at_goal:.1f}"),
        ("strings met", f"{lines.n_strings:,}"),
    ]  # fmt: skip
    for name, k, unique in (("best", 1, False), ("1000 best", 1000, False), ("1000 best strings", 1000, True)):
        spent, lists = cpu_seconds(
            lambda k=k, unique=unique: [
                k_best(f, s, table, k, unique=unique) for f, s in zip(forests, scores, strict=True)
            ]
        )
        rows.append((name, f"{n / spent:,.0f} forests/s, {_mean(map(len, lists)):,.0f} each"))
    spent, counts = cpu_seconds(lambda: [value_of(forest, Count()) for forest in forests])
    rows.append(("number of derivations, exact", f"{n / spent:,.0f} forests/s; median 10^{_median_digits(counts)}"))
    show(f"forests: {label}", ("one core, least CPU time of a few runs", ""), rows)


def _mean(values):
    return float(np.mean(list(values)))


def _median_digits(counts):
    return len(str(sorted(counts)[len(counts) // 2])) - 1


# Tuning: forests against lists


def tune(data, n):
    """Print what MERT reaches on forests and on lists of the same search, judged by decoding."""
    from luthier.corpus.lines import read_lines
    from luthier.decoding.decoder import Decoder
    from luthier.decoding.forests.lines import ForestLines
    from luthier.decoding.models import weight_vector
    from luthier.kbest.weights import read_weights
    from luthier.landscape.forest_problem import PackedProblem
    from luthier.landscape.list_problem import ListProblem
    from luthier.metrics.batch import Batch
    from luthier.metrics.loading import load_metric
    from luthier.tuning.base import tuner
    from luthier.tuning.run import run

    grammar, model, sentences, _ = real_system(data)
    sentences = sentences.take(np.arange(min(n, len(sentences))))
    first = read_weights(data / "kbest-de-en" / "weights.init")
    refs = read_lines(data / "multi30k" / "val.en.gz").take(np.arange(len(sentences)))
    metric, decoder = load_metric("bleu"), Decoder(grammar, [model])
    names = decoder.prepare(sentences).table.names
    start = weight_vector(first, names)
    found = decoder.decode(sentences, first, k=1000, unique=True, references=[refs], derivations=False, forests=True)
    problems = {
        "forests": PackedProblem.of(ForestLines(found.forests, found.table), metric, refs, np.arange(len(refs) + 1)),
        "lists": ListProblem.of(found.pool, metric),
    }

    def bleu(weights):
        texts = decoder.decode(sentences, weights, derivations=False).texts
        return float(metric.score(metric.stats(Batch.from_lines(texts, [refs])).sum(axis=0)))

    rows = [("the start", None, None, None, f"{bleu(first):.2f}")]
    for name, problem in problems.items():
        order = [problem.index(feature) for feature in names]
        vector = np.empty(len(names))
        vector[order] = start
        began = time.process_time()
        result = run(tuner("mert", directions="coordinates"), problem, vector)
        spent = time.process_time() - began
        weights = dict(zip(names, result.weights[order].tolist(), strict=True))
        by_forests = problems["forests"].gain(np.array([weights[feature] for feature in names]))
        rows.append((name, f"{result.gain:.2f}", f"{by_forests:.2f}", f"{spent:.0f}", f"{bleu(weights):.2f}"))
    show(
        f"MERT from weights.init, BLEU on {len(refs):,} sentences of val",
        ("candidates", "on them", "on the forests", "CPU s", "decoded again"), rows,
    )  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--tune", type=int, nargs="?", const=10_000, metavar="N")
    options = parser.parse_args()
    print(machine())
    if options.tune:
        tune(options.data, options.tune)
    elif options.data is not None:
        measure("val of Multi30k, German to English", real_system(options.data))
    else:
        measure("the synthetic pair", synthetic_system(2_000, 60))


if __name__ == "__main__":
    main()
