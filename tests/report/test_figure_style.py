"""Pictures fit for print: widths, letters, looks of lines, and names that keep out of each other's way."""

import itertools
import re

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from matplotlib.text import Text
from PIL import Image

from luthier.core.errors import LuthierError, LuthierWarning
from luthier.landscape.cones.fan_scenes import example_scene, regularize
from luthier.report.figure_style import fit_for_print, line_looks, read_width, write_figure
from luthier.report.figures.fan import draw_scene
from luthier.report.figures.label_placement import Name, _lines_within, add_name, settle_names


@pytest.mark.parametrize("text", ["colum", "0", "-3", "nan", "1e9", "", "4.9"])
def test_a_width_that_is_none_is_refused(text):
    with pytest.raises(LuthierError, match=re.escape("column, page or centimetres from 5 to 100")):
        read_width(text)


def panel(size=(6.0, 4.0)):
    figure, axis = plt.subplots(figsize=size, layout="constrained")
    axis.plot([0, 1], [0, 1], "o-", label="a line")
    axis.set_title("a title", fontsize=16)
    axis.set_xlabel("small", fontsize=5)
    axis.legend()
    return figure


@pytest.mark.parametrize(("drawn", "asked", "inches"), [(6.0, None, 3.4), (11.0, None, 7.0), (6.0, 5.0, 5.0)])
def test_a_picture_for_print_has_its_width_and_letters_of_7_to_9_points(drawn, asked, inches):
    figure = panel((drawn, 4.0))
    fit_for_print(figure, asked)
    assert figure.get_size_inches()[0] == pytest.approx(inches)
    figure.draw_without_rendering()
    sizes = [text.get_fontsize() for text in figure.findobj(Text) if text.get_text()]
    assert len(sizes) > 4
    assert all(7.0 <= size <= 9.0 for size in sizes)
    plt.close(figure)


def test_a_png_with_a_width_has_300_dots_an_inch_and_others_their_size_on_the_screen(tmp_path):
    write_figure(panel(), tmp_path / "a.png", dpi=100)
    write_figure(panel(), tmp_path / "b.png", dpi=100, width=3.4)
    with Image.open(tmp_path / "a.png") as first, Image.open(tmp_path / "b.png") as second:
        assert first.size == (600, 400)
        assert second.size[0] == 1020


def test_too_little_width_is_told(tmp_path):
    told = "a picture 8.6 cm wide has letters of 4.1 points. hint: this one needs 14.6 cm for letters of 7"
    with pytest.warns(LuthierWarning, match=told):
        write_figure(panel((12.0, 4.0)), tmp_path / "a.pdf", dpi=100, width=3.4)


def test_in_too_little_width_nothing_is_cut_off_or_on_another():
    figure, axes = plt.subplots(2, 4, figsize=(16.0, 8.0), layout="constrained")
    for axis in axes.flat:
        axis.plot([0.0, 100.0], [0.0, 100.0], label="a curve with a name")
        axis.errorbar([0.0, 50.0], [0.0, 10.0], yerr=5.0, label="another")
        axis.bar([20.0], [30.0], label="and a bar")
        axis.set(title="a title of a few words", xlabel="what runs along x", ylabel="what runs along y")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    legend = figure.legend(handles, labels, loc="outside lower center", ncols=3)
    with pytest.warns(LuthierWarning, match="has letters of 3.1 points"):
        fit_for_print(figure, 3.4)
    figure.draw_without_rendering()
    around = figure.bbox
    tight = [axis.get_tightbbox() for axis in axes.flat]
    for box in [*tight, legend.get_window_extent()]:
        assert around.x0 - 1 <= box.x0 < box.x1 <= around.x1 + 1
        assert around.y0 - 1 <= box.y0 < box.y1 <= around.y1 + 1
    for i, one in enumerate(tight):
        for other in [*tight[:i], legend.get_window_extent()]:
            assert not one.padded(-2).overlaps(other)
    plt.close(figure)


@pytest.mark.parametrize("ending", ["pdf", "svg"])
def test_the_same_picture_is_the_same_bytes(tmp_path, ending):
    for name in "ab":
        write_figure(panel(), tmp_path / f"{name}.{ending}", dpi=100)
    first, second = ((tmp_path / f"{name}.{ending}").read_bytes() for name in "ab")
    assert first == second
    assert first.startswith(b"%PDF" if ending == "pdf" else b"<?xml")


