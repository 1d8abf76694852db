"""Language models: estimating, reading, opening, scoring, and the state that decoders live on.

python benchmarks/bench_lm.py [--data FOLDER] [--grow]

Without data the text is spoken by the generated language pair. With a folder that holds multi30k/, train.en.gz is
estimated and every number is compared with train.en.5gram.arpa.gz, which lmplz made of it. --grow repeats the
estimation on ten times the text, every tenth word exchanged for another of the text.
"""

import argparse
import json
import shutil
import tempfile
from pathlib import Path

import numpy as np

from bench_common import cpu_seconds, in_fresh_process, machine, peak_megabytes, show
from luthier.core.files.io import write_lines
from luthier.core.jit import kernel
from luthier.corpus.lines import read_lines
from luthier.lm._query_kernels import append_word, begin_sentence, clear_state, copy_state, join_state
from luthier.lm.arpa import BEGIN, write_arpa
from luthier.lm.arpa_reading import read_arpa
from luthier.lm.estimate import estimate_lm
from luthier.lm.model import new_states, perplexity
from luthier.lm.storage import ENDING, open_lm

LIMITS = {"estimated, written as gz": 5.0, "ARPA to open model": 3.0, "opened again": 0.1}
GOALS = {"estimated, written as gz": 2.0, "ARPA to open model": 1.0}
SCRATCH = 500  # a row of states behind the pieces of the longest sentence


@kernel
def score_words(tables, offsets, ids, states):
    """Return the sum of all sentences, word by word from their beginning."""
    total = 0.0
    for s in range(len(offsets) - 1):
        begin_sentence(tables, states, 0)
        for i in range(offsets[s], offsets[s + 1]):
            total += append_word(tables, states, 0, ids[i])
    return total


