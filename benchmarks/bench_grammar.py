"""Extraction of rules: time, memory, growth; with --data the same rules as cdec's, feature by feature.

python benchmarks/bench_grammar.py [--data FOLDER] [--growth]

The folder holds multi30k/ (train and val in de and en, train.de-en.gdfa.gz) and kbest-de-en/grammar.val.gz. Without it
the synthetic pair is used, and what is extracted is compared with the slow extractor of the tests on a few sentences.
"""

import argparse
import gzip
import json
import random
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from bench_common import in_fresh_process, machine, peak_megabytes, show

SAMPLES = 300


def spent(function, *arguments, **named):
    """Return CPU seconds and the result of a call."""
    start = time.process_time()
    result = function(*arguments, **named)
    return time.process_time() - start, result


# What is extracted from: a folder of data, or the synthetic pair


def real_texts(data):
    texts = data / "multi30k"
    return [texts / name for name in ("train.de.gz", "train.en.gz", "train.de-en.gdfa.gz", "val.de.gz")]


def invented_texts(folder, n_pairs, n_sentences):
    from luthier.synthetic.pair.pair import PairGenerator

    generator = PairGenerator()
    pairs = list(generator.pairs("train", n_pairs, 0))
    columns = {
        "train.f": [str(pair.source) for pair in pairs],
        "train.e": [str(pair.references[0]) for pair in pairs],
        "links": [" ".join(f"{i}-{j}" for i, j in pair.links) for pair in pairs],
        "dev.f": [str(pair.source) for pair in generator.pairs("test", n_sentences, 0)],
    }
    for name, lines in columns.items():
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return [folder / name for name in columns]


def repeated(texts, folder, times):
    """Write the parallel text several times over, one word in ten of each copy replaced by another of the text."""
    rng = np.random.default_rng(0)
    made = []
    for path in texts[:3]:
        raw = path.read_bytes()
        lines = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode().splitlines()
        words = np.array([word for line in lines for word in line.split()])
        out = folder / f"repeated-{len(made)}"
        with open(out, "w", encoding="utf-8") as file:
            for k in range(times):
                for line in lines:
                    row = line.split()
                    if k and len(made) < 2:
                        for i in np.flatnonzero(rng.random(len(row)) < 0.1):
                            row[i] = words[rng.integers(len(words))]
                    file.write(" ".join(row) + "\n")
        made.append(out)
    return [*made, texts[3]]


# What is measured


def measure(texts):
    """Return times and sizes of a model and of the grammars made with it, in this process."""
    from luthier.corpus.lines import read_lines
    from luthier.grammar.extraction.extract import extract
    from luthier.grammar.model import open_model, read_model, save_model
    from luthier.grammar.storage import open_grammar, save_grammar
    from luthier.jobs.warmup.engine import JOBS

    for job in JOBS["grammar"]:
        job()
    index, (model, _) = spent(read_model, *texts[:3])
    sentences = read_lines(texts[3])
    with tempfile.TemporaryDirectory() as name:

        def grammars():
            grammar = extract(model, sentences)
            save_grammar(grammar, Path(name, "all.grammar"))
            return grammar

        seconds, grammar = spent(grammars)
        save_model(model, Path(name, "model"))
        wall = time.perf_counter()
        open_model(Path(name, "model"))
        wall = time.perf_counter() - wall
        opened, _ = spent(open_grammar, Path(name, "all.grammar"))
        one, _ = spent(extract, model, sentences.take([0]))
    return {
        "pairs": model.n_pairs, "words": len(model.places), "sentences": len(sentences), "index": index,
        "extract": seconds, "model_opened": wall, "grammar_opened": opened, "one_sentence": one,
        "sides": grammar.n_sides, "rules": grammar.n_rules, "memory": peak_megabytes(),
    }  # fmt: skip


