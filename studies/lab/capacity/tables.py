"""Tables and a figure of capacity: reach of the oracle, gains on both sides, agreement of tuners, counts of cones."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from luthier.core.files.journal import Record
from luthier.report.figure_style import LINES, make_panels, write_figure

from ..base import markdown
from ..lines import unpack_statistics
from .settings import ALL, CONES, EXTREMES, ORACLE, SELECTIONS

ENOUGH_TO_TIME = 50_000  # linear programs


def table_parts(title: str, records: Sequence[Record]) -> list[str]:
    """Return the tables of one grid, as far as it has lines."""
    parts = [f"### {title}\n"]
    counted = [record for record in records if record["tuner"] == CONES]
    oracles = [record for record in records if record["tuner"] == ORACLE]
    extremes = [record for record in records if record["tuner"] == EXTREMES]
    tuned = [record for record in records if record["tuner"] not in (CONES, *SELECTIONS)]
    if counted:
        parts.append(cone_table(counted))
    if oracles:
        parts.append(oracle_table(oracles))
    if oracles and all("none_extreme" in record for record in oracles):
        parts.append(extremes_table(oracles))
    if extremes:
        parts.append(f"The same of an extreme hypothesis of each list, drawn at random:\n\n{oracle_table(extremes)}")
    if tuned:
        parts.append(tuning_table(tuned))
    if len({record["tuner"] for record in tuned}) > 1 and oracles:
        parts.append(agreement_table([*oracles, *tuned]))
    return parts


def cone_table(records: Sequence[Record]) -> str:
    """Return numbers of cones, the linear programs of their boundaries and CPU seconds, by dimensions and lists.

    A program: does one edge at a vertex bound its cone? At most δ edges at each are at most δ·V programs.
    """
    rows = []
    for own in _groups(records, ("space", "sentences", "features")):
        first = own[0]
        complete = all(record["complete"] for record in own)
        counts = [record["cones"] for record in own]
        cells = ["–"] * 4
        if all("programs" in record for record in own):
            degree, programs = _mean(own, "degree"), _mean(own, "programs")
            share = programs / (degree * np.mean(counts)) if degree else 0.0
            micros = f"{1e6 * _mean(own, 'cpu_seconds') / programs:.1f}" if programs > ENOUGH_TO_TIME else "–"
            cells = [f"{degree:,.0f}", f"{programs:,.0f}", f"{100 * share:.0f} %", micros]
        rows.append(
            [
                str(first["columns"]),
                str(first["sentences"]),
                first["features"],
                f"{np.mean(counts):,.0f}" if complete else f"≥ {max(counts):,}",
                *cells,
                f"{_mean(own, 'cpu_seconds'):.2f}",
            ]
        )
    head = ["D", "sentences", "hypotheses", "selections that weights can make, V", "δ", "programs"]
    note = "\nδ: at most so many edges at a vertex. programs: edges at all vertices that were found.\n"
    return markdown([*head, "of δ·V", "µs for each", "CPU s"], rows, ()) + note


def oracle_table(records: Sequence[Record]) -> str:
    """Return on how many draws of sentences some weights select the oracle, features by sentences."""

    def cell(some: Sequence[Record]) -> str:
        return f"{sum(record['feasible'] for record in some)} of {len(some)}, {_followed(some)} %"

    note = (
        "\nDraws of sentences on which some weights select the oracle, and the share of sentences on which weights "
        "that were found do, rounded down. D: weights that select anything, largest draw.\n"
    )
    return _features_by_sentences(records, cell, sizes_of_weights=True) + note


def extremes_table(records: Sequence[Record]) -> str:
    """Return in how many lists the best hypothesis is not extreme, features by sentences."""

    def cell(some: Sequence[Record]) -> str:
        low, none = (sum(record[name] for record in some) for name in ("lowest_not_extreme", "none_extreme"))
        return f"{low}, {none} of {sum(record['sentences'] for record in some)}"

    note = (
        "\nLists, over all draws, whose best hypothesis no weights select: the lowest row of those that are best, and "
        "all of these rows. The oracle is then the best hypothesis that some weights select in their list.\n"
    )
    return _features_by_sentences(records, cell) + note


def _features_by_sentences(
    records: Sequence[Record], cell: Callable[[Sequence[Record]], str], *, sizes_of_weights: bool = False
) -> str:
    """Return a table with a row for each set of features and a column for each number of sentences."""
    sizes = sorted({record["sentences"] for record in records})
    rows = []
    for own in _groups(records, ("features",)):
        by_size = [[record for record in own if record["sentences"] == size] for size in sizes]
        largest = [f"{max(record['columns'] for record in own):,}"] if sizes_of_weights else []
        rows.append([own[0]["features"], *largest, *(cell(some) if some else "–" for some in by_size)])
    head = ["features", *(["D"] if sizes_of_weights else []), *(f"{size} sentences" for size in sizes)]
    return markdown(head, rows, (0,))


def _followed(records: Sequence[Record]) -> int:
    """Return the share of sentences that weights follow, in whole per cent, rounded down: 100 means all of them."""
    return int(100 * sum(record["followed"] for record in records) // sum(len(r["selected"]) for r in records))


def tuning_table(records: Sequence[Record]) -> str:
    """Return what tuners gain on their own sentences and on the test, means over draws and their deviation."""
    rows = []
    for own in _groups(records, ("features", "space", "sentences", "tuner")):
        first = own[0]
        gain = [record["tuned"] - record["before"] for record in own]
        test = [record["test"] - record["test_before"] for record in own]
        rows.append(
            [
                first["features"],
                f"{_mean(own, 'columns'):,.0f}",
                first["space"],
                str(first["sentences"]),
                first["tuner"],
                f"{_mean(own, 'tuned'):.2f}",
                _spread(gain),
                f"{_mean(own, 'test'):.2f}",
                _spread(test),
                f"{np.mean(gain) - np.mean(test):.2f}",
                str(len(own)),
                f"{_mean(own, 'cpu_seconds'):.1f}",
            ]
        )
    head = [
        "features",
        "D",
        "space",
        "sentences",
        "tuner",
        "tuned",
        "gain",
        "test",
        "gain on test",
        "lost",
        "draws",
        "CPU s",
    ]
    note = "\nGains over the start, with their standard deviation over draws. lost: the gain that test does not have.\n"
    return markdown(head, rows, (0, 2, 4)) + note


def agreement_table(records: Sequence[Record]) -> str:
    """Return the share of sentences for which two tuners select the same, and each the oracle's choice."""
    rows = []
    for own in _groups(records, ("features", "space", "sentences")):
        shares = agreements(own)
        if not shares:
            continue
        pairs = [share for names, share in shares.items() if ORACLE not in names]
        oracle = [share for names, share in shares.items() if ORACLE in names]
        lowest = min((share, names) for names, share in shares.items() if ORACLE not in names)
        largest = max(record["columns"] for record in own)
        rows.append(
            [
                own[0]["features"],
                f"{largest:,}",
                str(own[0]["sentences"]),
                f"{100 * np.mean(pairs):.0f} %",
                f"{100 * lowest[0]:.0f} % ({', '.join(lowest[1])})",
                f"{100 * np.mean(oracle):.0f} %" if oracle else "–",
                _percent(agreements(own, "unseen")),
                _cosine(own),
            ]
        )
    head = ["features", "D", "sentences", "two tuners agree", "least", "agree with the oracle", "on unseen", "cosine"]
    note = (
        "\nShares of tuning sentences, and of unseen ones; the cosine is of directions in units of the features' "
        "spreads. Means over pairs of tuners and draws.\n"
    )
    return markdown(head, rows, (0,)) + note


