"""Statistics of metrics: hypotheses a second, one core, beside sacrebleu on a part of the same lists.

python benchmarks/bench_metrics.py [--data FOLDER] [--size paper]

From strings, splitting and vocabulary are included; from ids, a pool has done that already. sacrebleu is
asked twice: as one calls it, a reference beside each hypothesis; and by its inner functions, with the
references of a list prepared once, as fast as it can go.
"""

import tempfile
from pathlib import Path

import numpy as np
import sacrebleu

from bench_common import cpu_seconds, machine, parse_arguments, peak_megabytes, show, unpacked_list

RIVAL_ROWS = 10_000
RIVALS = {
    "bleu": lambda: sacrebleu.BLEU(tokenize="none", force=True),
    "chrf": sacrebleu.CHRF,
    "chrf++": lambda: sacrebleu.CHRF(word_order=2),
}
TARGETS = {("bleu", "strings"): 40, ("bleu", "ids"): 150}


def pool_of(arguments):
    from luthier import read_pool
    from luthier.synthetic.lists.noisy_channel import SyntheticLists

    if arguments.data is None:
        from bench_common import SIZES

        sentences, k = SIZES[arguments.size]
        return "generated", SyntheticLists(sentences=sentences, k=k).generate(arguments.seed)
    refs = [str(arguments.data / "multi30k" / "val.en.gz")]
    with tempfile.TemporaryDirectory() as folder:
        return "De→En, 1000-best", read_pool(unpacked_list(arguments.data, Path(folder)), refs=refs)


def rival_sentences(pool):
    """Return sentences, evenly spread, with about RIVAL_ROWS hypotheses together."""
    step = max(1, round(pool.n_hypotheses / RIVAL_ROWS))
    return range(0, pool.n_sentences, step)


def rival_rates(metric, pool, hyps, refs):
    """Return sacrebleu's hypotheses a second: as called, and with the references prepared once."""
    sentences = rival_sentences(pool)
    rows = [(s, row) for s in sentences for row in range(pool.offsets[s], pool.offsets[s + 1])]
    lines, streams = [hyps[row] for _, row in rows], [[refs[s] for s, _ in rows]]

    def prepared():
        out = []
        for s in sentences:
            info = metric._extract_reference_info([metric._preprocess_segment(refs[s])])
            for row in range(pool.offsets[s], pool.offsets[s + 1]):
                out.append(metric._compute_segment_statistics(metric._preprocess_segment(hyps[row]), info))
        return out

    called, score = cpu_seconds(lambda: metric.corpus_score(lines, streams), repeats=1, warm=False)
    once, stats = cpu_seconds(prepared, repeats=1, warm=False)
    return len(lines) / called, len(lines) / once, score.score, stats, np.array([row for _, row in rows])


def bench(name, pool, hyps, refs):
    from luthier.corpus.texts import Texts
    from luthier.metrics.batch import Batch, Numbered
    from luthier.metrics.loading import load_metric

    metric = load_metric(name)
    references = pool.references

    def batch_of_strings():
        return Batch.of(
            texts=Texts.from_strings(hyps), offsets=pool.offsets,
            references=Texts.from_strings(refs), reference_offsets=references.offsets,
        )  # fmt: skip

    ready = batch_of_strings()
    ready.characters()
    if name == "bleu":
        tokens = Numbered(pool.tokens, references.tokens, pool.vocab)
        ready = Batch.of(
            texts=pool.texts, offsets=pool.offsets,
            references=references.texts, reference_offsets=references.offsets, tokens=tokens,
        )  # fmt: skip
    called, once, score, theirs, rows = rival_rates(RIVALS[name](), pool, hyps, refs)
    seconds = {
        "strings": cpu_seconds(lambda: metric.stats(batch_of_strings())),
        "ids": cpu_seconds(lambda: metric.stats(ready)),
    }
    for source, (time, stats) in seconds.items():
        # The numbers are worth nothing unless the statistics are the same.
        assert np.array_equal(stats[rows], theirs)
        assert abs(metric.score(stats[rows].sum(axis=0)) - score) < 1e-9
        rate = pool.n_hypotheses / time
        target = TARGETS.get((name, source))
        yield (
            name, source, f"{rate:,.0f}", f"{called:,.0f}", f"{rate / called:,.0f}",
            f"{target}" if target else "", f"{once:,.0f}", f"{rate / once:,.0f}",
        )  # fmt: skip


def bench_oracle(pool):
    from luthier.metrics.batch import Batch
    from luthier.metrics.loading import load_metric
    from luthier.metrics.oracle import all_selections

    metric = load_metric("bleu")
    batch = Batch.of(
        texts=pool.texts, offsets=pool.offsets,
        references=pool.references.texts, reference_offsets=pool.references.offsets,
    )  # fmt: skip
    stats = metric.stats(batch)
    seconds, found = cpu_seconds(lambda: all_selections(metric, stats, pool.offsets), repeats=1)
    rows = [
        (name, f"{selection.score:.2f}", ", ".join(f"{score:.2f}" for score in selection.passes))
        for name, selection in found.items()
    ]
    show(f"oracles by BLEU, all of them in {seconds:.1f} s", ("selection", "BLEU", "after each pass"), rows)


def main():
    arguments = parse_arguments(__doc__.splitlines()[0])
    label, pool = pool_of(arguments)
    hyps, refs = list(pool.texts), list(pool.references.texts)
    print(machine())
    rows = [row for name in RIVALS for row in bench(name, pool, hyps, refs)]
    columns = ("metric", "from", "ours /s", "sacrebleu /s", "ratio", "target", "prepared /s", "ratio")
    show(f"statistics of {pool.n_hypotheses:,} hypotheses ({label}), one core", columns, rows)
    bench_oracle(pool)
    print(f"peak memory {peak_megabytes():,.0f} MiB")


if __name__ == "__main__":
    main()
