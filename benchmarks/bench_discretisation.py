"""Bins: cutting, grammars rewritten, pools induced, decoding: time, memory, and how far greedy bins are from the best.

python benchmarks/bench_discretisation.py [--data FOLDER]

The folder holds kbest-de-en/grammar.val.gz; without it the grammar is made up.
"""

import argparse
import json
import tempfile
from pathlib import Path

import numpy as np

from bench_common import cpu_seconds, in_fresh_process, machine, peak_megabytes, show

RULES, PART = 1_000_000, 50_000
HYPOTHESES, PER_SENTENCE, RULES_USED = 200_000, 200, 15
NAMES = ("P_a", "P_b", "P_c", "C_F", "C_FE")


def rule_values(rng, n):
    """Return synthetic features of rules, (n, 5): three probabilities with many ties, two counts with a long tail."""
    samples = np.minimum(rng.zipf(1.6, n), 300)
    pairs = rng.integers(1, samples + 1)
    lexical = np.round(10 ** -rng.gamma(2.0, 0.6, (n, 2)), 5)
    return np.column_stack([pairs / samples, lexical, samples, pairs]).astype(np.float64)


def write_rules(path, n):
    """Write a synthetic grammar of n rules in cdec's format."""
    rng = np.random.default_rng(0)
    with open(path, "w", encoding="utf-8") as file:
        for first in range(0, n, PART):
            for k, row in enumerate(rule_values(rng, PART).tolist(), start=first):
                texts = [f"{name}={value:.12g}" for name, value in zip(NAMES, row, strict=True)]
                file.write(
                    f"[X] ||| w{k % 997} [X,1] v{k} ||| u{k % 89} [X,1] t{k % 1013} ||| {' '.join(texts)} ||| 0-0\n"
                )


def induction_pool():
    """Return a synthetic pool of derivations."""
    from luthier.corpus.texts import Texts, Tokens
    from luthier.kbest.derivations import Derivations
    from luthier.kbest.features import Features
    from luthier.kbest.pool import Pool

    rng = np.random.default_rng(1)
    n_rules = 60_000
    values = rule_values(rng, n_rules)
    width = values.shape[1]
    local = Features(
        NAMES,
        np.empty((n_rules, 0)),
        np.arange(n_rules + 1) * width,
        np.tile(np.arange(width), n_rules),
        values.ravel(),
    )
    sentences = HYPOTHESES // PER_SENTENCE
    base = np.repeat(rng.integers(0, n_rules - 600, sentences), PER_SENTENCE * RULES_USED)
    rules = base + rng.integers(0, 600, HYPOTHESES * RULES_USED)  # those of a sentence are few
    empty = Texts(np.zeros(HYPOTHESES + 1, np.int64), np.zeros(0, np.uint8))
    return Pool(
        np.arange(sentences + 1) * PER_SENTENCE, Features.from_dense(("LM",), rng.normal(size=(HYPOTHESES, 1))),
        Texts.from_strings(map(str, range(sentences))), empty,
        Tokens(np.zeros(HYPOTHESES + 1, np.int64), np.zeros(0, np.int32)), Texts.from_strings([]),
        derivations=Derivations(
            np.arange(HYPOTHESES + 1) * RULES_USED, rules, Texts.from_strings(map(str, range(n_rules))), local
        ),
    )  # fmt: skip


def discretized(source, bins, output):
    """Rewrite a grammar in this process; return CPU seconds and peak memory."""
    import time

    from luthier.jobs.bins import discretize
    from luthier.jobs.warmup.engine import JOBS

    for job in JOBS["features"]:
        job()
    start = time.process_time()
    result = discretize(source, bins, output)
    return {"seconds": time.process_time() - start, "rules": result.rules, "memory": peak_megabytes()}


def show_grammar(source, names, folder, label):
    """Cut the features of a grammar and rewrite it."""
    from luthier.features.bins import MOST_CELLS
    from luthier.features.bins_file import write_bins
    from luthier.features.fit_bins import BinOptions, bins_of_grammar
    from luthier.grammar.reading import read_grammar

    grammar, rows = read_grammar(source), []
    for bits in (4, 8, 12):
        found, errors = {}, {}
        for exact in (False, True):
            options = BinOptions(bins=1 << bits, exact=exact)
            chosen = [name for name in names if not exact or found[False][name] << bits <= MOST_CELLS]
            bins = bins_of_grammar(grammar, chosen, options)
            found[exact] = {f.feature: f.n_values for f in bins.features}
            errors[exact] = {f.feature: f.error for f in bins.features}
            if bits == 4 and not exact:
                write_bins(bins, folder / "bins.json")
        rows += [
            (name, bits, found[False][name], f"{errors[False][name]:.2%}", _share(errors[True].get(name)))
            for name in names
        ]
    show(f"{label}: distance from even bins", ("feature", "bits", "values", "greedy", "exact"), rows)
    rows = []
    for output in ("out.txt", "out.gz"):
        found = in_fresh_process(__file__, "--rewrite", source, folder / "bins.json", folder / output)
        rows.append((output, found["rules"], f"{found['seconds']:.1f}", f"{found['memory']:,.0f}"))
    show(f"{label}: rewritten (limit 30 s a million)", ("to", "rules", "CPU s", "peak MiB of the process"), rows)


