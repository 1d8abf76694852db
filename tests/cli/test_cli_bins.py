"""`luthier engine bins`, `discretize` and `induce`: files in every form, and what is refused."""

import gzip
import io
import json
import sys

import pytest

from luthier.core.segments import offsets_from_counts
from luthier.features.bins_file import read_bins
from luthier.grammar.reading import read_grammar
from luthier.grammar.storage import open_grammar, save_grammar
from luthier.kbest.storage.pool_file import open_pool

RULES = "".join(
    f"[X] ||| {source} ||| {target} ||| P={p} C={c} ||| 0-0\n"
    for source, target, p, c in [
        ("a", "b", 0.5, 4), ("a", "c c", 0.25, 4), ("b", "d", 0.333333333333, 3), ("b [X,1]", "[X,1] d", 1, 1),
    ]
)  # fmt: skip
LISTS = [
    '{"id": 0, "hyp": "b d", "features": {"LM": -1}, "derivation": ['
    '{"rule": "[X] ||| a ||| b", "features": {"P": 0.5, "C": 4}}, {"rule": "[S] ||| x", "features": {"Glue": 1}}]}',
    '{"id": 0, "hyp": "c c", "features": {"LM": -2}, "derivation": ['
    '{"rule": "[X] ||| a ||| c c", "features": {"P": 0, "C": 4}}, '
    '{"rule": "[X] ||| a ||| b", "features": {"P": 0.5, "C": 4}}]}',
]


@pytest.fixture
def home(tmp_path):
    (tmp_path / "g.txt").write_text(RULES)
    (tmp_path / "list.jsonl").write_text("\n".join(LISTS) + "\n")
    return tmp_path


def cut(run_cli, home, *options, source="g.txt"):
    return run_cli("engine", "bins", home / source, *options, "-o", home / "bins.json", "--json")


def test_a_text_is_cut_and_rewritten(run_cli, home, monkeypatch):
    code, out, err = cut(run_cli, home, "--features", "P=2,C", "--keep", "C", "--plot", home / "bins.png")
    assert code == 0
    assert "warning: 'C' has 3 values: as many bins, not 16" in err
    assert [f["bins"] for f in json.loads(out)["features"]] == [2, 3]
    assert (home / "bins.png").stat().st_size > 5000
    bins = read_bins(home / "bins.json")
    assert bins.names == ("P_0.25_0.333333", "P_0.5_1", "C_1", "C_3", "C_4")
    assert bins.origin["counted"] == "once for each line"
    assert bins.origin["path"] == str(home / "g.txt")
    for name in ("o.txt", "o.gz"):
        code, out, _ = run_cli("engine", "discretize", home / "g.txt", "--bins", home / "bins.json", "-o", home / name)
        assert code == 0
        assert "rules" in out
    text = (home / "o.txt").read_text()
    assert text == gzip.decompress((home / "o.gz").read_bytes()).decode()
    assert text.splitlines()[2] == "[X] ||| b ||| d ||| P_0.25_0.333333=1 C=3 C_3=1 ||| 0-0"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(RULES.encode())))
    assert run_cli("engine", "discretize", "-", "--bins", home / "bins.json", "-o", "-")[1] == text
    code, out, _ = run_cli("engine", "bins", home / "g.txt", "--features", "P", "-o", "-", "--quiet")
    assert (code, json.loads(out)["features"][0]["values"]) == (0, 4)


