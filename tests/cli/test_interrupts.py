"""Ctrl-C at fixed moments: exit code 130, one sentence, nothing torn, nobody left.

'interrupting.py' takes any number of random moments.
"""

import os
import signal
import subprocess
import sys

import pytest
from interrupting import LINES, contents, fault, prepare, run

pytestmark = [pytest.mark.slow, pytest.mark.compiled, pytest.mark.skipif(os.name != "posix", reason="no such signals")]
CLUSTER, PLAIN, LINE = LINES[0], LINES[1], LINES[4]
IMPORTS = """
import signal, sys, time
from pathlib import Path
Path("slow.py").write_text("import signal\\nsignal.raise_signal(signal.SIGINT)\\nwhole = True\\n")
sys.path.insert(0, ".")
from luthier.cli.start import hear
hear()
try:
    import slow
    time.sleep(600)
except KeyboardInterrupt:
    print("interrupted", "slow" in sys.modules and sys.modules["slow"].whole)
"""
CALLBACK = """
import signal, sys, time, weakref
from luthier.cli.start import hear
hear()
class Thing: pass
def callback(_):
    signal.raise_signal(signal.SIGINT)
thing = Thing()
kept = weakref.ref(thing, callback)
try:
    del thing
    time.sleep(600)
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("interrupted")
    prepare(folder)
    return folder


@pytest.mark.parametrize("line", LINES)
def test_every_command_that_is_interrupted_is_one(run_cli, line):
    code, _, said = run_cli(*line.split(), "--no-such-option")
    assert code == 2
    assert "there is no option --no-such-option" in said


@pytest.mark.parametrize("line", [CLUSTER, PLAIN, LINE], ids=["cluster", "tune", "picture"])
def test_moments_of_a_command(home, line):
    code, said, took = run(line, home, None)
    assert code == 0, said
    whole = contents(home)
    shares = (0.25, 0.4, 0.6) if line == CLUSTER else (0.02, 0.3, 0.6)
    assert [found for share in shares if (found := fault(line, home, share * took, whole))] == []


@pytest.mark.parametrize(("code", "told"), [(IMPORTS, "interrupted True"), (CALLBACK, "interrupted")])
def test_an_interrupt_waits_for_an_import_and_is_not_lost_in_a_callback(tmp_path, code, told):
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert child.stdout.strip() == told, child.stderr
    assert "Exception ignored" not in child.stderr


def test_an_ignored_interrupt_stays_ignored(home):
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        code, said, _ = run("oracle pool.arrow", home, 0.2)
    finally:
        signal.signal(signal.SIGINT, before)
    assert code == 0, said
