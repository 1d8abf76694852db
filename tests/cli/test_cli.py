"""The command line: each command run once, and what a shell sees of it."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys

import pytest

from luthier import __version__, open_pool
from luthier.cli.main import FIRST, GROUPS
from luthier.core.plugins import available
from luthier.synthetic.lists.noisy_channel import SyntheticLists, write

HELP = {
    f"{group} {name}".strip(): plugin.help
    for group in ("", *GROUPS)
    for name, plugin in available(f"luthier.cli.commands.{group}".rstrip(".")).items()
}
COMMANDS = list(HELP)
LIST = "0 ||| a b ||| lm=1 tm=2 ||| 3\n0 ||| a c ||| lm=2 ||| 2\n1 ||| d e ||| tm=0.5 ||| 1\n1 ||| d ||| tm=1 ||| 1\n"
LUTHIER = [sys.executable, "-m", "luthier.cli.main"]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A small pool with its list, references and weights."""
    from luthier.cli.main import main

    home = tmp_path_factory.mktemp("cli")
    (home / "list.txt").write_text(LIST)
    (home / "refs.txt").write_text("a b\nd e\n")
    (home / "w.txt").write_text("lm 1\ntm -1\n")
    (home / "v.json").write_text('{"lm": 0, "tm": 0}')
    files = [str(home / name) for name in ("list.txt", "refs.txt", "pool.arrow")]
    assert main(["pool", files[0], "--refs", files[1], "-o", files[2], "--quiet", "--json"]) == 0
    return home


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(run_cli, command):
    code, out, err = run_cli(*command.split(), "--help")
    assert (code, err) == (0, "")
    assert out.startswith(f"usage: luthier {command}")
    for option in ("--threads", "--seed", "--quiet", "--json"):
        assert option in out
    assert HELP[command][:30] in out


def test_help_lists_every_command_and_no_command_is_an_error(run_cli):
    code, out, _ = run_cli("--help")
    assert code == 0
    assert len(out.splitlines()) <= 40
    for command in COMMANDS:
        *group, name = command.split()
        listing = run_cli(*group, "--help")[1] if group else out
        assert "…" not in listing  # every line of help fits
        rare = not group and name not in FIRST  # these are named only
        assert (f" {name}" if rare else f"  {name:<12}{HELP[command][:20]}") in listing
    for group in GROUPS:
        assert f"  {group:<12}" in out
        assert run_cli(group)[0] == 2
    assert run_cli()[0] == 2


@pytest.mark.parametrize(
    ("old", "new"),
    [("fan", "geometry fan"), ("minkowski", "geometry cones"), ("choose", "engine sweep"), ("lm", "engine lm")],
)
def test_a_command_that_stands_in_a_group_is_named(run_cli, old, new):
    code, _, err = run_cli(old, "pool.arrow")
    assert (code, f"there is no command {old!r}; it is 'luthier {new}'" in err) == (2, True)


LIGHT = """
import sys
from luthier.cli.main import main
heavy, arguments = set(sys.argv[1].split(",")), sys.argv[2:]
code = main(arguments)
heavy &= set(sys.modules)
sys.exit(f"imported {heavy}" if heavy else code)
"""


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["--version"],
        [],
        *([*name.split(), "--help"] for name in ("geometry", "surface", "geometry cones", "tune")),
    ],
)
def test_help_and_version_import_nothing_heavy(arguments):
    heavy = "numpy,numba,scipy,pyarrow,rich,matplotlib"
    done = subprocess.run([sys.executable, "-c", LIGHT, heavy, *arguments], capture_output=True, text=True)
    assert done.returncode == (0 if arguments else 2), done.stderr
    assert done.stdout.startswith("usage: luthier" if arguments != ["--version"] else f"luthier {__version__}\n")


@pytest.mark.parametrize(
    "command",
    [
        ["rerank", "pool.arrow", "--weights", "w.txt", "-o", "light.out"],
        ["inspect", "pool.arrow"],
        ["tune", "pool.arrow", "--method", "mert", "-o", "light.txt"],
    ],
)
def test_everyday_commands_import_nothing_that_they_do_not_need(home, command):
    heavy = "pandas,matplotlib,scipy,pyarrow.compute,urllib.request"
    run = [sys.executable, "-c", LIGHT, heavy, *command]
    done = subprocess.run(run, capture_output=True, text=True, cwd=home)
    assert done.returncode == 0, done.stderr