def test_our_own_file_and_a_folder(run_cli, home):
    import dataclasses

    import numpy as np

    grammar = read_grammar(home / "g.txt")
    grammar = dataclasses.replace(
        grammar, sentence_offsets=offsets_from_counts([1, 2, 0]), sentence_sides=np.array([0, 0, 1], np.int32)
    )
    save_grammar(grammar, home / "own")
    (home / "folder").mkdir()
    sides = ["a", "a b", ""]
    for k, wanted in enumerate(sides):
        lines = [line for line in RULES.splitlines(keepends=True) if line.split(" ||| ")[1] in wanted.split()]
        (home / "folder" / f"grammar.{k}.gz").write_bytes(gzip.compress("".join(lines).encode()))
    found = []
    for source in ("own", "folder"):
        assert cut(run_cli, home, "--features", "P,TargetWords", source=source)[0] == 0
        bins = read_bins(home / "bins.json")
        found.append([feature.populations.tolist() for feature in bins.features])
    assert found[0] == found[1] == [[2, 1, 2], [3, 2]]
    assert run_cli("engine", "discretize", home / "own", "--bins", home / "bins.json", "-o", home / "own2")[0] == 0
    binned = open_grammar(home / "own2")
    assert binned.n_sentences == 3
    assert binned.rule(0).features == {"C": 4, "P_0.5": 1, "TargetWords_1": 1}
    command = ("engine", "discretize", home / "folder", "--bins", home / "bins.json", "-o", home / "folder2")
    assert run_cli(*command)[0] == 0
    assert sorted(path.name for path in (home / "folder2").iterdir()) == [f"grammar.{k}.gz" for k in range(3)]
    assert b"P_0.333333=1 C=3 TargetWords_1=1" in gzip.decompress((home / "folder2" / "grammar.1.gz").read_bytes())
    assert gzip.decompress((home / "folder2" / "grammar.2.gz").read_bytes()) == b""
    code, _, err = run_cli(*command)
    assert code == 2
    assert "it is there already" in err


def test_a_pool_is_cut_and_induced(run_cli, home):
    run_cli("pool", home / "list.jsonl", "-o", home / "pool.arrow")
    code, out, _ = cut(run_cli, home, "--features", "P,C", source="pool.arrow")
    assert code == 0
    assert json.loads(out)["origin"]["counted"] == "once for each sentence"
    assert [f.populations.tolist() for f in read_bins(home / "bins.json").features] == [[1, 1], [2]]
    assert cut(run_cli, home, "--features", "P,C", "--by-use", source="pool.arrow")[0] == 0
    assert [f.populations.tolist() for f in read_bins(home / "bins.json").features] == [[1, 2], [3]]
    code, out, _ = run_cli(
        "engine", "induce", home / "pool.arrow", "--bins", home / "bins.json", "-o", home / "pool2.arrow", "--json"
    )
    assert (code, json.loads(out)["bins"]) == (0, {"P": 2, "C": 1})
    pool = open_pool(home / "pool2.arrow")
    assert pool.features.names == ("LM", "P_0", "P_0.5", "C_4")
    assert pool.features.column("P_0").tolist() == [0, 1]  # a written 0 is a value, the glue rule has none
    assert pool.features.column("P_0.5").tolist() == [1, 1]
    assert [group.name for group in pool.features.groups] == ["P", "C"]
    assert cut(run_cli, home, "--features", "LM", "--global", source="pool.arrow")[0] == 0
    assert (
        run_cli("engine", "induce", home / "pool.arrow", "--bins", home / "bins.json", "-o", home / "pool2.arrow")[0]
        == 0
    )
    assert open_pool(home / "pool2.arrow").features.column("LM_-2").tolist() == [0, 1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--features", "Q"), "no feature is called 'Q'. known: P, C"),
        (("--features", "p"), "no feature is called 'p'."),
        (("--features", "P", "--by-use"), "g.txt: expected a pool, found no pool. hint: --by-use is for pools only"),
        (("--features", "P", "--global"), "g.txt: expected a pool, found no pool. hint: --global is for pools only"),
        (("--features", "P,P"), "expected --features of names that differ, found 'P,P'"),
        (("--features", ","), "expected --features of names that differ, found ','"),
        (("--features", "P=0"), "expected from 1 to 65536 bins for a feature, found 0"),
        (("--features", "P", "--bits", "17"), "expected a whole number from 0 to 16, found '17'"),
        (("--features", "P", "--keep", "C"), "among those to keep or to count, found 'C'"),
        (("--features", "P", "--induction", "x"), "there is no 'x' among the methods. known: hat, indicator"),
        (("--features", "P", "--plot", "x.gif"), "expected a picture's name that ends in .png"),
    ],
)
def test_what_is_refused(run_cli, home, options, message):
    code, _, err = cut(run_cli, home, *options)
    assert code == 2
    assert message in err
    assert not (home / "bins.json").exists()