def report(label, found):
    rows = [
        ("pairs, source words", f"{found['pairs']:,}, {found['words']:,}"),
        ("read and index (limit 1 s, goal 0.3)", f"{found['index']:.2f} s"),
        (f"grammars of {found['sentences']:,} sentences, written (60, goal 25)", f"{found['extract']:.1f} s"),
        ("source sides, rules", f"{found['sides']:,}, {found['rules']:,}"),
        ("grammar of one sentence", f"{found['one_sentence']:.2f} s"),
        ("kept model opened, wall clock (0.5)", f"{found['model_opened']:.2f} s"),
        ("file of grammars opened", f"{found['grammar_opened']:.2f} s"),
        ("peak memory of the process (1,500)", f"{found['memory']:,.0f} MiB"),
    ]
    show(f"extraction: {label}", ("one thread, CPU time", ""), rows)


# What is proven


def rules_by_side(grammar):
    """Return source side → {target side: row of features}, by text."""
    from luthier.grammar.writing import RulePrinter

    printer, found = RulePrinter(grammar), {}
    for first in range(0, grammar.n_rules, 1 << 16):
        rows = np.arange(first, min(grammar.n_rules, first + (1 << 16)))
        for row, line in zip(rows.tolist(), printer.lines(rows).decode().splitlines(), strict=True):
            _, source, target, *_ = line.split(" ||| ")
            found.setdefault(source, {})[target] = row
    return found


def compare(ours, theirs):
    """Print how two grammars of the same text agree: by source sides that were not sampled, and that were."""
    names = ours.feature_names
    columns = [np.column_stack([grammar.feature(name) for name in names]) for grammar in (ours, theirs)]
    mine, other = rules_by_side(ours), rules_by_side(theirs)
    limit = np.log10(1 + SAMPLES) - 1e-9
    counts = {"source sides": [0, 0], "rules": [0, 0], "missing": [0, 0], "more": [0, 0]}
    worst, mass, found_mass = 0.0, 0.0, 0.0
    sample, pair = names.index("SampleCountF"), names.index("CountEF")
    for source in other.keys() | mine.keys():
        a, b = mine.get(source, {}), other.get(source, {})
        count = columns[1][next(iter(b.values())), sample] if b else columns[0][next(iter(a.values())), sample]
        k = int(count > limit)
        counts["source sides"][k] += bool(b)
        counts["rules"][k] += len(b)
        counts["missing"][k] += len(b.keys() - a.keys())
        counts["more"][k] += len(a.keys() - b.keys())
        for target, row in b.items():
            if k:
                weight = 10 ** columns[1][row, pair] - 1
                mass += weight
                found_mass += weight * (target in a)
            elif target in a:
                worst = max(worst, float(np.abs(columns[0][a[target]] - columns[1][row]).max()))
    rows = [(name, f"{plain:,}", f"{sampled:,}") for name, (plain, sampled) in counts.items()]
    rows.append(("largest difference of a feature (limit 1e-6)", f"{worst:.1e}", ""))
    rows.append(("mass Σ c(f,e) found (limit 97 %)", "", f"{found_mass / mass:.2%}" if mass else ""))
    show("our rules against cdec's", ("", "not sampled", "sampled"), rows)
    return counts["missing"][0] == counts["more"][0] == 0 and worst < 1e-6 and found_mass >= 0.97 * mass


def check_real(data, texts):
    """Compare with cdec's grammar of val; read and write that grammar."""
    from luthier.corpus.lines import read_lines
    from luthier.grammar.extraction.extract import extract
    from luthier.grammar.model import read_model
    from luthier.grammar.reading import read_grammar
    from luthier.grammar.writing import write_grammar

    path = data / "kbest-de-en" / "grammar.val.gz"
    read_grammar(path)
    seconds, theirs = spent(read_grammar, path)
    ours = extract(read_model(*texts[:3])[0], read_lines(texts[3]))
    fine = compare(ours, theirs)
    with tempfile.TemporaryDirectory() as name:
        write_grammar(theirs, Path(name, "again.txt"))
        with gzip.open(path) as file:
            same = sorted(file) == sorted(open(Path(name, "again.txt"), "rb"))  # noqa: SIM115
    rows = [
        (f"read {theirs.n_rules:,} rules (limit 4 s, goal 2)", f"{seconds:.2f} s CPU"),
        ("read and written: the same lines", "yes" if same else "NO"),
    ]
    show("cdec's grammar as text", ("", ""), rows)
    return fine and same


