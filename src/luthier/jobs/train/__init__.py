"""Whole translation systems: from a parallel text to tuned weights, and what is done with them.

Read `config` (what a file says), `steps` (what need not be done again), `model` (the folder that results) and `train`.
"""
