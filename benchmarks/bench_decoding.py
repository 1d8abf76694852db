"""Decoding: sentences a second, K-best lists into a pool, threads, sparse features, memory; with --data beside cdec.

python benchmarks/bench_decoding.py [--data FOLDER] [--compare]

The folder holds multi30k/ (val.de.gz, train.en.5gram.arpa.gz) and kbest-de-en/ (grammar.val.gz, weights.final and, for
--compare, cdec's lists val.kbest1000.part*.gz). Without it a system of the synthetic pair is made, and decoded with the
stated default weights. Limits of the search: 200 pops, spans of 15 words.
"""

import argparse
import dataclasses
import json
import sys
import time
from pathlib import Path

import numpy as np

from bench_common import in_fresh_process, machine, peak_megabytes, show
from bench_systems import real_system, synthetic_system

SPARSE = 10_000
RUNS = 3


def system_of(data):
    return real_system(data) if data is not None else synthetic_system()


def with_sparse(grammar):
    """Return the grammar with one of many sparse features at each rule."""
    n, d = grammar.n_rules, len(grammar.feature_names)
    ids = d + np.arange(n, dtype=np.int32) * 7 % SPARSE
    ends = grammar.feature_offsets[1:]
    return dataclasses.replace(
        grammar, feature_names=(*grammar.feature_names, *(f"sparse{k}" for k in range(SPARSE))),
        feature_offsets=grammar.feature_offsets + np.arange(n + 1),
        feature_ids=np.insert(grammar.feature_ids, ends, ids).astype(np.int32),
        feature_values=np.insert(grammar.feature_values, ends, 1.0),
    )  # fmt: skip


def least(function):
    """Return the least CPU and the least wall-clock seconds of a few runs."""
    cpu, wall = [], []
    for _ in range(RUNS):
        starts = time.process_time(), time.perf_counter()
        function()
        cpu.append(time.process_time() - starts[0])
        wall.append(time.perf_counter() - starts[1])
    return min(cpu), min(wall)


def measure(data):
    """Return sentences a second and peak memory, in this process."""
    from luthier.decoding.decoder import Decoder

    grammar, model, sentences, weights = system_of(data)
    decoder = Decoder(grammar, [model])

    def forests(decoder, weights, threads=1):
        for _ in decoder.translate(sentences, weights, threads=threads):
            pass

    list(decoder.translate(sentences, weights, rows=range(3)))  # warm
    n, found = len(sentences), {}
    found["sentences"], found["rules"] = n, grammar.n_rules
    cpu, wall = least(lambda: forests(decoder, weights))
    found["forests"] = n / cpu
    found["memory_forests"] = peak_megabytes()
    found["two_threads"] = wall / least(lambda: forests(decoder, weights, threads=2))[1]
    rng = np.random.default_rng(0)
    sparse = Decoder(with_sparse(grammar), [model])
    more = {**weights, **{f"sparse{k}": value for k, value in enumerate(1e-9 * rng.normal(size=SPARSE))}}
    list(sparse.translate(sentences, more, rows=range(3)))
    found["sparse"] = least(lambda: forests(sparse, more))[0] / cpu - 1.0
    return found


def measure_lists(data):
    """Return lists a second and peak memory, in this process, which does nothing else."""
    from luthier.decoding.decoder import Decoder

    grammar, model, sentences, weights = system_of(data)
    decoder = Decoder(grammar, [model])
    decoder.decode(sentences, weights, k=3, unique=True, rows=range(3))  # warm
    start = time.process_time()
    pool = decoder.decode(sentences, weights, k=1000, unique=True).pool
    cpu = time.process_time() - start
    return {"lists": len(sentences) / cpu, "hypotheses": pool.n_hypotheses, "memory": peak_megabytes()}


