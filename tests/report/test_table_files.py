"""Tables fit their page: numbers stay whole, no cell is lost, nothing is wider than asked."""

from __future__ import annotations

import pytest

from luthier.report.console import show, table

HEADS = ("system", "metric with a long name", "bleu", "chrf", "nothing", "written to")
ROWS = [
    ("base", "a few words that may fold", 41.97, 1_234_567, None, "a/folder/with/a/long/name/without/spaces.txt"),
    ("new", "one", 42.69, 89, None, "b.txt"),
]


@pytest.mark.parametrize("width", [200, 80, 60, 30])
def test_every_cell_is_shown_whole_or_folded_within_the_width(width, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    show(table("a title", HEADS, ROWS, caption="signature(" + "x" * 300 + ")"))
    *lines, caption = capsys.readouterr().out.splitlines()
    assert caption == "signature(" + "x" * 300 + ")"
    assert max(map(len, lines)) <= width
    cells = [cell.strip() for line in lines if line.startswith("│") for cell in line.split("│")]
    for number in ("41.97", "1,234,567", "42.69", "89"):
        assert cells.count(number) == 1
    assert "".join(cells).count("spaces.txt") == 1 or width < 80  # a path is folded where it must be
    assert ("nothing" in "".join(lines)) == (width == 200)  # an empty column is the first to go


def test_a_pipe_has_80_columns(capsys, monkeypatch):
    monkeypatch.delenv("COLUMNS")
    show(table("a title", HEADS, ROWS))
    assert max(map(len, capsys.readouterr().out.splitlines())) == 80


def test_a_table_without_rows_shows_its_headings(capsys):
    show(table("a title", HEADS, []))
    assert "metric with a long name" in capsys.readouterr().out
