"""Edits of error rates: hypotheses a second, one core, beside sacrebleu on a part of the same lists.

python benchmarks/bench_edits.py [--data FOLDER] [--size paper]

From strings, splitting and vocabulary are included; from ids, they are known. TER's rival is sacrebleu's
TER as one calls it; that of WER and CER is the edit distance inside sacrebleu's TER (whose beam may add
edits to long texts of characters); PER's are Python's bags.
"""

from collections import Counter

import numpy as np
import sacrebleu
from sacrebleu.metrics.lib_ter import BeamEditDistance

from bench_common import cpu_seconds, machine, parse_arguments, peak_megabytes, show
from bench_metrics import pool_of

RIVAL_ROWS = {"ter": 4_000, "wer": 4_000, "cer": 150, "per": 50_000}
TARGETS = {("ter", "strings"): 60}


def rival_ter(refs, lists):
    """Return the edits of the hypotheses of some sentences, by sacrebleu."""
    metric = sacrebleu.TER()
    return [metric.sentence_score(hyp, [refs[s]]).num_edits for s, hyps in lists for hyp in hyps]


def rival_distance(split):
    def distances(refs, lists):
        out = []
        for s, hyps in lists:
            for hyp in hyps:
                # A distance of its own for each: the cache is for the moves of one hypothesis.
                out.append(BeamEditDistance(split(refs[s]))(split(hyp))[0])
        return out

    return distances


def rival_bags(refs, lists):
    out = []
    for s, hyps in lists:
        words = refs[s].split()
        bag = Counter(words)
        for hyp in hyps:
            own = hyp.split()
            out.append(max(len(own), len(words)) - sum((Counter(own) & bag).values()))
    return out


RIVALS = {"ter": rival_ter, "wer": rival_distance(str.split), "cer": rival_distance(list), "per": rival_bags}


def some_lists(pool, hyps, n_rows):
    """Return (sentence, hypotheses) of about `n_rows` rows, a few of each sentence, evenly spread; and the rows."""
    step = max(1, pool.n_hypotheses // n_rows)
    rows = [np.arange(pool.offsets[s], pool.offsets[s + 1])[::step] for s in range(pool.n_sentences)]
    return [(s, [hyps[row] for row in own]) for s, own in enumerate(rows)], np.concatenate(rows)


def bench(name, pool, hyps, refs):
    from luthier.corpus.texts import Texts
    from luthier.metrics.batch import Batch
    from luthier.metrics.loading import load_metric

    metric = load_metric(name)

    def batch_of_strings():
        return Batch.of(
            texts=Texts.from_strings(hyps), offsets=pool.offsets,
            references=Texts.from_strings(refs), reference_offsets=pool.references.offsets,
        )  # fmt: skip

    ready = batch_of_strings()  # keeps the ids that the first of several runs makes
    lists, rows = some_lists(pool, hyps, RIVAL_ROWS[name])
    theirs, edits = cpu_seconds(lambda: RIVALS[name](refs, lists), repeats=1, warm=False)
    rival = len(rows) / theirs
    for source, make in (("strings", batch_of_strings), ("ids", lambda: ready)):
        ours, stats = cpu_seconds(lambda make=make: metric.stats(make()))
        same = np.mean(stats[rows, 0] == edits)
        assert name == "cer" or same == 1.0  # numbers are worth nothing unless the edits are the same
        rate = pool.n_hypotheses / ours
        target = TARGETS.get((name, source), "")
        yield name, source, f"{rate:,.0f}", f"{rival:,.0f}", f"{rate / rival:,.0f}", f"{target}", f"{same:.2%}"


def main():
    arguments = parse_arguments(__doc__.splitlines()[0])
    label, pool = pool_of(arguments)
    hyps, refs = list(pool.texts), list(pool.references.texts)
    print(machine())
    rows = [row for name in RIVALS for row in bench(name, pool, hyps, refs)]
    columns = ("metric", "from", "ours /s", "rival /s", "ratio", "target", "same edits")
    show(f"edits of {pool.n_hypotheses:,} hypotheses ({label}), one core", columns, rows)
    print(f"peak memory {peak_megabytes():,.0f} MiB")


if __name__ == "__main__":
    main()
