"""luthier explore and luthier report, as they are typed."""

import json
import os
import signal
import subprocess
import sys
import urllib.request

import pytest
from served import SPEC, make_pool

from luthier.explorer.report_file import unpack_record
from luthier.kbest.storage.pool_file import save_pool


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    home = tmp_path_factory.mktemp("commands")
    save_pool(make_pool(), home / "pool.arrow")
    lines = [f"{name} {weight}\n" for name, weight in SPEC.decoder_weights.items()]
    (home / "w.txt").write_text("".join(lines))
    (home / "v.txt").write_text("".join([*lines[1:], "lm 3\n"]))
    return home


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_explore_prints_its_address_answers_and_ends_by_an_interrupt(folder):
    command = [sys.executable, "-m", "luthier.cli.main", "explore", "pool.arrow", "--weights", "w.txt", "--no-browser"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        address, _, token = running.stdout.readline().strip().partition("#token=")
        assert address.startswith("http://127.0.0.1:")
        with urllib.request.urlopen(address) as page:
            assert b"Luthier explorer" in page.read()
        request = urllib.request.Request(f"{address}api/session", headers={"X-Luthier-Token": token})
        with urllib.request.urlopen(request) as reply:
            assert json.load(reply)["title"] == "pool.arrow"
        running.send_signal(signal.SIGINT)
        out, err = running.communicate()
    assert (running.returncode, out) == (0, "")
    assert err.splitlines()[-2:] == [
        "open this address in a browser of this machine; Ctrl-C ends the explorer", "the explorer has ended",
    ]  # fmt: skip


def test_a_report_is_one_file_without_addresses(run_cli, folder):
    out = folder / "report.html"
    arguments = ("--weights", folder / "w.txt", folder / "v.txt", "--pair", "lm", "length", "-o", out, "--json")
    code, said, err = run_cli("report", folder / "pool.arrow", *arguments)
    assert code == 0, err
    told = json.loads(said)
    text = out.read_text()
    assert told["bytes"] == out.stat().st_size < 10_000_000
    assert (told["weights"], told["surfaces"]) == (2, 1)
    assert "default-src 'none'; script-src 'sha256-" in text
    assert 'src="' not in text
    assert 'href="/' not in text
    recorded = unpack_record(text)
    assert recorded["session"]["title"] == "pool.arrow"
    assert sum(key.startswith("line ") for key in recorded["answers"]) == 2 * 10
    again = folder / "again.html"
    run_cli("report", folder / "pool.arrow", *arguments[:-2], again)
    assert again.read_bytes() == out.read_bytes()


@pytest.mark.parametrize("arguments, words", [
    (("explore", "pool.arrow", "--port", "70000"), "expected --port from 1 to 65535, found 70000"),
    (("explore", "pool.arrow", "--weights", "w.txt", "w.txt"), "the same weights were given twice"),
    (("report", "pool.arrow", "--pair", "lm", "nothing", "-o", "r.html"), "nothing"),
    (("report", "pool.arrow", "-o", "pool.arrow"), "pool.arrow"),
    (("explore", "pool.arrow", "--metric", "length"), "no direction"),
    (("explore", "pool.arrow", "--trace", "w.txt"), "w.txt:1: expected"),
])  # fmt: skip
def test_what_is_refused_before_anything_is_opened(run_cli, folder, monkeypatch, arguments, words):
    monkeypatch.chdir(folder)
    code, out, err = run_cli(*arguments)
    assert (code, out) == (2, "")
    assert words in err
    assert not (folder / "r.html").exists()
