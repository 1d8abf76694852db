"""How constrained a model is, as tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from luthier.report.console import cell, stack, table

MOST_WISHES = 20


def geometry_tables(report: Mapping[str, Any]) -> Any:
    """Return bounds, counts, what was tested, and, where drawn, how the constraints tighten."""
    parts = [_bounds(report), _lists(report), _tests(report)]
    if not report["oracle"]["feasible"]:
        parts.append(_contradiction(report["oracle"]["contradiction"]))
    if "against" in report:
        parts += _curves(report["against"])
    if "written" in report:
        parts.append(table("written", ("file",), [(path,) for path in report["written"]]))
    return stack(*parts)


def _bounds(report: Mapping[str, Any]) -> Any:
    rows = [
        (name, _power(b["log10_vertices"]), _power(b["log10_edges"]), _share(b), f"D = {b['least_dimensions']:,}")
        for name, b in (
            ("Theorem 1, constant 1", report["theorem"]),
            ("cells of the arrangement", report["arrangement"]),
        )
    ]
    every, extreme = report["log10_index_vectors"], report["log10_extreme_index_vectors"]
    return table(
        f"at most, for {report['sentences']:,} sentences and {report['features']:,} features",
        ("bound", "feasible index vectors", "edges (Theorem 2)", "share of index vectors", "stops binding at"),
        rows,
        caption=f"{_power(every)} index vectors, {_power(extreme)} of extreme hypotheses only\n"
        "where a bound does not bind, a selection may still be impossible",
    )


def _lists(report: Mapping[str, Any]) -> Any:
    return table(
        "hypotheses per list",
        ("", "total", "least", "median", "mean", "most"),
        [
            (name, s["total"], s["least"], f"{s['median']:.1f}", f"{s['mean']:.1f}", s["most"])
            for name, s in (
                ("all", report["hypotheses"]),
                ("distinct feature vectors", report["distinct"]),
                ("extreme: some weights select them", report["extreme"]),
            )
        ],
    )


def _tests(report: Mapping[str, Any]) -> Any:
    n, oracle, subset, sample = report["sentences"], report["oracle"], report["subset"], report["sample"]
    rows = [
        ("oracle (greedy)", f"{oracle['score']:.2f}"),
        ("  its hypotheses that are extreme", f"{oracle['extreme']:,} of {n:,}"),
        ("  its index vector", _verdict(oracle)),
        ("  feasible on so many sentences", f"{subset['sentences']:,} of {n:,} (greedy; {subset['order']})"),
        ("  re-ranked with weights found there", "selects it" if subset["holds"] else "does not select it: rounding"),
        ("random index vectors", f"{sample['feasible']:,} of {sample['tested']:,} feasible"),
    ]
    reached = sample["sentences_before_failure"]
    if reached:
        rows.append(("  sentences before a contradiction", f"mean {reached['mean']:.1f}, most {reached['most']:,}"))
    return table("put to the test", ("", ""), rows, caption=str(report["metric"]))


def _verdict(oracle: Mapping[str, Any]) -> str:
    if oracle["feasible"]:
        margin = "" if oracle["margin"] is None else f", with the margin {oracle['margin']:.3g}"
        return f"feasible{margin}" + ("" if oracle["selects"] else "; floating-point weights are too coarse")
    return f"infeasible: {len(oracle['contradiction'])} of its wishes contradict one another"


def _contradiction(wishes: Any) -> Any:
    shown = wishes[:MOST_WISHES]
    more = len(wishes) - len(shown)
    return table(
        "the contradiction",
        ("sentence", "oracle's hypothesis", "shall beat", "multiplier"),
        [(str(w["sentence"]), str(w["wanted"]), str(w["other"]), f"{w['multiplier']:.4g}") for w in shown],
        caption="no weights fulfil all of these wishes: so multiplied, the differences of their features sum to 0"
        + (f"\n{more} more, see --json" if more else ""),
    )


def _curves(curves: Mapping[str, Any]) -> list[Any]:
    numbers = sorted({share["n_sentences"] for share in curves["shares"]})
    sizes = sorted({share["n_features"] for share in curves["shares"]})
    found = {(s["n_features"], s["n_sentences"]): s["feasible"] / s["draws"] for s in curves["shares"]}
    draws = curves["shares"][0]["draws"]
    parts = [
        table(
            "share of oracle selections that are feasible",
            ("features", *(f"{n:,} sentence{'s' if n > 1 else ''}" for n in numbers)),
            [(cell(d), *(f"{found[d, n]:.0%}" for n in numbers)) for d in sizes],
            caption=f"{draws} draws of features and of sentences",
        )
    ]
    if curves["costs"]:
        parts.append(
            table(
                f"lp-mert on the first {curves['k']} hypotheses",
                ("features", "sentences", "runs", "that ended", "CPU s, mean", "longest"),
                [
                    (c["n_features"], c["n_sentences"], len(c["seconds"]), c["finished"], *_times(c["seconds"]))
                    for c in curves["costs"]
                ],
                caption=f"runs are given up after {curves['time_limit']:g} s; {_ENDED}",
            )
        )
    return parts


_ENDED = "larger sizes are left out once none ends"


def _times(seconds: Any) -> tuple[str, str]:
    return f"{sum(seconds) / len(seconds):.3f}", f"{max(seconds):.3f}"


def _power(log10: float | None) -> str:
    """Return a number of any size.

    >>> _power(4506.0), _power(2.0), _power(None)
    ('10^4506.0', '100', '0')
    """
    if log10 is None:
        return "0"
    return f"{round(10**log10):,}" if log10 < 6 else f"10^{log10:.1f}"


def _share(bound: Mapping[str, Any]) -> str:
    if not bound["binds"]:
        return "does not bind"
    log10 = bound["log10_percent"]
    return f"{10**log10:.3g} %" if log10 > -4 else f"10^{log10:.1f} %"