def test_bins_of_another_grammar_and_a_pool_without_derivations(run_cli, home):
    cut(run_cli, home, "--features", "P")
    (home / "other.txt").write_text("[X] ||| a ||| b ||| Q=1\n")
    code, _, err = run_cli(
        "engine", "discretize", home / "other.txt", "--bins", home / "bins.json", "-o", home / "o.txt"
    )
    assert code == 2
    assert f"{home / 'other.txt'}: expected rules with 'P', which the bins are of, found none." in err
    assert not (home / "o.txt").exists()
    code, _, err = run_cli("engine", "discretize", home / "other.txt", "--bins", home / "bins.json", "-o", home / "own")
    assert code == 2
    assert f"{home / 'other.txt'}: the bins are of another table: no feature is called 'P'." in err
    (home / "list.jsonl").write_text('{"id": 0, "hyp": "b d", "features": {"LM": -1}}\n')
    run_cli("pool", home / "list.jsonl", "-o", home / "pool.arrow")
    code, _, err = run_cli(
        "engine", "induce", home / "pool.arrow", "--bins", home / "bins.json", "-o", home / "o.arrow"
    )
    assert code == 2
    assert "pool.arrow: expected a pool that carries derivations, for bins of rules, found one without. hint:" in err
    code, _, err = run_cli("engine", "discretize", home / "g.txt", "--bins", home / "g.txt", "-o", home / "o.txt")
    assert code == 2
    assert "g.txt: expected a file of bins ('luthier bins 1'), found" in err
    code, _, err = run_cli("engine", "discretize", home / "g.txt", "--bins", home / "bins.json", "-o", home / "g.txt")
    assert code == 2
    assert "it is read, and would be lost" in err


def test_zeros_survive_files(run_cli, home):
    run_cli("pool", home / "list.jsonl", "-o", home / "pool.arrow")
    pool = open_pool(home / "pool.arrow")
    for name in ("again.jsonl", "again.parquet"):
        assert run_cli("data", "convert", home / "pool.arrow", home / name)[0] == 0
        run_cli("pool", home / name, "-o", home / "again.arrow")
        again = open_pool(home / "again.arrow").derivations.features
        assert again.names == pool.derivations.features.names
        assert again.values.tolist() == pool.derivations.features.values.tolist()


@pytest.mark.compiled
def test_decoding_with_bins_is_decoding_the_rewritten_grammar(run_cli, home):
    cut(run_cli, home, "--features", "P=3,C", "--keep", "C")
    (home / "src").write_text("a b\nb a b\n")
    bins = read_bins(home / "bins.json")
    weights = {name: 0.25 * k - 0.5 for k, name in enumerate(bins.names)} | {"C": 0.125, "Glue": -0.5}
    (home / "w").write_text("".join(f"{name} {weight}\n" for name, weight in weights.items()))
    run_cli("engine", "discretize", home / "g.txt", "--bins", home / "bins.json", "-o", home / "binned.txt")
    command = ("engine", "decode", home / "src", "--weights", home / "w", "-k", "20", "--threads", "1")
    for name, more in (("inside", (home / "g.txt", "--bins", home / "bins.json")), ("outside", (home / "binned.txt",))):
        assert run_cli(*command, "-o", home / f"{name}.arrow", "--grammar", *more)[0] == 0
    inside, outside = (open_pool(home / f"{name}.arrow") for name in ("inside", "outside"))
    assert list(inside.texts) == list(outside.texts)
    assert inside.columns["score"].tolist() == outside.columns["score"].tolist()
    for name in outside.features.names:
        assert inside.features.column(name).tolist() == outside.features.column(name).tolist()
    assert [group.name for group in inside.features.groups] == ["P", "C"]
    code, _, err = run_cli(*command, "-o", home / "x.arrow", "--grammar", home / "g.txt", "--bins", home / "g.txt")
    assert code == 2
    assert "g.txt: expected a file of bins" in err