def _percent(shares: Mapping[tuple[str, str], float]) -> str:
    return f"{100 * np.mean([*shares.values()]):.0f} %" if shares else "–"


def _cosine(records: Sequence[Record]) -> str:
    """Return the mean cosine of what two tuners found on one draw."""
    found = {}
    for record in records:
        if "direction" in record:
            vector = unpack_statistics(record["direction"], 1).ravel()
            found[record["replica"], record["tuner"]] = vector / max(float(np.linalg.norm(vector)), 1e-300)
    pairs = [(a, b) for a, b in itertools.combinations(found, 2) if a[0] == b[0]]
    return f"{np.mean([found[a] @ found[b] for a, b in pairs]):.2f}" if pairs else "–"


def agreements(records: Sequence[Record], part: str = "selected") -> dict[tuple[str, str], float]:
    """Return the share of sentences on which two tuners select the same row, mean over draws, by their names."""
    records = [record for record in records if part in record]
    chosen = {(record["replica"], record["tuner"]): np.array(record[part]) for record in records}
    tuners = sorted({record["tuner"] for record in records})
    replicas = sorted({record["replica"] for record in records})
    found = {}
    for pair in itertools.combinations(tuners, 2):
        both = [[chosen[r, name] for name in pair] for r in replicas if all((r, name) in chosen for name in pair)]
        if both:
            found[pair] = float(np.mean([np.mean(one == other) for one, other in both]))
    return found if any(ORACLE not in pair for pair in found) else {}


