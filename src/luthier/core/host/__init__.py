"""The process we are in: `command` says whether it is our own, `quick_start` how that one loads Numba."""
