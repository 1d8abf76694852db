"""Extraction of rules: time, memory and growth; on real data the same rules as cdec's, feature by feature.

python benchmarks/bench_grammar.py [--data FOLDER] [--growth]
"""

import time

import numpy as np

from bench_common import show

SAMPLES = 300


def spent(function, *arguments, **named):
    start = time.process_time()
    result = function(*arguments, **named)
    return time.process_time() - start, result


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
    sample = names.index("SampleCountF")
    pair = names.index("CountEF")
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
    show("rules of ours against cdec's", ("", "not sampled", "sampled"), rows)
    return counts["missing"][0] == counts["more"][0] == 0 and worst < 1e-6 and found_mass >= 0.97 * mass