def _groups(records: Iterable[Record], names: tuple[str, ...]) -> list[list[Record]]:
    """Return records by what they have in common, in the order in which that first appears."""
    found: dict[tuple[Any, ...], list[Record]] = {}
    for record in records:
        found.setdefault(tuple(record[name] for name in names), []).append(record)
    return list(found.values())


def _mean(records: Sequence[Record], name: str) -> float:
    return float(np.mean([record[name] for record in records]))


def _spread(values: Sequence[float]) -> str:
    mean = f"{np.mean(values):+.2f}"
    return f"{mean} ± {np.std(values, ddof=1):.2f}" if len(values) > 1 else mean


def draw_capacity(records: Sequence[Record], title: str, path: Path) -> bool:
    """Draw a panel each for the oracle, for gains and for agreement, against the number of weights that matter.

    Return whether there was anything to draw: features that differ in number, and tuners at the sentences that most
    units have.
    """
    records = [record for record in records if record["space"] == ALL]
    oracles = [record for record in records if record["tuner"] == ORACLE]
    compared = _compared(records)
    if len({record["features"] for record in oracles}) < 2 or not compared:
        return False
    from matplotlib import ticker

    figure, axes = make_panels(1, 3, figsize=(13, 4.2), layout="constrained")
    _draw_reach(axes[0], oracles)
    _draw_gains(axes[1], [record for record in compared if record["tuner"] != ORACLE])
    _draw_agreement(axes[2], compared)
    for axis in axes:
        axis.set_xscale("log")
        axis.xaxis.set_major_locator(ticker.LogLocator(subs=(1.0, 3.0)))
        axis.xaxis.set_major_formatter(ticker.StrMethodFormatter("{x:,.0f}"))
        axis.xaxis.set_minor_locator(ticker.NullLocator())
        axis.set_xlabel("weights that select anything, D", fontsize=9)
        axis.tick_params(labelsize=8)
        axis.grid(visible=True, linewidth=0.3)
        axis.legend(fontsize=8, frameon=False)
    figure.suptitle(title, fontsize=11)
    write_figure(figure, path, dpi=110)
    return True


def _compared(records: Sequence[Record]) -> list[Record]:
    """Return the units of those tuners and sentences that were run with the most sets of features."""
    sets: dict[tuple[int, str], set[str]] = {}
    for record in records:
        if record["tuner"] != ORACLE:
            sets.setdefault((record["sentences"], record["tuner"]), set()).add(record["features"])
    most = max((len(found) for found in sets.values()), default=0)
    if most < 2:
        return []
    size = max(size for (size, _), found in sets.items() if len(found) == most)
    tuners = {tuner for (own, tuner), found in sets.items() if own == size and len(found) == most} | {ORACLE}
    return [record for record in records if record["sentences"] == size and record["tuner"] in tuners]


def _by_features(records: Sequence[Record]) -> list[tuple[float, list[Record]]]:
    """Return records by their features, with the mean number of weights that matter, in its order."""
    names = dict.fromkeys(record["features"] for record in records)
    groups = [[record for record in records if record["features"] == name] for name in names]
    return sorted(((float(np.mean([r["columns"] for r in own])), own) for own in groups), key=lambda item: item[0])


def _draw_reach(axis: Any, records: Sequence[Record]) -> None:
    for size, color in zip(sorted({r["sentences"] for r in records}), LINES, strict=False):
        points = _by_features([r for r in records if r["sentences"] == size])
        shares = [100 * np.mean([r["feasible"] for r in own]) for _, own in points]
        axis.plot([d for d, _ in points], shares, "o-", color=color, label=f"{size} sentences")
    axis.set_ylabel("draws on which weights select the oracle, %", fontsize=9)


