"""Machines that fail: full disks, closed streams, Ctrl-C at bad moments, names that a terminal would act upon."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from luthier.core.errors import LuthierError
from luthier.core.files.io import locked
from luthier.kbest.storage.pool_file import save_pool
from luthier.synthetic.lists.noisy_channel import SyntheticLists

LUTHIER = [sys.executable, "-m", "luthier.cli.start"]
FULL = Path("/dev/full")


def run(*arguments, before=(), **more):
    """Run the command line in a child process."""
    return subprocess.run(
        [*before, *LUTHIER, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=600, **more
    )


@pytest.fixture
def pool(tmp_path):
    save_pool(SyntheticLists(sentences=5, k=6, vocabulary=100).generate(1), tmp_path / "pool.arrow")
    return tmp_path / "pool.arrow"


@pytest.mark.slow
@pytest.mark.skipif(not FULL.exists(), reason="this system has no device that is always full")
def test_output_that_finds_no_room_is_one_sentence():
    with FULL.open("w") as full:
        child = subprocess.run(
            [*LUTHIER, "list", "formats"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (child.returncode, child.stderr) == (2, "luthier: error: <standard output>: no space left on device\n")


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.skipif(not FULL.exists(), reason="this system has no device that is always full")
def test_a_log_on_a_full_disk_costs_nothing(pool, tmp_path):
    with FULL.open("w") as full:
        line = [*LUTHIER, "tune", str(pool), "--method", "random", "-o", str(tmp_path / "w.txt")]
        child = subprocess.run(line, stdout=subprocess.PIPE, stderr=full, text=True, check=False)
    assert child.returncode == 0
    assert (tmp_path / "w.txt").read_text().strip()


@pytest.mark.skipif(not FULL.exists(), reason="this system has no device that is always full")
@pytest.mark.parametrize("count", range(1, 6))
def test_what_is_said_to_a_full_disk_does_not_change_the_exit_code(count):
    code = f"""
import sys
from luthier.cli import main
from luthier.cli.output import _tell
main._run = lambda _: [_tell("hello") for _ in range({count})] and 0
sys.exit(main.main([]))
"""
    usual = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with FULL.open("w") as full:
        assert subprocess.run([sys.executable, "-c", code], stderr=full, env=usual, check=False).returncode == 0


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.skipif(not FULL.exists(), reason="this system has no device that is always full")
def test_a_trace_on_a_full_disk_costs_a_warning_and_not_the_weights(pool, tmp_path):
    child = run("tune", pool, "--method", "random", "--trace", FULL, "-o", tmp_path / "w.txt")
    assert child.returncode == 0, child.stderr
    assert child.stderr.count("warning: /dev/full: cannot write here: no space left on device") == 1
    assert (tmp_path / "w.txt").read_text().strip()


@pytest.mark.parametrize(
    "line",
    [
        "tune pool.arrow -o w.txt --trace ./w.txt",
        "tune pool.arrow -o w.1.txt --replicas 2 --checkpoint w.1.1.txt",
        "line pool.arrow --axis lm -o a.tsv -w a.tsv",
        "surface pool.arrow --axis lm --axis length -o a.tsv -w a.tsv",
        "rerank pool.arrow --weights w w -o a a",
        "certify pool.arrow --axis lm --whole -w a --checkpoint a",
        "engine align a b -o links --train links",
        "engine decode src --grammar g -k 2 -o k --text k",
    ],
)
def test_two_results_in_one_file_are_refused_before_the_work(line, pool, run_cli, monkeypatch):
    monkeypatch.chdir(pool.parent)
    code, _, said = run_cli(*line.split())
    assert (code, "expected another file for each result, found it twice" in said) == (2, True), said
    assert [path.name for path in pool.parent.iterdir()] == ["pool.arrow"]


def limit_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))


# A limit of size would also cut the bytecode that Python keeps of modules, and it would take what is left for whole.
UNKEPT = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}


@pytest.mark.slow
@pytest.mark.compiled
def test_a_full_disk_costs_the_checkpoint_but_not_the_weights(pool, tmp_path):
    output = tmp_path / "weights.txt"
    child = run(
        "tune", pool, "--method", "random", "--restarts", "5", "--checkpoint", tmp_path / "kept", "-o", output,
        preexec_fn=limit_files, env=UNKEPT,
    )  # fmt: skip
    assert child.returncode == 0, child.stderr
    assert child.stderr.count(f"warning: the checkpoint {tmp_path / 'kept'} lacks run ") == 1  # which, threads decide
    assert "file too large" in child.stderr
    assert "Traceback" not in child.stderr
    assert output.read_text().strip()


@pytest.mark.slow
def test_a_file_that_finds_no_room_is_one_sentence_and_leaves_nothing(tmp_path):
    child = run("synthetic", "lists", tmp_path / "new", "--sentences", "20", preexec_fn=limit_files, env=UNKEPT)
    assert child.returncode == 2
    assert child.stderr.splitlines()[-1].startswith("luthier: error: ")
    assert "file too large" in child.stderr
    assert "Traceback" not in child.stderr
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and path.stat().st_size >= 3000]


@pytest.mark.slow
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_no_trouble(closed):
    child = run("list", "formats", before=["sh", "-c", f'"$@" {closed}', "sh"])
    assert child.returncode == 0
    assert child.stderr == ""
    assert ("moses" in child.stdout) == (">&- " not in f"{closed} ".replace("2>&- ", ""))


# Sends Ctrl-C to its own process when a module begins to be imported, or a kernel to be compiled.
IMPORTING = """
import os, signal, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
from luthier.cli.start import main
sys.exit(main())
"""
COMPILING = """
import os, signal, sys
from numba.core import event
class Interrupting(event.Listener):
    def on_start(self, event):
        os.kill(os.getpid(), signal.SIGINT)
    def on_end(self, event):
        pass
