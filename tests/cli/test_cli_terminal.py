"""On a terminal: progress of work inside work shares one display, and leaves nothing behind."""

import os
import pty
import subprocess
import sys

import pytest

from luthier.kbest.storage.pool_file import save_pool
from luthier.synthetic.lists.noisy_channel import SyntheticLists


def on_a_terminal(*arguments, results=False, **environment):
    """Run the command line with a terminal as standard error, with `results` as standard output, too.

    Returns the exit code and what was shown.
    """
    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "luthier.cli.main", *map(str, arguments)]
    process = subprocess.Popen(
        command, stdout=follower if results else subprocess.DEVNULL, stderr=follower, close_fds=True,
        env={**os.environ, **environment},
    )  # fmt: skip
    os.close(follower)
    shown = b""
    while True:
        try:
            piece = os.read(leader, 65536)
        except OSError:  # the other end is closed: how Linux says so
            break
        if not piece:
            break
        shown += piece
    os.close(leader)
    return process.wait(), shown.decode("utf-8", "replace")


@pytest.mark.slow
@pytest.mark.compiled
def test_runs_and_steps_are_shown_together(tmp_path):
    save_pool(SyntheticLists(sentences=10, k=10, vocabulary=200).generate(1), tmp_path / "p.arrow")
    arguments = ("tune", tmp_path / "p.arrow", "--method", "random", "--restarts", "3", "-o", tmp_path / "w.txt")
    code, shown = on_a_terminal(*arguments)
    assert code == 0
    assert "random: runs" in shown
    assert "random: steps of all runs" in shown
    code, shown = on_a_terminal(*arguments, "--quiet")
    assert code == 0
    assert "runs" not in shown


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1", "TERM": "xterm"}, {"NO_COLOR": "", "TERM": "dumb"}])
def test_a_terminal_that_wants_no_styles_gets_none(environment):
    code, shown = on_a_terminal("list", "formats", "--quiet", results=True, **environment)
    assert code == 0
    assert "moses" in shown
    assert "\x1b" not in shown
    assert "\x1b[" in on_a_terminal("list", "formats", "--quiet", results=True, NO_COLOR="", TERM="xterm")[1]
