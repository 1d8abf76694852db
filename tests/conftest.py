"""What all tests share: kernels as plain Python where asked, and our own doctests."""

import os

import numpy as np
import pytest

if os.environ.get("NUMBA_DISABLE_JIT") == "1":
    # Hashes overflow on purpose; compiled code does so in silence, NumPy's scalars warn.
    np.seterr(over="ignore")


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
        said = [line for line in captured.err.splitlines(keepends=True) if not line.startswith("compiling kernels")]
        return code, captured.out, "".join(said)

    return run