def test_looks_of_lines_differ_in_more_than_colour():
    looks = [tuple(map(str, look.values())) for look in itertools.islice(line_looks(), 21)]
    assert len(set(looks)) == 21
    assert len({look[1:] for look in looks}) == 21  # mark and dashes


def boxes(figure):
    """Return the boxes of all names that are shown, by their axes, as plain numbers."""
    renderer = figure.canvas.get_renderer()
    for axis in figure.axes:
        shown = [text for text in axis.texts if text.get_text() and text.get_visible()]
        for name in (text for text in shown if isinstance(text, Name)):
            name.update_positions(renderer)  # those of a PDF are of other dots
        yield axis, [(text, Text.get_window_extent(text, renderer).extents) for text in shown]


def overlapping(figure):
    return [
        (first.get_text(), second.get_text())
        for _, found in boxes(figure)
        for (first, (a, b, c, d)), (second, (e, f, g, h)) in itertools.combinations(found, 2)
        if isinstance(first, Name) | isinstance(second, Name) and a < g and e < c and b < h and f < d
    ]


@pytest.mark.parametrize("seed", range(3))
def test_names_of_crowded_places_do_not_lie_on_each_other_nor_leave_the_panel(seed):
    figure, axis = plt.subplots(figsize=(3, 3))
    places = np.random.default_rng(seed).normal(size=(25, 2)) * 0.2
    places[0] = places[1]  # two at one place
    axis.scatter(*places.T, s=9)
    axis.set(xlim=(-1, 1), ylim=(-1, 1))
    for k, place in enumerate(places):
        add_name(axis, f"name {k}", place, place / np.hypot(*place), fontsize=8)
    figure.draw_without_rendering()
    settle_names(figure)
    assert overlapping(figure) == []
    ((_, found),) = boxes(figure)
    assert 10 <= len(found) <= 25  # where there is room they are shown
    x0, y0, x1, y1 = axis.bbox.extents
    assert all(x0 <= a and y0 <= b and c <= x1 and d <= y1 for _, (a, b, c, d) in found)
    for name, _ in found:  # a line leads to what is far from its place, and to nothing near it
        assert name.arrow_patch.get_visible() or points_apart(name, axis) < 10
        assert not name.arrow_patch.get_visible() or points_apart(name, axis) > 7
    plt.close(figure)


def points_apart(name, axis):
    place = axis.transData.transform(name.xy)
    a, b, c, d = Text.get_window_extent(name, axis.figure.canvas.get_renderer()).extents
    nearest = np.clip(place, (a, b), (c, d))
    return np.hypot(*(place - nearest)) * 72 / axis.figure.dpi


def test_lines_within_a_box_as_small_steps_find_them():
    rng = np.random.default_rng(5)
    box = np.array([-0.5, -0.3, 0.4, 0.6])
    lines = rng.uniform(-1.5, 1.5, size=(200, 4))
    lines[:20, 2] = lines[:20, 0]  # upright ones
    lines[20:40, 3] = lines[20:40, 1]
    shares = np.linspace(0, 1, 20_001)[:, None]
    for line in lines:
        points = line[:2] + shares * (line[2:] - line[:2])
        slow = np.any(np.all((points > box[:2]) & (points < box[2:]), axis=1))
        assert _lines_within(box, line[None]) == slow


@pytest.mark.slow
@pytest.mark.parametrize(
    ("example", "ending", "width"), [("table1", "png", None), ("figure3", "pdf", None), ("figure5", "png", 6.6)]
)
def test_no_name_of_a_fan_lies_on_another(tmp_path, monkeypatch, example, ending, width):
    figures = []
    save = Figure.savefig
    monkeypatch.setattr(Figure, "savefig", lambda self, *a, **k: (figures.append(self), save(self, *a, **k)))
    scene = example_scene(example)
    near = regularize(scene, None, 0.0) if example == "figure5" else None
    draw_scene(scene, near, tmp_path / f"x.{ending}", width)
    assert overlapping(figures[0]) == []
    assert sum(isinstance(text, Name) for _, found in boxes(figures[0]) for text, _ in found) > 5
