"""A comparison of systems as text for the terminal, as Markdown and as LaTeX."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from luthier.evaluation.bootstrap import MIN_REPLICAS
from luthier.evaluation.comparison import Comparison, MetricResults, Result
from luthier.evaluation.ranking import DifferentSentences, SentenceDifference
from luthier.report.console import FinePrint, as_text, code_of, decimals_for, stack, table

# What is shown in any case, besides the metric, the system and the interval.
FIRST_COLUMNS = ("mean", "s_opt", "p (these runs)", "Δ")
# The least p that is printed as a number.
LEAST_P = 0.001
LATEX_SPECIAL = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        **{character: "\\" + character for character in "&%$#_{}"},
    }
)
LATEX_SIGNS = str.maketrans({"↑": r"$\uparrow$", "↓": r"$\downarrow$", "Δ": r"$\Delta$", "…": r"\dots{}", "<": "$<$"})
LATEX_COLUMNS = {
    "s_sel": r"$s_{\mathrm{sel}}$",
    "s_opt": r"$s_{\mathrm{opt}}$",
    "p (these runs)": "$p$ (these runs)",
    "p (other runs)": "$p$ (other runs)",
}


def comparison_text(comparison: Comparison, *, decimals: int | None = None) -> Any:
    """Return the comparison as a table and notes that `luthier.report.console.show` prints."""
    rows = [[_heading(metric), *row] for metric in comparison.metrics for row in comparison_rows(metric, decimals)]
    title = f"systems against {comparison.systems[0]}"
    columns = comparison_columns(comparison)
    said = [column for c, column in enumerate(columns) if any(row[c] for row in rows)]
    shown = [
        c
        for c in range(len(columns))
        if c < 2 or (columns[c] in said and (columns[c] in FIRST_COLUMNS or columns[c].endswith("interval")))
    ]
    codes = ", ".join(code_of(metric.signature) for metric in comparison.metrics)
    first = [f"{comparison.sentences:,} sentences; p by approximate randomisation; {codes}"]
    warned = [f"warning: {text}" for text in comparison.warnings]
    whole = table("all tests", columns, rows)
    return stack(
        table(title, [columns[c] for c in shown], [[row[c] for c in shown] for row in rows]),
        as_text("\n".join([*warned, *first])),
        FinePrint(stack(whole, as_text("\n".join(_notes(comparison)[len(warned) :])))),
    )


def comparison_markdown(comparison: Comparison, *, decimals: int | None = None) -> str:
    """Return the comparison as one Markdown table, and notes below it."""
    columns = comparison_columns(comparison)
    lines = [_markdown_row(columns), _markdown_row(["---", "---", *["---:"] * (len(columns) - 2)])]
    for metric in comparison.metrics:
        for k, row in enumerate(comparison_rows(metric, decimals)):
            lines.append(_markdown_row([_heading(metric) if k == 0 else None, *row]))
    notes = [f"- {_markdown_cell(note)}" for note in _notes(comparison)]
    return "\n".join([*lines, "", *notes, ""])


def comparison_latex(comparison: Comparison, *, decimals: int | None = None) -> str:
    """Return the comparison as a LaTeX table (with the package booktabs), notes as comments above it."""
    columns = comparison_columns(comparison)
    body: list[str] = []
    for metric in comparison.metrics:
        body.append(r"\midrule")
        for k, row in enumerate(comparison_rows(metric, decimals)):
            body.append(_latex_row([_heading(metric) if k == 0 else None, *row]))
    header = " & ".join(LATEX_COLUMNS.get(column) or _latex_cell(column) for column in columns)
    return "\n".join(
        [
            *(f"% {note}" for note in _notes(comparison)),
            rf"\begin{{tabular}}{{ll{'r' * (len(columns) - 2)}}}",
            r"\toprule",
            header + r" \\",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
            "",
        ]
    )


def sentences_text(
    metric: str, systems: tuple[str, str], sentences: Sequence[SentenceDifference], *, decimals: int | None = None
) -> str:
    """Return the most different sentences of a baseline and a system, with all texts, one below the other."""
    if decimals is None:
        decimals = decimals_for((s for found in sentences for s in (found.baseline_score, found.system_score)), usual=1)
    width = max(map(len, (*systems, "reference")))
    blocks = []
    for found in sentences:
        lines = [
            f"sentence {found.sentence + 1}: {metric} {_signed(found.difference, decimals)} "
            f"(corpus {_signed(found.effect, decimals + 2)})"
        ]
        lines += [f"  {'reference':{width}}        {text}" for text in found.references]
        rows = (found.baseline_score, found.baseline_text), (found.system_score, found.system_text)
        for name, (score, text) in zip(systems, rows, strict=True):
            lines.append(f"  {name:{width}} {score:6.{decimals}f} {text}".rstrip())
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def _heading(metric: MetricResults) -> str:
    arrow = {True: " ↑", False: " ↓", None: ""}[metric.higher_is_better]
    return f"{metric.metric}{arrow}"


def comparison_columns(comparison: Comparison) -> list[str]:
    """Return the heads of the columns, that of the metric first."""
    share = f"{comparison.settings.confidence:.4%}".rstrip("0%").rstrip(".")
    return [
        "metric",
        "system",
        "mean",
        "s_sel",
        "s_opt",
        "p (these runs)",
        "p (other runs)",
        "Welch",
        "Δ",
        f"{share} % interval",
    ]


def comparison_rows(metric: MetricResults, decimals: int | None = None) -> list[list[str | None]]:
    """Return the cells of each system under one metric, without the metric's own."""
    if decimals is None:
        decimals = decimals_for((result.mean for result in metric.results), usual=1)
    return [[*_own_cells(result, decimals), *_difference_cells(result, decimals)] for result in metric.results]


