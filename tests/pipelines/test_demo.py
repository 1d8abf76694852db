"""The demonstration, in small: all steps run, and what it names is there."""

from luthier.invented.lists.synthetic import SyntheticLists
from luthier.pipelines import demo
from luthier.report.console import show
from luthier.report.tables.demo import demo_tables


def test_the_demonstration_ends_with_the_surface(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(demo, "SyntheticLists", lambda: SyntheticLists(sentences=10, k=10, vocabulary=150))
    monkeypatch.setattr(demo, "TUNERS", {"random": {"rounds": 2}})
    monkeypatch.setattr(demo, "CHECKED_CELLS", 20)
    result = demo.run_demo(tmp_path, seed=0, threads=2)
    for name in ("weights.png", "surface.png"):
        assert str(tmp_path / name) in result.files
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")
    surface = result.as_dict()["surface"]
    assert surface["axes"] == ["lm", "length"]
    assert surface["optimum"]["score"] >= surface["start"]
    assert surface["check"]["wrong"] == 0
    show(demo_tables(result))
    out = capsys.readouterr().out
    assert "every cell of the plane of lm × length" in out
    assert "surface.png" in out
