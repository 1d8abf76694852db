"""Compiling is announced when it happens, and only then."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

RUN = """
import gc
from contextlib import nullcontext
import numpy as np
from luthier.core.progress import speaking
with speaking(lambda label, total: nullcontext(len), lambda message: print("SAID", message)):
    from luthier.corpus.texts import Texts
    from luthier.corpus.vocab import Interner, tokenize
    assert tokenize(Texts.from_strings(["a b", "b"]), Interner()).ids.tolist() == [0, 1, 1]
from luthier.core.jit import compiler_seconds
print("TOOK TIME", min(compiler_seconds()) > 0.0, gc.isenabled())
"""


@pytest.mark.slow
@pytest.mark.compiled
def test_the_first_run_says_once_that_it_compiles_and_the_second_says_nothing(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "LUTHIER_KERNELS": "none"}
    environment.pop("NUMBA_DISABLE_JIT", None)
    first, second = (
        subprocess.run([sys.executable, "-c", RUN], capture_output=True, check=True, env=environment).stdout.decode()
        for _ in range(2)
    )
    assert first.count("SAID compiling kernels") == 1
    assert "TOOK TIME True True" in first  # and garbage is collected again
    assert second == "TOOK TIME False True\n"