@kernel
def score_trees(tables, offsets, ids, states, size, times):
    """Return the same from pieces of `size` words joined in balanced trees, each join done `times` times."""
    total, joins = 0.0, 0
    for s in range(len(offsets) - 1):
        n = 0
        for i in range(offsets[s], offsets[s + 1], size):
            clear_state(states, n)
            for j in range(i, min(i + size, offsets[s + 1])):
                total += append_word(tables, states, n, ids[j])
            n += 1
        while n > 1:
            for k in range(0, n - 1, 2):
                gain = 0.0
                for _ in range(times):
                    copy_state(states, k, states, SCRATCH)
                    gain = join_state(tables, states, SCRATCH, states, k + 1)
                    joins += 1
                total += gain
                copy_state(states, SCRATCH, states, k // 2)
            if n % 2 == 1:
                copy_state(states, n - 1, states, n // 2)
            n = (n + 1) // 2
        if n > 0:
            begin_sentence(tables, states, SCRATCH)
            total += join_state(tables, states, SCRATCH, states, 0)
    return total, joins


@kernel
def rescore_trees(tables, offsets, ids, states, starts, size, times):
    """Do the joins of the same trees without left states: every word of the second piece is scored again."""
    joins = 0
    for s in range(len(offsets) - 1):
        n = 0
        for i in range(offsets[s], offsets[s + 1], size):
            starts[n] = i
            clear_state(states, n)
            for j in range(i, min(i + size, offsets[s + 1])):
                append_word(tables, states, n, ids[j])
            n += 1
        starts[n] = offsets[s + 1]
        while n > 1:
            for k in range(0, n - 1, 2):
                for _ in range(times):
                    copy_state(states, k, states, SCRATCH)
                    for j in range(starts[k + 1], starts[k + 2]):
                        append_word(tables, states, SCRATCH, ids[j])
                    joins += 1
                copy_state(states, SCRATCH, states, k // 2)
            if n % 2 == 1:
                copy_state(states, n - 1, states, n // 2)
            for k in range(0, n, 2):
                starts[k // 2] = starts[k]
            starts[(n + 1) // 2] = offsets[s + 1]
            n = (n + 1) // 2
    return joins


def texts_of(data, folder):
    """Return a name, the text to estimate from, and another to score."""
    if data is not None:
        return "Multi30k English", data / "multi30k" / "train.en.gz", data / "multi30k" / "val.en.gz"
    from luthier.synthetic.pair.pair import PairGenerator

    PairGenerator().write(folder, train=29_000, tune=1_000, heldout=1, test=1, seed=0)
    return "the generated pair's target side", folder / "train.refs.0.txt", folder / "tune.refs.0.txt"


def timings(text, other, folder):
    """Yield (job, seconds) of what users do, each with its files."""
    path = folder / "lm.arpa.gz"

    def estimate():
        write_arpa(estimate_lm(read_lines(text)).model, path)

    def opened(*, fresh):
        if fresh:
            Path(f"{path}{ENDING}").unlink(missing_ok=True)
        return open_lm(path)

    yield "estimated, written as gz", cpu_seconds(estimate)[0]
    yield "of that, estimating", cpu_seconds(lambda: estimate_lm(read_lines(text)))[0]
    yield "ARPA to open model", cpu_seconds(lambda: opened(fresh=True))[0]
    yield "opened again", cpu_seconds(lambda: opened(fresh=False))[0]
    texts = read_lines(other)
    model = open_lm(path)
    yield f"{len(texts):,} sentences scored", cpu_seconds(lambda: model.score(texts))[0]


def bench_state(model, text, label):
    """Yield rows of what a word and a join cost, in nanoseconds."""
    tokens = model.tokens(read_lines(text))
    states = new_states(SCRATCH + 1, model.order)
    n_words = len(tokens.ids)
    assert tokens.lengths.max() < SCRATCH
    seconds, whole = cpu_seconds(lambda: score_words(model.tables, tokens.offsets, tokens.ids, states))
    yield label, "a word behind a sentence's beginning", f"{1e9 * seconds / n_words:.0f}", "", ""
    starts = np.zeros(SCRATCH, dtype=np.int64)
    arrays = (model.tables, tokens.offsets, tokens.ids, states)
    for size in (1, 2, 4):
        # the cost of one join: what eight more of each add, all else being the same
        few, (total, joins) = cpu_seconds(lambda size=size: score_trees(*arrays, size, 1))
        many, _ = cpu_seconds(lambda size=size: score_trees(*arrays, size, 9))
        rival_few, _ = cpu_seconds(lambda size=size: rescore_trees(*arrays, starts, size, 1))
        rival_many, _ = cpu_seconds(lambda size=size: rescore_trees(*arrays, starts, size, 9))
        each, rival = (1e9 * more / (8 * joins) for more in (many - few, rival_many - rival_few))
        assert abs(total - whole) < 1e-5 * n_words
        yield label, f"a join, trees over pieces of {size}", f"{each:.0f}", f"{rival:.0f}", f"{total - whole:.1e}"


def compare_with_lmplz(data, text):
    """Print the largest difference from every number that lmplz printed, <s> aside."""
    theirs = read_arpa(data / "multi30k" / "train.en.5gram.arpa.gz")
    ours = estimate_lm(read_lines(text)).model
    places = {word: i for i, word in enumerate(ours.words)}
    renamed = np.array([places[word] for word in theirs.words])
    rows = []
    for n, (a, b) in enumerate(zip(theirs.levels, ours.levels, strict=True), 1):
        ids = renamed[a.ids]
        one, other = np.lexsort(ids.T[::-1]), np.lexsort(b.ids.T[::-1])
        assert np.array_equal(ids[one], b.ids[other])
        events = ids[one][:, 0] != BEGIN if n == 1 else slice(None)
        probs = np.abs(a.probs[one] - b.probs[other])[events].max()
        backoffs = np.abs(a.backoffs[one] - b.backoffs[other]).max()
        rows.append((n, len(b.probs), f"{probs:.1e}", f"{backoffs:.1e}"))
        assert max(probs, backoffs) < 2e-6
    show("largest difference from lmplz, log10 (limit 2e-6)", ("order", "n-grams", "probability", "back-off"), rows)


def compare_perplexities(data, folder, text):
    copied = folder / "lmplz.arpa.gz"
    shutil.copyfile(data / "multi30k" / "train.en.5gram.arpa.gz", copied)
    values = [perplexity(open_lm(path).score(read_lines(text))) for path in (copied, folder / "lm.arpa.gz")]
    rows = [
        (name, f"{own.with_unknown:.6f}", f"{own.without_unknown:.6f}")
        for name, own in zip(("lmplz", "ours"), values, strict=True)
    ]
    show("perplexity of val", ("model", "with unknown words", "without"), rows)


def noisy_copies(texts, times):
    """Return a text `times` times, every tenth word of the copies exchanged for one of the text."""
    rng = np.random.default_rng(0)
    lines = [line.split() for line in texts]
    words = [word for line in lines for word in line]
    out = list(texts)
    for _ in range(times - 1):
        swap = iter(rng.integers(0, len(words), len(words)).tolist())
        keep = iter((rng.random(len(words)) < 0.9).tolist())
        out += [" ".join(word if next(keep) else words[next(swap)] for word in line) for line in lines]
    return out


def bench_growth(text, folder):
    """Show what ten times the text takes, each size in files of its own and a process of its own."""
    rows, before = [], None
    for times in (1, 10):
        write_lines(folder / "grown.txt", noisy_copies(read_lines(text), times))
        found = in_fresh_process(__file__, "--measure", folder / "grown.txt")
        ratio = "" if before is None else f"{found['seconds'] / before:.1f}"
        numbers = (f"{found['seconds']:.2f}", ratio, f"{found['opening']:.2f}", f"{found['peak']:,.0f}")
        rows.append((found["sentences"], found["ngrams"], *numbers))
        before = found["seconds"]
    columns = ("sentences", "n-grams", "estimated, s", "times", "ARPA to open model, s", "peak MiB")
    show("growth", columns, rows)


def measure(path):
    """Print as JSON what estimating from a file and opening the model take."""
    arpa = path.with_suffix(".arpa")
    seconds, texts = cpu_seconds(lambda: read_lines(path))
    estimating, made = cpu_seconds(lambda: estimate_lm(texts).model)
    write_arpa(made, arpa)
    counts = made.counts
    del made

    def opened():
        Path(f"{arpa}{ENDING}").unlink(missing_ok=True)
        open_lm(arpa)

    opening, _ = cpu_seconds(opened, repeats=1)
    out = {"sentences": len(texts), "ngrams": sum(counts), "opening": opening, "peak": peak_megabytes()}
    print(json.dumps({**out, "seconds": seconds + estimating}))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="a folder with multi30k/ (docs/performance.md)")
    parser.add_argument("--grow", action="store_true", help="also ten times the text")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure is not None:
        measure(arguments.measure)
        return
    print(machine())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        label, text, other = texts_of(arguments.data, folder)
        rows = [(job, f"{s:.3f}", LIMITS.get(job), GOALS.get(job)) for job, s in timings(text, other, folder)]
        show(f"{label}, CPU seconds", ("job", "seconds", "limit", "goal"), rows)
        columns = ("text", "step", "ns", "scoring again, ns", "sum − word by word")
        model = open_lm(folder / "lm.arpa.gz")
        show("the state", columns, [*bench_state(model, other, "unseen"), *bench_state(model, text, "its own")])
        print(f"peak memory {peak_megabytes():,.0f} MiB (limit 1,500)")
        if arguments.data is not None:
            compare_with_lmplz(arguments.data, text)
            compare_perplexities(arguments.data, folder, other)
        if arguments.grow:
            bench_growth(text, folder)


if __name__ == "__main__":
    main()
