"""The picture of a study: drawn from lines alone, in the order that is said."""

import pytest
from matplotlib.figure import Figure

from luthier.jobs.lab import start_tables as study_figure
from luthier.jobs.lab.start_tables import Reached


def unit(tuner, start, gain, metric, *, higher):
    return Reached(tuner=tuner, start=start, gain=gain, start_gain=gain - 2, metric=metric, higher_is_better=higher)


UNITS = [
    unit("no tuning", -1, 1.0, "BLEU", higher=True),
    *(unit("a", start, gain, "BLEU", higher=True) for start, gain in enumerate([5.0, 3.0, 4.0])),
    *(unit("a", start, gain, "TER", higher=False) for start, gain in enumerate([-5.0, -3.0, -4.0])),
    *(unit("b", start, gain, "TER", higher=False) for start, gain in enumerate([-6.0, -2.0])),
]


@pytest.mark.slow
def test_curves_ascend_to_the_better_and_panels_say_where_it_began(tmp_path, monkeypatch):
    figures = []
    save = Figure.savefig
    monkeypatch.setattr(Figure, "savefig", lambda self, *a, **k: (figures.append(self), save(self, *a, **k)))
    study_figure.draw_starts(UNITS, "title", tmp_path / "x.png")
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")
    bleu, ter = figures[0].axes[:2]
    assert [line.get_ydata().tolist() for line in bleu.lines] == [[3.0, 4.0, 5.0]]
    assert [line.get_ydata().tolist() for line in ter.lines] == [[5.0, 4.0, 3.0], [6.0, 2.0]]
    assert bleu.get_title() == "BLEU\nbefore tuning 1.00, mean of the starts 2.00"
    assert ter.get_title() == "TER\nmean of the starts 6.00"
    assert ter.yaxis_inverted()
    assert not bleu.yaxis_inverted()


@pytest.mark.slow
def test_a_tuner_looks_the_same_in_every_panel_and_stands_in_the_legend(tmp_path, monkeypatch):
    figures = []
    monkeypatch.setattr(Figure, "savefig", lambda self, *a, **k: figures.append(self))
    later = [unit("c", start, start + 1.0, "chrF", higher=True) for start in range(3)]
    study_figure.draw_starts([*UNITS, *(unit("b", 0, 2.0, "chrF", higher=True), *later)], "title", tmp_path / "x.png")
    panels = figures[0].axes[:3]
    colors = {(line.get_label(), line.get_color()) for panel in panels for line in panel.lines}
    assert len(colors) == 3  # of a, b and c, each with one colour, though b is first in no panel but the last
    assert [text.get_text() for text in figures[0].legends[0].get_texts()] == ["a", "b", "c"]