def test_an_unknown_command_or_option_is_refused_with_a_suggestion(run_cli, home):
    code, out, err = run_cli("rernak", home / "pool.arrow")
    assert (code, out) == (2, "")
    assert "there is no command 'rernak'; did you mean 'rerank'?" in err
    code, out, err = run_cli("tune", home / "pool.arrow", "--metod=mert")
    assert (code, out) == (2, "")
    assert err.startswith("luthier tune: error: there is no option --metod; did you mean '--method'? hint: ")
    code, _, err = run_cli("tune", home / "pool.arrow", "--method", "mrt", "-o", "w")
    assert code == 2
    assert "did you mean 'mert'?" in err
    for bad in (["--threads", "0"], ["--seed", "-1"], ["--threads", "two"]):
        code, _, err = run_cli("list", "formats", *bad)
        assert code == 2
        assert "expected a whole number" in err


JOBS = {
    "pool": ["pool", "list.txt", "--refs", "refs.txt", "-o", "again.arrow"],
    "inspect": ["inspect", "pool.arrow"],
    "rerank": ["rerank", "pool.arrow", "--weights", "w.txt", "v.json", "-o", "w.out", "v.out"],
    "convert": ["data", "convert", "pool.arrow", "list.jsonl"],
    "split": ["data", "split", "pool.arrow", "--into", "one.arrow=1", "--into", "two.arrow=1"],
    "generate": ["synthetic", "lists", "generated", "--sentences", "3", "--k", "4"],
    "weights": ["data", "weights", "w.txt", "w.ini"],
    "formats": ["list", "formats"],
    "metrics": ["list", "metrics"],
    "tuners": ["list", "tuners"],
    "score": ["score", "refs.txt", "--refs", "refs.txt"],
    "oracle": ["oracle", "pool.arrow"],
    "stats": ["data", "stats", "pool.arrow", "--metric", "bleu,ter", "-o", "counted.arrow"],
}


@pytest.mark.parametrize("job", JOBS)
def test_results_are_json_on_demand_and_quiet_leaves_nothing_else(run_cli, home, monkeypatch, job):
    monkeypatch.chdir(home)
    code, out, err = run_cli(*JOBS[job], "--json", "--quiet")
    assert (code, err) == (0, "")
    assert isinstance(json.loads(out), dict)
    before = run_cli("--json", "--quiet", *JOBS[job])  # the same, before the command
    assert before == (0, out, "")
    code, table, _ = run_cli(*JOBS[job])
    assert code == 0
    assert table.strip()
    assert not table.startswith("{")


def test_pools(run_cli, home, tmp_path):
    code, out, _ = run_cli("pool", home / "list.txt", "--refs", home / "refs.txt", "-o", tmp_path / "p.arrow", "--json")
    report = json.loads(out)
    assert code == 0
    assert (report["sentences"], report["hypotheses"], report["features"], report["references"]) == (2, 4, 2, 2)
    assert report["lists"] == [{"path": str(home / "list.txt"), "format": "moses", "hypotheses": 4}]
    assert list(open_pool(tmp_path / "p.arrow").texts) == ["a b", "a c", "d e", "d"]


def test_pools_are_transformed_on_the_way(run_cli, home, tmp_path):
    options = ["--drop", "tm=x", "--rename", "lm=a b", "--scale", "a b=-2", "--cost", "a b", "--cap", "1"]
    (tmp_path / "list").write_text(LIST.replace("tm=", "tm=x="))
    assert run_cli("pool", tmp_path / "list", "-o", tmp_path / "p.arrow", *options)[0] == 0
    pool = open_pool(tmp_path / "p.arrow")
    assert pool.features.names == ("a b",)
    assert pool.features.costs == {"a b"}
    assert pool.features.dense.tolist() == [[-2], [0]]
    for bad in (["--rename", "lm"], ["--scale", "lm=x"], ["--scale", "lm=1", "--scale", "lm=2"], ["--cap", "0"]):
        code, _, err = run_cli("pool", home / "list.txt", "-o", tmp_path / "bad.arrow", *bad)
        assert code == 2
        assert "luthier: error: " in err
        assert not (tmp_path / "bad.arrow").exists()


