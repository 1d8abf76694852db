"""Studies of conditions as Markdown: what each reached, what was chosen and by what, and how loops went."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from luthier.evaluation.comparison import Difference

from .condition_scores import ConditionResult, ConditionTables, Setting, Tries

LEAST_P = 0.001


def condition_tables(name: str, data: Sequence[ConditionTables]) -> str:
    """Return all tables of a study."""
    parts = [f"# {name}: tables\n\nMade from `units.jsonl` and `choices.json` alone; scores are on 0–100.\n"]
    for tables in data:
        parts += [f"## {tables.data}\n", *_parts(tables)]
    return "\n".join(parts)


def _parts(tables: ConditionTables) -> Iterator[str]:
    label, signature = tables.metric
    yield f"Metric: {label}, `{signature}`. Every loop that the tables count has ended.\n"
    yield f"### Conditions on the test sentences\n\n{main_table(tables)}"
    if tables.sweep:
        yield f"### {tables.sweep[0].setting.condition} by bits\n\n{sweep_table(tables)}"
    for condition, results in tables.confirmed.items():
        if not results:
            continue
        yield (
            f"### {condition}: the choice confirmed by decoding\n\n{_scores_table(results)}\n"
            "The first replica of the chosen setting and of its neighbours.\n"
        )
    yield f"### Scores on the tuning sentences, turn by turn\n\n{turns_table(tables)}"
    if tables.tries:
        yield (
            "### What was chosen among\n\nBy re-ranking lists of pairs that were held out, without decoding; the score "
            "of the best of many points flatters it.\n"
        )
        yield from (f"{tries_table(tries)}" for tries in tables.tries)


def main_table(tables: ConditionTables) -> str:
    """Return the conditions with their means, spreads and differences from the baselines."""
    head = ["condition", "bits", "chosen", "features", "replicas", tables.metric[0], "s_opt"]
    for baseline in tables.baselines:
        head += [f"Δ {baseline}", "95 % interval", "p (these runs)"]
    head += ["s to decode", "s to tune"]
    rows = [_main_row(name, result, tables.baselines) for name, result in tables.main.items()]
    note = (
        "Means over replicas; s_opt: standard deviation over them. Δ of the scores of mean statistics. Intervals by "
        "paired bootstrap over sentences, and over replicas where a condition has three. p by approximate "
        "randomisation of whole systems by sentence: about these runs. Seconds of a loop, all turns"
    )
    if tables.tries:
        note = f"Bits and parameters were chosen by re-ranking, see below. {note}"
    together = max((result.together for result in tables.main.values() if result is not None), default=1)
    note += f"; some ran up to {together} at a time, which makes them longer.\n" if together > 1 else ".\n"
    return f"{_markdown(head, rows, text=3)}\n{note}"


def _main_row(name: str, result: ConditionResult | None, baselines: Sequence[str]) -> list[str]:
    if result is None:
        return [name, *["–"] * (8 + 3 * len(baselines))]
    cells = [*_setting(result.setting), f"{result.features:,}", f"{len(result.scores)} of {result.wanted}"]
    cells += [f"{result.mean:.2f}", _spread(result)]
    for baseline in baselines:
        cells += difference_cells(result.against.get(baseline))
    return [*cells, *(f"{seconds:.0f}" for seconds in result.seconds)]


def _setting(setting: Setting) -> list[str]:
    return [setting.condition, str(setting.bits) if setting.bits else "–", setting.values or "–"]


def _spread(result: ConditionResult) -> str:
    return "–" if result.s_opt is None else f"{result.s_opt:.2f}"


def difference_cells(found: Difference | None) -> list[str]:
    """Return a difference, its interval and its p, as cells of a table."""
    if found is None:
        return ["–"] * 3
    p = f"< {LEAST_P}" if found.randomisation_p < LEAST_P else f"{found.randomisation_p:.3f}"
    return [f"{found.difference:+.2f}", f"{found.interval.low:+.2f} … {found.interval.high:+.2f}", p]


def sweep_table(tables: ConditionTables) -> str:
    """Return one condition with all its bits."""
    more = tables.more_features
    head = ["bits", "features", *(["and counts cut too"] if more else []), "replicas", tables.metric[0], "s_opt"]
    rows = []
    for result in tables.sweep:
        bits = result.setting.bits
        cells = [str(bits), f"{result.features:,}", *([f"{more[bits]:,}"] if more else [])]
        rows.append([*cells, f"{len(result.scores)} of {result.wanted}", f"{result.mean:.2f}", _spread(result)])
    return _markdown(head, rows, text=0)


def _scores_table(results: Sequence[ConditionResult]) -> str:
    rows = [[*_setting(r.setting), f"{r.scores[0]:.2f}", f"{r.decoded[0][-1]:.2f}"] for r in results]
    return _markdown(["condition", "bits", "values", "test", "tuning, last turn"], rows, text=3)


def turns_table(tables: ConditionTables) -> str:
    """Return the decoder's own score on the tuning sentences by turn, and how much the last turn brought."""
    done = [result for result in tables.main.values() if result is not None]
    longest = max((len(turns) for result in done for turns in result.decoded), default=0)
    head = ["condition", *map(str, range(1, longest + 1)), "last turn"]
    rows = []
    for result in done:
        cells = []
        for turn in range(longest):
            seen = [turns[turn] for turns in result.decoded if len(turns) > turn]
            cells.append(f"{np.mean(seen):.2f}" if seen else "–")
        gains = [turns[-1] - turns[-2] for turns in result.decoded if len(turns) > 1]
        rows.append([result.setting.condition, *cells, f"{np.mean(gains):+.2f}" if gains else "–"])
    note = "Means over replicas. Turn 1 decodes with the weights of the start, turn n with those tuned in turn n − 1.\n"
    return f"{_markdown(head, rows, text=1)}\n{note}"


def tries_table(tries: Tries) -> str:
    """Return what was tried for a condition, the chosen point marked."""
    rows = [
        [setting.condition, str(setting.bits), setting.values or "–", f"{features:,}", f"{tuned:.2f}", f"{heldout:.2f}",
         "chosen" if setting == tries.best else ""]
        for setting, features, tuned, heldout in tries.points
    ]  # fmt: skip
    return _markdown(["condition", "bits", "values", "features", "tuned", "held out", ""], rows, text=1)


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]], *, text: int) -> str:
    """Return a table whose first columns are texts and whose others are numbers."""
    marks = ["---"] * text + ["--:"] * (len(head) - text)
    lines = [head, marks, *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)