def check_invented(texts, n_sentences):
    """Compare with the slow extractor on the patterns of a few sentences."""
    sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "grammar"))
    from slow_extraction import SlowExtractor
    from small_corpora import rules_of

    from luthier.alignment.bitext import MAX_WORDS
    from luthier.corpus.texts import Texts
    from luthier.grammar.extraction.extract import extract
    from luthier.grammar.model import read_model

    lines = [path.read_text(encoding="utf-8").splitlines() for path in texts]
    sources, targets = ([line.split() for line in column] for column in lines[:2])
    links = [[tuple(map(int, link.split("-"))) for link in line.split()] for line in lines[2]]
    kept = [k for k in range(len(sources)) if max(len(sources[k]), len(targets[k])) <= MAX_WORDS]
    sources, targets, links = ([column[k] for k in kept] for column in (sources, targets, links))
    model, _ = read_model(*texts[:3])
    slow = SlowExtractor(sources, targets, links)
    rules = rules_of(extract(model, Texts.from_strings(lines[3][:n_sentences])))
    rng = random.Random(0)
    patterns = sorted(set().union(*(slow.patterns(line.split()) for line in lines[3][:n_sentences])))
    chosen = rng.sample(patterns, min(200, len(patterns)))
    expected = slow.rules(chosen)
    worst = max(
        (abs(rules[key][0][name] - value) for key, row in expected.features.items() for name, value in row.items()),
        default=0.0,
    )
    rows = [("patterns", f"{len(chosen)}"), ("rules", f"{len(expected.features)}"), ("difference", f"{worst:.1e}")]
    show("our rules against the slow extractor's", ("", ""), rows)
    return worst < 1e-9


def growth(texts, times):
    """Print times of a text and of one several times as long, and what a million pairs would take."""
    with tempfile.TemporaryDirectory() as name:
        larger = repeated(texts, Path(name), times)
        small, large = (in_fresh_process(__file__, "--measure", *paths) for paths in (texts, larger))
    rows = []
    for key in ("index", "extract", "one_sentence", "model_opened", "memory"):
        power = np.log(large[key] / small[key]) / np.log(large["pairs"] / small["pairs"])
        million = large[key] * (1e6 / large["pairs"]) ** max(power, 1.0 if key == "index" else power)
        rows.append((key, f"{small[key]:.2f}", f"{large[key]:.2f}", f"{power:.2f}", f"{million:.1f}"))
    columns = ("", f"{small['pairs']:,} pairs", f"{large['pairs']:,} pairs", "power", "1,000,000 pairs, by that power")
    show("growth (seconds of CPU time, MiB)", columns, rows)


def main():
    if "--measure" in sys.argv:
        print(json.dumps(measure([Path(path) for path in sys.argv[sys.argv.index("--measure") + 1 :]])))
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="a folder with multi30k/ and kbest-de-en/")
    parser.add_argument("--growth", action="store_true", help="ten times the pairs too")
    arguments = parser.parse_args()
    print(machine())
    with tempfile.TemporaryDirectory() as name:
        if arguments.data:
            texts = real_texts(arguments.data)
            label, fine = "Multi30k De→En", check_real(arguments.data, texts)
        else:
            texts = invented_texts(Path(name), 10_000, 300)
            label, fine = "the synthetic pair", check_invented(texts, 5)
        report(label, in_fresh_process(__file__, "--measure", *texts))
        if arguments.growth:
            growth(texts, 10)
    sys.exit(0 if fine else 1)


if __name__ == "__main__":
    main()