def test_options_of_a_format(run_cli, tmp_path):
    (tmp_path / "list").write_text("utt -1 2 a b\nutt -2 3 a\n")
    pool = tmp_path / "p.arrow"
    code, _, err = run_cli("pool", tmp_path / "list", "-o", pool, "--format-option", "columns=am,lm")
    assert code == 2
    assert "--format-option needs --format" in err
    options = ["--format", "kaldi", "--format-option", "columns=am,lm"]
    assert run_cli("pool", tmp_path / "list", "-o", pool, *options)[0] == 0
    assert open_pool(pool).features.names == ("am", "lm")
    code, _, err = run_cli("pool", tmp_path / "list", "-o", pool, "--format", "kaldi", "--format-option", "rows=1")
    assert code == 2
    assert "'kaldi' has no option 'rows'" in err


def test_reranking_writes_the_selected_lines(run_cli, home, tmp_path):
    out = [tmp_path / "w.out", tmp_path / "v.out.gz"]
    code, text, _ = run_cli(
        "rerank", home / "pool.arrow", "--weights", home / "w.txt", home / "v.json", "-o", *out, "--json"
    )
    assert code == 0
    # lm − tm: (−1, 2), (−0.5, −1); all 0: the first of each list
    assert out[0].read_text() == "a c\nd e\n"
    assert gzip.decompress(out[1].read_bytes()).decode() == "a b\nd e\n"
    first, second = json.loads(text)["weights"]
    assert (first["not_first"], first["mean_score"], first["mean_words"]) == (1, 0.75, 2.0)
    assert (second["not_first"], second["sentences"]) == (0, 2)
    code, text, _ = run_cli("rerank", home / "pool.arrow", "--weights", home / "w.txt", "-o", "-")
    assert (code, text) == (0, "a c\nd e\n")


def test_reranking_complains_of_weights_and_writes_nothing(run_cli, home, tmp_path):
    (tmp_path / "bad.txt").write_text("lm 1\nmt 2\n")
    outputs = [tmp_path / "a.out", tmp_path / "b.out"]
    weights = [home / "w.txt", tmp_path / "bad.txt"]
    code, _, err = run_cli("rerank", home / "pool.arrow", "--weights", *weights, "-o", *outputs)
    assert code == 2
    assert f"{tmp_path / 'bad.txt'}: no feature is called 'mt'" in err
    assert not any(path.exists() for path in outputs)
    code, _, err = run_cli("rerank", home / "pool.arrow", "--weights", *weights, "-o", outputs[0])
    assert code == 2
    assert "expected 2 files after -o, found 1" in err
    (tmp_path / "half.txt").write_text("lm 1\n")
    code, _, err = run_cli("rerank", home / "pool.arrow", "--weights", tmp_path / "half.txt", "-o", outputs[0])
    assert code == 0
    assert "luthier: warning: " in err
    assert "1 of 2 features have no weight and count 0: 'tm'" in err


@pytest.mark.parametrize("ending", ["jsonl", "jsonl.gz", "parquet", "moses.zst", "arrow"])
def test_converting_there_and_back(run_cli, home, tmp_path, ending):
    there, back = tmp_path / f"list.{ending}", tmp_path / "back.arrow"
    assert run_cli("data", "convert", home / "pool.arrow", there)[0] == 0
    more = [] if ending != "moses.zst" else ["--refs", home / "refs.txt"]
    assert run_cli("data", "convert", there, back, *more)[0] == 0
    old, new = open_pool(home / "pool.arrow"), open_pool(back)
    assert list(new.texts) == list(old.texts)
    assert {n: new.features.column(n).tolist() for n in new.features.names} == {
        n: old.features.column(n).tolist() for n in old.features.names
    }
    assert new.references.of(1) == ["d e"]


def test_splitting(run_cli, tmp_path):
    pool = SyntheticLists(sentences=10, k=3).generate(1)
    write(pool, tmp_path)
    assert run_cli("pool", tmp_path / "list.moses.gz", "-o", tmp_path / "p.arrow")[0] == 0
    parts = [tmp_path / "a=b.arrow", tmp_path / "c.arrow"]
    arguments = ["data", "split", tmp_path / "p.arrow", "--into", f"{parts[0]}=0.7", "--into", f"{parts[1]}=0.3"]
    assert run_cli(*arguments, "--seed", "0")[0] == 0
    ids = [list(open_pool(path).sentence_ids) for path in parts]
    assert [len(some) for some in ids] == [7, 3]
    assert sorted(ids[0] + ids[1], key=int) == [str(i) for i in range(10)]
    assert run_cli(*arguments, "--seed", "0")[0] == 0
    assert [list(open_pool(path).sentence_ids) for path in parts] == ids
    assert run_cli(*arguments, "--seed", "1")[0] == 0
    assert [list(open_pool(path).sentence_ids) for path in parts] != ids


