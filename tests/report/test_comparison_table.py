"""A comparison as text, Markdown and LaTeX, from synthetic numbers."""

import dataclasses

import pytest

from luthier.evaluation.bootstrap import Interval
from luthier.evaluation.comparison import Comparison, Difference, MetricResults, ReplicaTest, Result, Settings
from luthier.evaluation.ranking import SentenceDifference
from luthier.report.console import show
from luthier.report.tables.comparison import (
    comparison_latex,
    comparison_markdown,
    comparison_text,
    sentences_text,
)


@pytest.fixture
def comparison():
    difference = Difference(
        difference=-0.84,
        randomisation_p=0.0001,
        replica_test=ReplicaTest(0.1, 0.1, 20, None, None),
        interval=Interval(-1.106, 0.001, 0.95, 0.975),
    )
    return Comparison(
        systems=("base_line", "new [b]|100%-x"),
        replicas=(3, 3),
        sentences=2489,
        settings=Settings(),
        metrics=(
            MetricResults(
                "ter",
                "ter(x)|luthier:0",
                False,
                (
                    Result("base_line", (65.0, 66.0, 66.0), 65.66, 0.36, 0.2, None),
                    Result("new [b]|100%-x", (64.8,), 64.81, 0.355, None, difference),
                ),
            ),
        ),
    )


def test_text(comparison, capsys):
    show(comparison_text(comparison))
    text = capsys.readouterr().out
    cells = [[cell.strip() for cell in line.split("│")[1:-1]] for line in text.splitlines() if line.startswith("│")]
    assert cells == [
        ["ter ↓", "base_line", "65.7", "0.2", "", "", ""],
        ["ter ↓", "new [b]|100%-x", "64.8", "", "<0.001", "-0.84", "-1.11 … 0.00"],
        ["ter ↓", "base_line", "65.7", "0.4", "0.2", "", "", "", "", ""],
        ["ter ↓", "new [b]|100%-x", "64.8", "0.4", "", "<0.001", "0.100", "", "-0.84", "-1.11 … 0.00"],
    ]
    assert "with 3 against 3 replicas p (other runs) cannot be less than 0.1: too few" in text
    assert "ter: ter(x)|luthier:0" in text
    assert "10000 shuffles, two-sided; about these runs on other sentences, not about other runs" in text
    assert "interval: of Δ, by paired bootstrap over sentences, and over replicas\n" in text


def test_warnings_and_what_was_resampled(comparison, capsys):
    changed = dataclasses.replace(comparison, replicas=(1, 3), warnings=("equal runs",))
    show(comparison_text(changed))
    text = capsys.readouterr().out
    assert "warning: equal runs" in text
    assert "over sentences, and over replicas but those of base_line (1)" in text
    show(comparison_text(dataclasses.replace(comparison, replicas=(1, 2), settings=Settings(exchange="multeval"))))
    text = capsys.readouterr().out
    assert "replicas are too few to say how runs vary" in text
    assert "MultEval's exchange of single replicas" in text


def test_markdown(comparison):
    lines = comparison_markdown(comparison, decimals=2).splitlines()
    assert lines[0].startswith("| metric | system | mean | s\\_sel | s\\_opt | p (these runs) |")
    assert lines[0].endswith("| Δ | 95 % interval |")
    assert lines[2] == "| ter ↓ | base\\_line | 65.66 | 0.36 | 0.20 |  |  |  |  |  |"
    assert lines[3].startswith("|  | new [b]\\|100%-x | 64.81 |")
    assert "| \\<0.001 |" in lines[3]
    assert lines[1].count("---") == 10


def test_latex(comparison):
    text = comparison_latex(comparison)
    body = [line for line in text.splitlines() if not line.startswith("%")]
    assert body[0] == r"\begin{tabular}{llrrrrrrrr}"
    assert body[4] == r"ter $\downarrow$ & base\_line & 65.7 & 0.4 & 0.2 &  &  &  &  &  \\"
    assert body[5] == (r" & new [b]|100\%-x & 64.8 & 0.4 &  & $<$0.001 & 0.100 &  & $-$0.84 & $-$1.11 \dots{} 0.00 \\")
    assert body[-1] == r"\end{tabular}"
    assert all(line.count(" & ") == 9 for line in body if line.endswith(r"\\"))


def test_sentences():
    found = SentenceDifference(4, 20.0, 31.25, 0.004, "the old", "the new", ("the truth",))
    assert sentences_text("bleu", ("base", "new"), [found, found]).split("\n\n")[1].splitlines() == [
        "sentence 5: bleu +11.2 (corpus +0.004)",
        "  reference        the truth",
        "  base        20.0 the old",
        "  new         31.2 the new",
    ]
