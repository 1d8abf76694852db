"""Studies of tuners in loops as Markdown: what each reached on the tuning sentences, its price, and the test."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from luthier.evaluation.comparison import Difference

from .condition_tables import difference_cells
from .tuner_loop_scores import TunerLoopTables


def tuner_loop_tables(name: str, data: Sequence[TunerLoopTables]) -> str:
    """Return all tables of a study."""
    parts = [f"# {name}: tables\n\nMade from `units.jsonl` alone; scores are on 0–100.\n"]
    for tables in data:
        sentences, k, features = tables.size
        parts.append(
            f"## {tables.data}\n\n{sentences:,} sentences to tune on, {k}-best lists in every turn, {features} "
            "features. Every loop that the tables count has ended.\n"
        )
        parts.append(f"### On the tuning sentences\n\n{tuning_table(tables)}")
        parts.append(f"### On the test sentences\n\n{test_table(tables)}")
    return "\n".join(parts)


def tuning_table(tables: TunerLoopTables) -> str:
    """Return metric × tuner: scores at the first and the last decoding and on all lists, turns and CPU time."""
    head = ["tuned for", "tuner", "starts", "turns", "hypotheses", "first decoding", "last decoding", "all lists",
            "CPU s to tune", "a start", "ended"]  # fmt: skip
    rows = []
    for loop in tables.loops:
        tuned_turns = max(len(loop.decoded), 1)
        rows.append([
            loop.metric, loop.tuner, str(loop.starts), str(len(loop.decoded)), f"{loop.hypotheses:,}",
            f"{loop.decoded[0]:.2f}", f"{loop.decoded[-1]:.2f}", f"{loop.tuned[-1]:.2f}", f"{loop.tune_cpu:.0f}",
            f"{loop.tune_cpu / (tuned_turns * loop.starts):.3f}", loop.ended,
        ])  # fmt: skip
    note = (
        "\nfirst decoding: with the weights of the start; last: with those tuned in the turn before. all lists: tuned, "
        "on the lists of all turns together, which differ from tuner to tuner. a start: CPU seconds of one start in "
        "one turn.\n"
    )
    return _markdown(head, rows, texts={0, 1, len(head) - 1}) + note


def test_table(tables: TunerLoopTables) -> str:
    """Return metric × tuner: test scores, and how they differ from the baseline's."""
    names = list(dict.fromkeys(name for loop in tables.loops for name in loop.after))
    head = ["tuned for", "tuner", *(cell for name in names for cell in (name, "Δ", "95 % interval", "p (these runs)"))]
    rows, seen = [], set[str]()
    for loop in tables.loops:
        if loop.metric not in seen:
            seen.add(loop.metric)
            rows.append([loop.metric, "no tuning", *_cells(loop.before, {}, names)])
        rows.append([loop.metric, loop.tuner, *_cells(loop.after, loop.against, names)])
    note = (
        f"\nΔ: less {tables.baseline}. Intervals by paired bootstrap over sentences, p by approximate randomisation: "
        "of one loop each, not of what another seed would give.\n"
    )
    return _markdown(head, rows, texts={0, 1}) + note


def _cells(scores: Mapping[str, float], against: Mapping[str, Difference], names: Sequence[str]) -> Iterator[str]:
    for name in names:
        yield f"{scores[name]:.2f}" if name in scores else "–"
        yield from difference_cells(against.get(name))


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]], *, texts: set[int]) -> str:
    marks = ["---" if column in texts else "--:" for column in range(len(head))]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in [head, marks, *rows])
