"""Results in a notebook: tables whose text is escaped, in no colours of their own but those of bars."""

import html.parser
import inspect
import re
import sys

import pytest

import luthier
from luthier.core.html import Shown, as_table, bar, of_mapping

FRAME = {
    "id": [0, 0, 1, 1, 2, 2], "hyp": ["<b>a</b>", "b & c", "c", "d", "e", "f"],
    "lm": [1.0, 2.0, 1.0, 2.0, 1.0, 3.0], "q": [0.9, 0.1, 0.8, 0.2, 0.1, 0.3],
}  # fmt: skip


class Tags(html.parser.HTMLParser):
    """Collects text and sees to it that every tag is closed in order."""

    def __init__(self):
        super().__init__()
        self.stack, self.text = [], []

    def handle_starttag(self, tag, attrs):
        self.stack.append(tag)

    def handle_endtag(self, tag):
        assert self.stack.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def read(markup):
    tags = Tags()
    tags.feed(markup)
    assert tags.stack == []
    assert not re.search(r"background:(white|black|#fff|#000)|[^-]color:(?!#|rgba|inherit|currentColor)", markup)
    return " ".join(tags.text)


def test_text_is_escaped_and_long_tables_are_cut():
    text = read(as_table("<t>", ("a", "b"), [("<script>", k) for k in range(50)], note="n & m"))
    assert "<t>" in text
    assert text.count("<script>") == 20
    assert "30 more rows" in text
    assert "n & m" in text


def test_a_bar_is_as_long_as_its_number():
    widths = [float(re.search(r"width:([\d.]+)em", bar(x, 4.0))[1]) for x in (4.0, -2.0, 0.0)]
    assert widths == [8.0, 4.0, 0.0]
    assert "#D55E00" in bar(-2.0, 4.0)
    assert "width:0.00em" in bar(0.0, 0.0)


def test_mappings_unfold():
    text = read(of_mapping("R", {"score": 1.5, "none": None, "best": [{"a": 1, "b": [1]}], "inside": {"c": "<d>"}}))
    for words in ("score", "1.5", "best (1)", "inside (1)", "<d>"):
        assert words in text
    assert "none" not in text


@pytest.mark.filterwarnings("ignore::luthier.core.errors.LuthierWarning")
def test_pools_weights_and_results_show_themselves():
    pool = luthier.pool_from_frame(FRAME, columns=["q"])
    assert "<b>a</b>" in read(pool._repr_html_())
    tuned = luthier.tune(pool, "column:q", "mert")
    assert "tuned adds" in read(tuned._repr_html_())
    assert "lm" in read(tuned.weights._repr_html_())
    assert "cannot be told" in read(luthier.ablate(pool, "column:q", "mert", folds=2)._repr_html_())
    assert "hypotheses (2)" in read(luthier.explain(pool, 0, {"lm": 1.0}, metric="column:q")._repr_html_())
    folds = luthier.tune(pool, "column:q", "mert", folds=2)
    assert "first of each list" in read(folds._repr_html_())
    held = luthier.tune(pool, "column:q", "mert", heldout=pool)
    assert "held-out" in read(held._repr_html_())


PUBLIC = [getattr(luthier, name) for name in luthier.__all__]
JOBS = [one for one in PUBLIC if inspect.isfunction(one) and one.__module__.startswith("luthier.jobs.")]


@pytest.mark.parametrize("function", JOBS, ids=lambda function: function.__name__)
def test_the_result_of_every_job_shows_itself(function):
    found = inspect.signature(function).return_annotation
    kinds = [getattr(sys.modules[function.__module__], part.strip(), None) for part in found.split("|")]
    assert [kind for kind in kinds if hasattr(kind, "as_dict") and not hasattr(kind, "_repr_html_")] == []


def test_a_plot_is_a_figure_that_shows_itself():
    frame = {**FRAME, "tm": [2.0, 1.0, 1.0, 3.0, 1.0, 0.0]}
    pool = luthier.pool_from_frame(frame, columns=["q"])
    pictures = [
        luthier.line(pool, "column:q", axis="lm").plot(),
        luthier.surface(pool, "column:q", axis=["lm", "tm"], window=["lm=-1:2", "tm=-1:2"]).plot(),
    ]
    for picture in pictures:
        assert picture._repr_png_().startswith(b"\x89PNG")


def test_a_result_without_numbers_says_so():
    with pytest.raises(NotImplementedError):
        Shown()._repr_html_()
