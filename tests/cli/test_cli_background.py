"""The suite and the command in the background of a shell, where Ctrl-C is ignored."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
IGNORED = "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])"
IN_THIS_PROCESS = "tests/core/test_guest.py::test_ctrl_c_is_a_hosts_own_and_a_commands_to_listen_to"
IN_A_CHILD = "tests/cli/test_cli.py::test_an_interrupt_ends_with_130_and_leaves_nothing"
LIST = "0 ||| a b ||| lm= 1 ||| 1\n"


def in_background(*words, **how):
    """Start a program that ignores Ctrl-C from its first moment."""
    return subprocess.Popen([sys.executable, "-c", IGNORED, sys.executable, *words], text=True, **how)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_tests_that_press_ctrl_c_pass_in_the_background():
    words = ["-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", IN_THIS_PROCESS, IN_A_CHILD]
    with in_background(*words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as child:
        said, _ = child.communicate(timeout=600)
    assert child.returncode == 0, said
    assert "2 passed" in said


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_a_command_that_was_started_deaf_to_ctrl_c_stays_so(tmp_path):
    words = ["-m", "luthier", "pool", "-", "-o", "p.arrow"]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with in_background(*words, cwd=tmp_path, **pipes) as child:
        child.stdin.write(LIST * 5000)  # more than a pipe holds: when it is written, reading has begun
        child.stdin.flush()
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=600)
    assert child.returncode == 0, err
    assert (tmp_path / "p.arrow").exists()
