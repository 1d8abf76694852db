# mypy: ignore-errors
"""Kernels of formulas: logarithm, exponential and power as the C library has them.

NumPy has versions of its own for some processors, whose last bits differ. A service that ranks candidates with
Python's `math` would then break near ties otherwise than a whole pool does.
"""

import numpy as np

from luthier.core.jit import kernel


@kernel
def log_of(values, out):
    """Write the logarithm of each value."""
    for i in range(len(out)):
        out[i] = np.log(values[i])


@kernel
def exp_of(values, out):
    """Write the exponential of each value."""
    for i in range(len(out)):
        out[i] = np.exp(values[i])


@kernel
def power_of(bases, exponents, out):
    """Write each base to the power of its exponent."""
    for i in range(len(out)):
        out[i] = np.power(bases[i], exponents[i])