def _own_cells(result: Result, decimals: int) -> Iterator[str | None]:
    yield result.system
    yield f"{result.mean:.{decimals}f}"
    yield f"{result.s_sel:.{decimals}f}"
    yield None if result.s_opt is None else f"{result.s_opt:.{decimals}f}"


def _difference_cells(result: Result, decimals: int) -> Iterator[str | None]:
    found = result.against_baseline
    if found is None:
        yield from [None] * 5
        return
    yield _p(found.randomisation_p)
    # one run against one has a single permutation: it can show nothing
    yield "–" if found.replica_test.smallest_p >= 1.0 else _p(found.replica_test.permutation_p)
    yield None if found.replica_test.welch_p is None else _p(found.replica_test.welch_p)
    # One digit more than the means: differences are small beside them.
    yield _signed(found.difference, decimals + 1)
    yield f"{_signed(found.interval.low, decimals + 1)} … {_signed(found.interval.high, decimals + 1)}"


def _p(p: float) -> str:
    return f"<{LEAST_P}" if p < LEAST_P else f"{p:.3f}"


def _signed(number: float, decimals: int) -> str:
    """Return a number with its sign, none if it is printed as zero.

    >>> _signed(-0.26, 1), _signed(0.26, 1), _signed(-0.01, 1)
    ('-0.3', '+0.3', '0.0')
    """
    text = f"{number:+.{decimals}f}"
    return text if text.strip("+-0.") else text[1:]


def _notes(comparison: Comparison) -> list[str]:
    """Return what a reader must know about the numbers, a sentence each."""
    settings = comparison.settings
    named = zip(comparison.systems, comparison.replicas, strict=True)
    notes = [
        f"{comparison.sentences} sentences; replicas: {', '.join(f'{name} {count}' for name, count in named)}; "
        f"all against {comparison.systems[0]}",
        f"s_sel: standard deviation over {settings.draws} resamples of the test set; s_opt: over replicas",
    ]
    if len(comparison.systems) > 1:
        notes += [
            _exchange_note(comparison),
            "p (other runs), Welch: between the replicas' scores, by permutation of runs and by Welch's t-test",
            *_weaknesses(comparison),
            "Δ: difference of the mean score from the baseline's, which p (these runs) is of",
            _interval_note(comparison),
        ]
    notes += [f"{metric.metric}: {metric.signature}" for metric in comparison.metrics]
    return [*(f"warning: {text}" for text in comparison.warnings), *notes, f"seed {settings.seed}"]


def _exchange_note(comparison: Comparison) -> str:
    if comparison.settings.exchange == "multeval":
        return (
            f"p (these runs): MultEval's exchange of single replicas, {comparison.settings.shuffles} shuffles; "
            "rejects true nulls too often, and gives identical systems a p near 0"
        )
    return (
        f"p (these runs): approximate randomisation of whole systems by sentence, {comparison.settings.shuffles} "
        "shuffles, two-sided; about these runs on other sentences, not about other runs"
    )


def _interval_note(comparison: Comparison) -> str:
    """Say what the intervals were resampled over, and for which systems sentences only."""
    given = [
        f"{name} ({count})"
        for name, count in zip(comparison.systems, comparison.replicas, strict=True)
        if count < MIN_REPLICAS
    ]
    if not given:
        return "interval: of Δ, by paired bootstrap over sentences, and over replicas"
    if len(given) == len(comparison.systems):
        return "interval: of Δ, by paired bootstrap over sentences; replicas are too few to say how runs vary"
    return f"interval: of Δ, by paired bootstrap over sentences, and over replicas but those of {', '.join(given)}"


def _weaknesses(comparison: Comparison) -> Iterator[str]:
    """Say of each number of replicas what the permutation of runs cannot show with it."""
    said = set()
    for count, result in zip(comparison.replicas, comparison.metrics[0].results, strict=True):
        if result.against_baseline is None or count in said:
            continue
        said.add(count)
        least = result.against_baseline.replica_test.smallest_p
        yield (
            f"with {comparison.replicas[0]} against {count} replicas p (other runs) cannot be less than {least:.3g}"
            + (": too few to show anything at 5 %" if least > 0.05 else "")
        )


def _markdown_row(cells: Sequence[str | None]) -> str:
    return "| " + " | ".join(map(_markdown_cell, cells)) + " |"


def _markdown_cell(text: str | None) -> str:
    text = text or ""
    for character in "\\|*_<":
        text = text.replace(character, "\\" + character)
    return text


def _latex_row(cells: Sequence[str | None]) -> str:
    names, numbers = cells[:2], cells[2:]
    signed = [_latex_cell(number).replace("-", "$-$") for number in numbers]
    return " & ".join([*map(_latex_cell, names), *signed]) + r" \\"


def _latex_cell(text: str | None) -> str:
    return (text or "").translate(LATEX_SPECIAL).translate(LATEX_SIGNS)


# A whole comparison for the terminal: the table in the form asked for, then the sentences.


def comparison_report(
    comparison: Comparison, different: Sequence[DifferentSentences], form: str, decimals: int | None = None
) -> Any:
    """Return the table as text, markdown or latex, and the most different sentences below it.

    Without `decimals`, each metric has one digit behind the point, or three if its scores are between 0 and 1.
    """
    if form == "text":
        table = comparison_text(comparison, decimals=decimals)
    else:
        write = comparison_markdown if form == "markdown" else comparison_latex
        table = as_text(write(comparison, decimals=decimals))
    blocks = [
        as_text("\n" + sentences_text(item.metric, (item.baseline, item.system), item.sentences, decimals=decimals))
        for item in different
    ]
    return stack(table, *blocks)
