"""The one place that knows Numba: how a kernel is compiled, and who is told when it is.

A kernel is a plain function over arrays. It is compiled when first called and kept on disk beside
its file, so that only the first run on a machine pays. `kernel` takes no signature and no `parallel`:
both cost more than they give at our sizes. Kernels release the GIL; threads run above them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from numba.core import event

from luthier.core.progress import notice

kernel: Callable[..., Any] = numba.njit(cache=True, nogil=True, error_model="numpy")

# For small kernels called per item by another kernel of the same file: a call that passes an array
# counts references atomically (10 ns a call), a body laid into its caller does not.
inner_kernel: Callable[..., Any] = numba.njit(cache=True, nogil=True, error_model="numpy", inline="always")

# Reassociation lets a sum vectorise; infinities and NaN keep their meaning (plain fastmath deletes
# the tests for them). Only where a benchmark shows that it pays and the order of a sum is free.
fast_kernel: Callable[..., Any] = numba.njit(
    cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"}
)


class _Announcer(event.Listener):  # type: ignore[misc]
    """Says once that the first kernel is really being compiled (not loaded from the cache)."""

    said = False

    def on_start(self, event: event.Event) -> None:  # noqa: ARG002 - Numba's own name
        if not self.said:
            notice("compiling kernels, on the first run only ('luthier warm' does all at once) …")
        self.said = True

    def on_end(self, event: event.Event) -> None:
        """Nothing to say at the end."""


event.register("numba:compile", _Announcer())