def test_generated_lists_are_the_same_bytes_for_the_same_seed(run_cli, tmp_path):
    contents = []
    for folder, seed in (("a", "7"), ("b", "7"), ("c", "8")):
        code, _, err = run_cli("synthetic", "lists", tmp_path / folder, "--sentences", "4", "--k", "5", "--seed", seed)
        assert code == 0
        assert f"seed {seed}: 4 sentences, 20 hypotheses" in err
        contents.append({path.name: path.read_bytes() for path in (tmp_path / folder).iterdir()})
    assert contents[0] == contents[1]
    assert contents[0] != contents[2]
    code, _, err = run_cli("synthetic", "lists", tmp_path / "d", "--sentences", "none")
    assert code == 2
    assert "must be an int in" in err
    assert not (tmp_path / "d").exists()


def test_inspection_shows_no_more_than_asked(run_cli, home):
    _, out, _ = run_cli("inspect", home / "pool.arrow", "--most", "1")
    assert "1 more features are not shown" in out
    assert " lm " in out
    assert " tm " not in out


@pytest.mark.slow
def test_an_odd_file_name_can_be_shown(tmp_path):
    path = os.fsencode(tmp_path) + b"/odd\xff.txt"
    with open(path, "w") as file:
        file.write(LIST)
    for more in ([], ["--json"]):
        done = subprocess.run([*LUTHIER, "pool", path, "-o", str(tmp_path / "p.arrow"), *more], capture_output=True)
        assert (done.returncode, done.stderr) == (0, b"")
        assert b"odd\\" in done.stdout
    assert open_pool(tmp_path / "p.arrow").provenance["lists"][0]["path"].endswith("odd\\xff.txt")


def test_a_pool_is_not_written_to_standard_output(run_cli, home, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = run_cli("pool", home / "list.txt", "-o", "-")
    assert (code, out) == (2, "")
    assert "cannot go to standard output" in err
    assert list(tmp_path.iterdir()) == []


def test_warnings_are_shown_once_each_run(run_cli, home, tmp_path):
    (tmp_path / "refs").write_text("r\ns\nt\n")
    for _ in range(2):
        code, _, err = run_cli("pool", home / "list.txt", "--refs", tmp_path / "refs", "-o", tmp_path / "p", "--quiet")
        assert code == 0
        assert err.count("luthier: warning: 1 of 3 sentences have no hypotheses") == 1


@pytest.mark.slow
@pytest.mark.compiled
def test_warming_compiles_everything(run_cli):
    code, out, _ = run_cli("warm", "--json")
    assert code == 0
    assert json.loads(out)["kernels"] > 20
    code, out, err = run_cli("warm", "lists", "--json")
    assert code == 0
    assert "compiling the kernels of: lists" in err
    assert any(name.startswith("kbest.") for name in json.loads(out)["files"])
    code, _, err = run_cli("warm", "list")
    assert (code, "there is no group 'list'" in err) == (2, True)


@pytest.mark.compiled
def test_processes_warm_side_by_side(run_cli):
    code, out, _ = run_cli("warm", "metrics", "--jobs", "2", "--json")
    assert code == 0
    assert any(name.startswith("metrics.") for name in json.loads(out)["files"])
    code, _, err = run_cli("warm", "--jobs", "0")
    assert (code, "expected at least one job, found 0" in err) == (2, True)


@pytest.mark.slow
def test_an_interrupt_ends_with_130_and_leaves_nothing(tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    child = subprocess.Popen(
        [*LUTHIER, "pool", "-", "-o", str(out / "p.arrow")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    with child:
        child.stdin.write(LIST * 2000)  # more than a pipe holds: when it is written, reading has begun
        child.stdin.flush()
        assert child.poll() is None
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=600)
    assert child.returncode == 130
    assert "interrupted" in err
    assert "Traceback" not in err
    assert list(out.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [["list", "formats"], ["data", "convert", "long.txt", "-"]])
def test_a_reader_that_goes_away_is_no_error_to_speak_of(tmp_path, arguments):
    text = "".join(f"{i} ||| word word word ||| lm={i} ||| 0\n" for i in range(30_000))
    (tmp_path / "long.txt").write_text(text)
    reading, writing = os.pipe()
    os.close(reading)  # nobody will ever read
    child = subprocess.Popen([*LUTHIER, *arguments], stdout=writing, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    os.close(writing)
    _, err = child.communicate(timeout=600)
    assert child.returncode == 141
    assert err == ""