def _draw_gains(axis: Any, records: Sequence[Record]) -> None:
    for tuner, color in zip(dict.fromkeys(r["tuner"] for r in records), LINES, strict=False):
        points = _by_features([r for r in records if r["tuner"] == tuner])
        for style, after, before in (("o-", "tuned", "before"), ("s:", "test", "test_before")):
            gains = [np.mean([r[after] - r[before] for r in own]) for _, own in points]
            axis.plot([d for d, _ in points], gains, style, color=color, label=tuner if after == "tuned" else None)
    axis.set_ylabel("gain on tuning (—) and test (···) sentences", fontsize=9)


def _draw_agreement(axis: Any, records: Sequence[Record]) -> None:
    pairs, oracle, places = [], [], []
    for d, own in _by_features(records):
        shares = agreements(own)
        if not shares:
            continue
        places.append(d)
        pairs.append(100 * np.mean([share for names, share in shares.items() if ORACLE not in names]))
        oracle.append(100 * np.mean([share for names, share in shares.items() if ORACLE in names] or [np.nan]))
    axis.plot(places, pairs, "o-", color=LINES[0], label="two tuners")
    axis.plot(places, oracle, "s-", color=LINES[1], label="a tuner and the oracle")
    axis.set_ylabel("sentences on which both select the same, %", fontsize=9)


def draw_phases(records: Sequence[Record], title: str, path: Path) -> bool:
    """Draw over features and sentences what weights can follow, of both selections, and tuners' gains on unseen lists.

    Return whether there was anything to draw: both selections.
    """
    records = [record for record in records if record["space"] == ALL and record["tuner"] != CONES]
    if not {*SELECTIONS} <= {record["tuner"] for record in records}:
        return False
    tuners = [name for name in dict.fromkeys(record["tuner"] for record in records) if name not in SELECTIONS]
    columns = 2 if tuners else 1
    rows = 1 + -(-len(tuners) // 2) if tuners else 2
    figure, axes = make_panels(rows, columns, figsize=(5.6 * columns, 3.4 * rows), squeeze=False, layout="constrained")
    panels = iter(axes.flat)
    for name, label in ((ORACLE, "the oracle"), (EXTREMES, "extremes at random")):
        own = [record for record in records if record["tuner"] == name]
        _draw_phase(next(panels), own, f"sentences that weights follow, %: {label}", _share, (0.0, 100.0))
    gains = [record["test"] - record["test_before"] for record in records if record["tuner"] in tuners]
    largest = max(map(abs, gains), default=1.0) or 1.0
    for name in tuners:
        own = [record for record in records if record["tuner"] == name]
        _draw_phase(next(panels), own, f"gain on unseen lists: {name}", _unseen_gain, (-largest, largest))
    for axis in panels:
        axis.set_visible(False)
    figure.suptitle(title, fontsize=11)
    write_figure(figure, path, dpi=110)
    return True


def _share(records: Sequence[Record]) -> tuple[float, str]:
    share = _followed(records)
    return share, f"{share}\n{sum(record['feasible'] for record in records)} of {len(records)}"


def _unseen_gain(records: Sequence[Record]) -> tuple[float, str]:
    gain = float(np.mean([record["test"] - record["test_before"] for record in records]))
    return gain, f"{gain:+.1f}"


def _draw_phase(axis: Any, records: Sequence[Record], title: str, cell: Any, limits: tuple[float, float]) -> None:
    """Draw a table of cells, sentences upwards and features to the right, each with its number."""
    sizes = sorted({record["sentences"] for record in records})
    columns = sorted(_by_features(records), key=lambda column: max(record["columns"] for record in column[1]))
    values = np.full((len(sizes), len(columns)), np.nan)
    for x, (_, own) in enumerate(columns):
        for y, size in enumerate(sizes):
            some = [record for record in own if record["sentences"] == size]
            if some:
                values[y, x], text = cell(some)
                axis.text(x, y, text, ha="center", va="center", fontsize=7)
    axis.imshow(values, origin="lower", aspect="auto", cmap="RdYlGn", vmin=limits[0], vmax=limits[1], alpha=0.6)
    labels = [f"{own[0]['features']}\n{max(r['columns'] for r in own):,}" for _, own in columns]
    axis.set_xticks(range(len(columns)), labels, fontsize=7)
    axis.set_yticks(range(len(sizes)), [str(size) for size in sizes], fontsize=8)
    axis.set_xlabel("features; weights that select anything, D (largest draw)", fontsize=8)
    axis.set_ylabel("sentences, S", fontsize=8)
    axis.set_title(title, fontsize=9)