def report(label, found):
    rows = [
        ("sentences, rules", f"{found['sentences']:,}, {found['rules']:,}"),
        ("1-best with forest (limit 40, goal 80; cdec 5.7)", f"{found['forests']:.1f} sentences/s"),
        ("unique 1000-best into a pool (12, goal 25; cdec 2.7)", f"{found['lists']:.1f} sentences/s"),
        ("hypotheses", f"{found['hypotheses']:,}"),
        ("two threads, wall clock (1.7)", f"{found['two_threads']:.2f} ×"),
        (f"{SPARSE:,} sparse features (5 %)", f"{found['sparse']:+.1%}"),
        ("peak memory, forests", f"{found['memory_forests']:,.0f} MiB"),
        ("peak memory, lists with their pool (954)", f"{found['memory']:,.0f} MiB"),
    ]
    show(f"decoding: {label}", ("one core, least CPU time of a few runs", ""), rows)


# Beside cdec's lists


def compare(data):
    """Print how our best scores and lists stand to cdec's; return whether they are within the limits."""
    from luthier import read_pool
    from luthier.decoding.chart.options import SearchOptions
    from luthier.decoding.decoder import Decoder

    grammar, model, sentences, weights = real_system(data)
    theirs = read_pool([str(data / "kbest-de-en" / f"val.kbest1000.part{part}.gz") for part in (1, 2)])
    first = theirs.offsets[:-1]
    wanted = theirs.columns["score"]
    rows, best = [], {}
    for pops in (200, 1000):
        pool = Decoder(grammar, [model], SearchOptions(pops=pops)).decode(sentences, weights, k=200, unique=True).pool
        gaps = pool.columns["score"][pool.offsets[:-1]] - wanted[first]
        same = sum(pool.texts[int(a)] == theirs.texts[int(b)] for a, b in zip(pool.offsets[:-1], first, strict=True))
        best[pops] = gaps
        rows += [
            (f"{pops} pops: best score within 2e-3 (98 %)", f"{np.mean(np.abs(gaps) < 2e-3):.1%}"),
            (f"{pops} pops: better, worse by more", f"{np.mean(gaps > 2e-3):.1%}, {np.mean(gaps < -2e-3):.1%}"),
            (f"{pops} pops: mean and least difference", f"{gaps.mean():+.4f}, {gaps.min():+.3f}"),
            (f"{pops} pops: the same first string", f"{same} of {len(sentences)}"),
            *_shared(pool, theirs, pops),
        ]
    show("our lists beside cdec's", ("", ""), rows)
    return np.mean(np.abs(best[200]) < 2e-3) >= 0.98 and best[1000].mean() >= best[200].mean() - 1e-9


def _shared(pool, theirs, pops, n=100):
    """Return how many of cdec's first strings are in our lists, and why others are not."""
    counts = {"found": 0, "behind": 0, "pruned": 0}
    for s in range(pool.n_sentences):
        ours = slice(pool.offsets[s], pool.offsets[s + 1])
        strings = {pool.texts[row] for row in range(ours.start, ours.stop)}
        last = pool.columns["score"][ours.stop - 1]
        full = ours.stop - ours.start == 200
        for row in range(theirs.offsets[s], min(theirs.offsets[s + 1], theirs.offsets[s] + n)):
            if theirs.texts[row] in strings:
                counts["found"] += 1
            elif full and theirs.columns["score"][row] < last + 1e-3:
                counts["behind"] += 1
            else:
                counts["pruned"] += 1
    total = sum(counts.values())
    return [
        (f"{pops} pops: of cdec's unique {n} best in our 200", f"{counts['found'] / total:.1%} of {total:,}"),
        (f"{pops} pops: others: our 200 are all better; not in our forest",
         f"{counts['behind'] / total:.2%}; {counts['pruned'] / total:.2%}"),
    ]  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--compare", action="store_true", help="our lists beside cdec's; needs --data")
    parser.add_argument("--one", choices=("forests", "lists"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps((measure if options.one == "forests" else measure_lists)(options.data)))
        return 0
    print(machine())
    more = [] if options.data is None else ["--data", options.data]
    found = in_fresh_process(__file__, "--one", "forests", *more)
    found |= in_fresh_process(__file__, "--one", "lists", *more)
    report("val, De→En" if options.data else "the synthetic pair", found)
    if options.compare:
        if options.data is None:
            parser.error("--compare needs --data")
        return 0 if compare(options.data) else 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