sys.argv = ["luthier", *{arguments!r}]
from luthier.cli.start import main
import luthier.core.jit
event.register("numba:run_pass", Interrupting())
sys.exit(main())
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["luthier.cli.main", "luthier.kbest.storage.pool_file", "numpy", "numba", "rich.table"]
)
def test_ctrl_c_while_modules_are_imported(pool, name):
    code = IMPORTING.format(name=name)
    child = subprocess.run(
        [sys.executable, "-c", code, "inspect", str(pool)], capture_output=True, text=True, check=False
    )
    assert (child.returncode, child.stderr) == (130, "luthier: interrupted; no output was written\n")


@pytest.mark.slow
@pytest.mark.compiled
def test_ctrl_c_while_kernels_are_compiled(pool, tmp_path):
    code = COMPILING.format(arguments=("inspect", str(pool), "--quiet"))
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "empty"), "LUTHIER_KERNELS": "none"}
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment)
    assert (child.returncode, child.stderr) == (130, "luthier: interrupted; no output was written\n")


NAMES = {"[/b]": 1.0, "[X]": 2.0, "\x1b[31mred\x07": 3.0, "\x9bcsi\u202e": 4.0}


@pytest.fixture
def named(tmp_path, run_cli):
    """Return a pool whose features have names that markup or a terminal would act upon."""
    rows = [
        {"id": i, "hyp": f"w{k} b", "features": {name: value * k for name, value in NAMES.items()}, "ref": "w1 b"}
        for i in range(2)
        for k in range(3)
    ]
    (tmp_path / "list.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    code, _, err = run_cli("pool", tmp_path / "list.jsonl", "-o", tmp_path / "named.arrow")
    assert code == 0, err
    return tmp_path / "named.arrow"


def test_names_are_shown_as_they_are_and_no_terminal_acts_upon_them(named, run_cli):
    code, out, err = run_cli("inspect", named)
    assert code == 0
    assert not set(out + err) & {"\x1b", "\x07", "\x9b", "\u202e"}
    for name in ("[/b]", "[X]", "\\x1b[31mred\\x07", "\\x9bcsi\\u202e"):
        assert name in out
    code, out, _ = run_cli("inspect", named, "--json")
    assert not set(out) & {"\x1b", "\x07", "\x9b", "\u202e"}
    assert "\x9bcsi\u202e" in str(list(json.loads(out).values())) or "\\u009bcsi\\u202e" in out


def test_headings_may_look_like_markup(capsys):
    from luthier.report.console import show, table

    show(table("of [/b]", ["[/b]", "[X]", ":smile:"], [["[/i]", "\x1b[2J", "\x85"]], caption="[/c] \x00"))
    show("a [/b] text \x1b")
    shown = capsys.readouterr().out
    for part in ("of [/b]", "[X]", ":smile:", "[/i]", "\\x1b[2J", "\\x85", "[/c] \\x00", "a [/b] text \\x1b"):
        assert part in shown


def test_two_reverse_searches_do_not_write_one_output(pool, tmp_path, run_cli):
    output = tmp_path / "cones.arrow"
    arguments = ("geometry", "cones", pool, "--axis", "lm", "--axis", "length", "-o", output, "--limit", "5")
    with locked(output):
        code, _, err = run_cli(*arguments)
    assert code == 2
    assert "another process is writing here" in err
    assert not output.exists()


def test_a_lock_ends_with_its_holder_and_leaves_nothing(tmp_path):
    path = tmp_path / "file"
    code = (
        "import time\nfrom luthier.core.files.io import locked\n"
        f"with locked({str(path)!r}): print('held', flush=True); time.sleep(60)"
    )
    holder = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(LuthierError, match="another process is writing here"), locked(path):
        pass
    holder.kill()
    holder.wait()
    holder.stdout.close()
    with locked(path):
        pass
    assert list(tmp_path.iterdir()) == []
