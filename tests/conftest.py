"""What all tests share: kernels as plain Python where asked, and our own doctests."""

import os
import signal

import hypothesis
import numpy as np
import pytest

PLAIN = os.environ.get("NUMBA_DISABLE_JIT") == "1"
CHECKED = os.environ.get("NUMBA_BOUNDSCHECK") == "1"
FEWER = 4  # examples of a property where kernels are plain Python or checked: another leg has tried all of them

# On a machine that does much else an example may take any time: none fails by the clock.
hypothesis.settings.register_profile("no clock", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("no clock")

os.environ["COLUMNS"] = "400"  # what tests look for in tables is not folded, whoever's terminal they run in

# A shell starts what runs in its background with Ctrl-C ignored, and children of the tests would ignore it too.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

if PLAIN:
    # Hashes overflow on purpose; compiled code does so in silence, NumPy's scalars warn.
    np.seterr(over="ignore")


def pytest_collection_modifyitems(items):
    """Try fewer examples of each property in the legs that look at what kernels do, not at what comes out."""
    if not (PLAIN or CHECKED):
        return
    name = "_hypothesis_internal_use_settings"  # Hypothesis has no public way; without it tests are only slower
    for test in {id(test): test for test in (getattr(item, "obj", None) for item in items)}.values():
        chosen = getattr(test, name, None)
        if chosen is not None:
            fewer = max(5, chosen.max_examples // FEWER)
            setattr(test, name, hypothesis.settings(chosen, max_examples=min(fewer, chosen.max_examples)))


@pytest.fixture
def run_cli(capfd):
    """Run the command line in this process; return (exit code, standard output, standard error)."""
    from luthier.cli.main import main

    def run(*arguments):
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as stop:
            code = stop.code
        captured = capfd.readouterr()
        # which test is the first to compile something is a matter of their order
        lines = captured.err.splitlines(keepends=True)
        said = [line for line in lines if not line.startswith(("compiling kernels", "compiled "))]
        return code, captured.out, "".join(said)

    return run
