"""Word alignment: errors against true links, CPU time and memory of whole commands, growth with the text.

    python benchmarks/bench_alignment.py [--data folder] [--pairs 10000] [--grow 3]

The generated language pair has true links: precision, recall and AER of every method, beside the limits asked for.
Then `luthier engine align` as a command, everything included (start of Python, reading, both directions, symmetrising,
writing), on 29,000 sentence pairs and on three times as many: the text again and again, a word in twenty replaced by
another one. With --data the text is Multi30k De→En, and the share of links on which both directions of the diagonal
agree that are also in the links another aligner (fast_align) made of it. The rival is numbering the pairs of words by
a sort (np.unique), which alone takes longer than a whole pass.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from bench_common import cpu_seconds, machine, show
from luthier.alignment.aligner import align
from luthier.alignment.bitext import read_bitext
from luthier.alignment.cells import number_cells
from luthier.alignment.links import Links, read_links
from luthier.alignment.summary import compare_links
from luthier.alignment.symmetrize import WAYS
from luthier.core.segments import offsets_from_counts
from luthier.corpus.lines import read_lines
from luthier.synthetic.pair.pair import PairGenerator

METHODS = {"model1": {}, "diagonal": {}, "diagonal, λ fitted": {"optimize_tension": True}, "hmm": {}, "fertility": {}}
AER_LIMITS = {"diagonal": 0.155, "hmm": 0.13, "fertility": 0.095}
CPU_LIMITS = {"model1": None, "diagonal": 8, "hmm": 20, "fertility": 35}
PAIRS, NOISE = 29_000, 0.05


def generated(count):
    """Return source, target and true links of generated sentence pairs."""
    pairs = list(PairGenerator().pairs("train", count, seed=0))
    links = np.array([link for pair in pairs for link in pair.links])
    true = Links.from_unordered(offsets_from_counts([len(pair.links) for pair in pairs]), links[:, 0], links[:, 1])
    return [str(pair.source) for pair in pairs], [str(pair.references[0]) for pair in pairs], true


def errors(source, target, true):
    """Show precision, recall and AER of every method, and AER by every way to symmetrize."""
    rows, ways = [], []
    for name, options in METHODS.items():
        seconds, done = cpu_seconds(lambda n=name, o=options: align(source, target, n.split(",")[0], **o), repeats=1)
        found = compare_links(done.symmetrized(), true)
        rates = (found.precision, found.recall, found.error_rate)
        rows.append((name, *(f"{rate:.4f}" for rate in rates), AER_LIMITS.get(name), f"{seconds:.2f}"))
        by_way = [compare_links(done.symmetrized(how), true).error_rate for how in WAYS]
        ways.append((name, *(f"{rate:.4f}" for rate in by_way)))
    show(f"{len(source)} generated pairs", ("method", "precision", "recall", "AER", "limit", "CPU s"), rows)
    show("AER by the way to symmetrize", ("method", *WAYS), ways)


def grown(lines, times, rng):
    """Return lines repeated `times` times; from the second time on a word in twenty is another one."""
    words = np.array(sorted({word for line in lines for word in line.split()}))
    out = list(lines)
    for _ in range(times - 1):
        for line in lines:
            here = np.array(line.split(), dtype=words.dtype)
            noisy = rng.random(len(here)) < NOISE
            here[noisy] = words[rng.integers(0, len(words), noisy.sum())]
            out.append(" ".join(here.tolist()))
    return out


def command(*arguments):
    """Run `luthier` in a process of its own; return its CPU seconds and peak memory in MB."""
    process = subprocess.Popen([sys.executable, "-m", "luthier.cli.main", *map(str, arguments), "--quiet", "--json"],
                               stdout=subprocess.DEVNULL)  # fmt: skip
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def growth(source, target, folder, times):
    """Show CPU time and memory of whole commands, for the text and for a longer one."""
    rng = np.random.default_rng(0)
    paths = {}
    for name, factor in (("whole", 1), ("longer", times)):
        for side, lines in (("s", source), ("t", target)):
            paths[name, side] = folder / f"{name}.{side}"
            paths[name, side].write_text("".join(f"{line}\n" for line in grown(lines, factor, rng)), encoding="utf-8")
    rows = []
    for method, limit in CPU_LIMITS.items():
        runs = [
            command(
                "engine", "align", paths[name, "s"], paths[name, "t"], "--method", method, "-o", folder / f"{method}.gz"
            )
            for name in ("whole", "whole", "longer")  # the first warms
        ][1:]
        once, many = runs[0][0], runs[1][0]
        rows.append((method, f"{once:.1f}", limit, f"{many:.1f}", f"{many / once / times:.2f}",
                     *(f"{memory:.0f}" for _, memory in runs)))  # fmt: skip
    show(
        f"luthier engine align, {len(source)} pairs and {times} times as many",
        ("method", "CPU s", "limit", f"CPU s, × {times}", f"ratio / {times}", "MB", f"MB, × {times}"),
        rows,
    )


def rival(source, target):
    """Show what numbering the pairs of words takes, by a sort and as it is done."""
    bitext = read_bitext(source, target)
    ours, cells = cpu_seconds(lambda: number_cells(bitext))
    sources = np.repeat(np.arange(cells.n_sources), np.diff(cells.type_offsets))[cells.numbers]
    keys = sources * cells.n_targets + cells.type_targets[cells.numbers]
    sort, (unique, _) = cpu_seconds(lambda: np.unique(keys, return_inverse=True), repeats=1)
    assert len(unique) == cells.n_types
    show(
        f"numbering {len(keys)} cells, {cells.n_types} types",
        ("way", "CPU s"),
        [("by a sort", f"{sort:.2f}"), ("word by word", f"{ours:.2f}")],
    )


def agreement(data, source, target):
    """Show how many links of the intersection are in links made by another aligner."""
    given = read_links(data / "multi30k" / "train.de-en.gdfa.gz")
    rows = []
    for name in CPU_LIMITS:
        done = align(source, target, name)
        for how in ("intersect", WAYS[0]):
            found = compare_links(done.symmetrized(how), given)
            rows.append((name, how, found.links, f"{found.precision:.4f}", f"{found.recall:.4f}"))
    show("De→En: links that are in the given ones (asked of diagonal, intersect: 0.98)",
         ("method", "symmetrized", "links", "share in the given", "share of the given"), rows)  # fmt: skip


def main():
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="a folder with multi30k/ (docs/performance.md)")
    parser.add_argument("--pairs", type=int, default=10_000, help="generated pairs with true links (10,000)")
    parser.add_argument("--grow", type=int, default=3, help="how many times longer the longer text is (3)")
    options = parser.parse_args()
    print(machine())
    errors(*generated(options.pairs))
    if options.data:
        source, target = (list(read_lines(options.data / "multi30k" / f"train.{side}.gz")) for side in ("de", "en"))
        agreement(options.data, source, target)
    else:
        source, target, _ = generated(PAIRS)
    rival(source, target)
    with tempfile.TemporaryDirectory() as folder:
        growth(source, target, Path(folder), options.grow)


if __name__ == "__main__":
    main()
