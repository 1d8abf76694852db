"""Weights of neighbouring bins kept in line: the penalties, their fit, and the options of tuners that have them.

Read `penalty` first (LNR and MNR with exact gradients), then `smooth_fit` (terms of a smooth objective) and `fit` (how
a sum with such a penalty is minimised).
"""