def _share(error):
    return "too many" if error is None else f"{error:.2%}"


def show_cuts():
    """Cut many values."""
    from luthier.features.bins import cut_values

    rng, rows = np.random.default_rng(2), []
    for n, n_bins, exact in [
        (500_000, 16, False), (500_000, 4096, False), (500_000, 256, True), (32_767, 4096, True),
    ]:  # fmt: skip
        frequencies = np.minimum(rng.zipf(1.7, n), 10**6)
        seconds, _ = cpu_seconds(lambda f=frequencies, k=n_bins, e=exact: cut_values(f, k, exact=e), repeats=1)
        rows.append((n, n_bins, "exact" if exact else "greedy", f"{seconds:.2f}"))
    show("values cut", ("values", "bins", "", "CPU s"), rows)


def show_pool():
    """Induce a pool."""
    from luthier.features.fit_bins import BinOptions, bins_of_pool
    from luthier.features.induction import induce_pool

    pool, rows = induction_pool(), []
    for bits in (4, 8, 12):
        cut, bins = cpu_seconds(lambda b=bits: bins_of_pool(pool, NAMES, BinOptions(bins=1 << b)), repeats=1)
        seconds, induced = cpu_seconds(lambda b=bins: induce_pool(pool, b), repeats=2)
        rows.append((bits, induced.n_features - 1, f"{cut:.2f}", f"{seconds:.2f}"))
    title = f"{HYPOTHESES:,} hypotheses of {RULES_USED} rules, 5 features (limit 2 s)"
    show(title, ("bits", "columns", "cut, CPU s", "induced, CPU s"), rows)


def show_decoding(repeats=3):
    """Decode the synthetic pair with dense features, and with bins whose weights say the same of each bin's mean."""
    from bench_systems import synthetic_system
    from luthier.decoding.decoder import Decoder
    from luthier.features.fit_bins import BinOptions, bins_of_grammar

    grammar, lm, sentences, weights = synthetic_system(2_000, 200)
    cut = ["EgivenFCoherent", "MaxLexFgivenE", "MaxLexEgivenF"]
    decoders = {"dense": (Decoder(grammar, [lm]), dict(weights))}
    for bits in (4, 8, 12):
        bins = bins_of_grammar(grammar, cut, BinOptions(bins=1 << bits))
        own = {name: value for name, value in weights.items() if name not in cut}
        for feature in bins.features:
            values = weights[feature.feature] * feature.means
            own |= dict(zip(feature.names, values.tolist(), strict=True))
        decoders[f"{bits} bits"] = Decoder(grammar, [lm], bins=bins), own
    seconds = {name: [] for name in decoders}
    for _ in range(repeats):  # in turn, so that whatever else the machine does meets all of them
        for name, (decoder, own) in decoders.items():
            spent, _ = cpu_seconds(
                lambda d=decoder, w=own: d.decode(sentences, w, k=100, unique=True, derivations=False), repeats=1
            )
            seconds[name].append(spent)
    least = {name: min(spent) for name, spent in seconds.items()}
    rows = [
        (name, len(decoders[name][0].feature_names), f"{spent:.2f}", f"{spent / least['dense'] - 1:+.1%}")
        for name, spent in least.items()
    ]
    title = "200 sentences of the synthetic pair decoded, lists of 100 (limit +5 %)"
    show(title, ("features", "columns", "CPU s", "more"), rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="a folder with kbest-de-en/grammar.val.gz")
    parser.add_argument("--rewrite", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.rewrite:
        print(json.dumps(discretized(*options.rewrite)))
        return
    import warnings

    warnings.simplefilter("ignore")  # of features with few values
    print(machine())
    show_cuts()
    show_pool()
    show_decoding()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.data:
            names = ["EgivenFCoherent", "SampleCountF", "CountEF", "MaxLexFgivenE", "MaxLexEgivenF", "TargetWords"]
            show_grammar(options.data / "kbest-de-en" / "grammar.val.gz", names, folder, "cdec's grammar of val, De→En")
        else:
            write_rules(folder / "grammar", RULES)
            show_grammar(folder / "grammar", [*NAMES, "TargetWords"], folder, "a synthetic grammar")


if __name__ == "__main__":
    main()
