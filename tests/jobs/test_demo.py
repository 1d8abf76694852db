"""The demonstration, in small: a language pair becomes a tuned system, and what it names is there."""

import pytest

from luthier.jobs import demo
from luthier.report.console import show
from luthier.report.tables.training import demo_tables


@pytest.mark.slow
@pytest.mark.compiled
def test_the_demonstration_ends_with_the_surface(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(demo, "SIZES", {"train": 200, "tune": 8, "heldout": 0, "test": 8})
    monkeypatch.setattr(
        demo,
        "SETTINGS",
        demo.SETTINGS.replace("k = 100", "k = 8").replace("iterations = 5", 'iterations = 2\nchoose = "last"'),
    )
    monkeypatch.setattr(demo, "CHECKED_CELLS", 20)
    result = demo.run_demo(tmp_path, seed=0, threads=2)
    for name in ("model/loop/loop.png", "surface.png"):
        assert str(tmp_path / name) in result.files
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")
    found = result.as_dict()
    assert found["surface"]["axes"] == ["LanguageModel", "WordPenalty"]
    assert found["surface"]["optimum"]["score"] >= found["surface"]["start"]
    assert found["surface"]["check"]["wrong"] == 0
    assert found["certified"]["axes"] == ["LanguageModel", "WordPenalty", "EgivenFCoherent"]
    assert found["certified"]["tuned"] <= found["certified"]["score"] <= found["certified"]["bound"]
    assert set(found["comparisons"]) == {"tune", "test"}
    show(demo_tables(result))
    out = capsys.readouterr().out
    for words in (
        "every cell of the plane of LanguageModel × WordPenalty",
        "tuning loop: mert",
        "reference  ",
        "surface.png",
        "how far the tuned weights are from the best there are",
    ):
        assert words in out
