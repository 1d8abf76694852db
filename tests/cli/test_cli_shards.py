"""Commands on a sharded pool write the bytes they write of the pool in one piece."""

import json

import pytest

from luthier.kbest.storage.pool_file import save_pool
from luthier.synthetic.lists.noisy_channel import SyntheticLists

pytestmark = pytest.mark.compiled
AXES = ("--axis", "lm", "--axis", "length", "--window", "lm=-1:1", "--window", "length=-0.5:1")


@pytest.fixture(scope="module")
def pool(tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "pool.arrow"
    save_pool(SyntheticLists(sentences=12, k=8, vocabulary=100).generate(3), path)
    return path


@pytest.fixture
def parts(pool, tmp_path, run_cli):
    code, out, err = run_cli(
        "data", "shard", pool, "--shards", 5, "--metric", "bleu,column:score", "-o", tmp_path / "d"
    )
    assert code == 0, err
    assert "part-5.arrow" in out
    return tmp_path / "d"


def test_rerank_oracle_tune_and_raster_are_the_same(pool, parts, tmp_path, run_cli):
    weights = tmp_path / "w.txt"
    for at in (pool, parts, parts / "manifest.json"):
        name = at.name
        place = tmp_path / f"out-{name}"
        place.mkdir()
        tuned = ("tune", at, "--method", "mert", "--sweeps", 1, "--trace", place / "trace", "-o", place / "w.txt")
        code, out, err = run_cli(*tuned, "--json")
        assert code == 0, err
        told = json.loads(out)
        assert ("parts_sent" in told, "5 parts sent " in err) == (at != pool, at != pool)
        told["replicas"][0].pop("cpu_seconds")
        kept = {key: told[key] for key in ("start", "oracle", "replicas", "metric")}
        (place / "told").write_text(json.dumps(kept))
        weights = place / "w.txt"
        for n in (1, 3):
            output = place / f"{n}.jsonl"
            code, out, err = run_cli("rerank", at, "--weights", weights, "-n", n, "-o", output, "--json")
            assert code == 0, err
            (place / f"said-{n}").write_text(out.replace(str(place), "").replace(str(output), ""))
        for metric in ("bleu", "column:score"):
            code, out, _ = run_cli("oracle", at, "--metric", metric, "--json")
            (place / f"oracle-{metric}").write_text(out)
            raster = ("surface", at, "--metric", metric, *AXES, "--raster", 9, "-w", place / f"best-{metric}")
            code, _, err = run_cli(*raster, "-o", place / f"pixels-{metric}.tsv")
            assert code == 0, err
    expected = written(tmp_path / f"out-{pool.name}")
    assert len(expected) == 14
    for name in (parts.name, "manifest.json"):
        assert written(tmp_path / f"out-{name}") == expected


def written(folder):
    """Return what is in a folder; of the record of a run, which has its time and its pool, what it came to."""
    found = {path.name: path.read_bytes() for path in folder.iterdir()}
    record = json.loads(found["w.run.json"])
    return found | {"w.run.json": {key: record[key] for key in ("tuner", "metric", "scores", "seed")}}


def test_a_raster_is_what_re_ranking_gives(pool, tmp_path, run_cli):
    raster = ("surface", pool, *AXES, "--raster", 2, "-o", tmp_path / "s.json", "--png", tmp_path / "s.png")
    code, out, err = run_cli(*raster, "-w", tmp_path / "w.txt", "--json")
    assert code == 0, err
    found = json.loads((tmp_path / "s.json").read_text())["columns"]
    assert (found["lm"], found["length"]) == ([-0.5, 0.5] * 2, [-0.125, -0.125, 0.625, 0.625])  # weights
    assert max(found["score"]) == json.loads(out)["best_score"]
    code, out, _ = run_cli("rerank", pool, "--weights", tmp_path / "w.txt", "-o", tmp_path / "best.txt")
    from luthier.kbest.rerank import rerank
    from luthier.kbest.storage.pool_file import open_pool
    from luthier.metrics.loading import load_metric
    from luthier.metrics.pools import pool_statistics, score_selections

    lists, metric = open_pool(pool), load_metric("bleu")
    stats = pool_statistics(lists, metric)
    for x, y, score in zip(found["lm"], found["length"], found["score"], strict=True):
        weights = dict.fromkeys(lists.features.names, 1.0) | {"lm": x, "length": y}
        assert score_selections(stats, rerank(lists, weights), metric) == score


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("inspect", "D"), "expected a pool, found a sharded one"),
        (("tune", "D", "--add", "x=lm*2", "-o", "w"), "--add is for whole pools and lists"),
        (("tune", "D", "--bins", "b", "-o", "w"), "make features of whole lists, found shards"),
        (("tune", "D", "--method", "pro", "-o", "w"), "pro cannot be used here"),
        (("tune", "D", "--metric", "ter", "-o", "w"), "expected parts with the statistics of ter"),
        (("oracle", "D", "--refs", "r"), "--refs is for whole pools and lists"),
        (("surface", "D", "--axis", "lm", "--axis", "length", "--raster", "4"), "needs a window with two ends"),
        (("surface", "D", *AXES, "--raster", "0"), "from 1 to 4096 pixels"),
        (("surface", "D", *AXES, "--raster", "4", "--stream"), "cannot go with --stream"),
        (("data", "shard", "D", "--shards", "2", "-o", "e"), "expected a pool, found a sharded one"),
    ],
)
def test_what_does_not_go_with_parts_is_said(parts, tmp_path, run_cli, monkeypatch, arguments, told):
    monkeypatch.chdir(tmp_path)
    code, _, err = run_cli(*(str(parts) if argument == "D" else argument for argument in arguments))
    assert (code, told in err) == (2, True), err


def test_a_damaged_part_ends_a_command_with_its_name(parts, tmp_path, run_cli):
    path = parts / "part-4.arrow"
    path.write_bytes(path.read_bytes()[:-100])
    (tmp_path / "w.txt").write_text("lm 1\n")
    code, _, err = run_cli("rerank", parts, "--weights", tmp_path / "w.txt", "-o", tmp_path / "out")
    assert code == 2
    assert "part-4.arrow: expected part 4 of 5, " in err
    assert not (tmp_path / "out").exists()
