"""Tuning around a decoder: `loop` (decode, merge, tune, again), `folder` (what it keeps) and `report` (what it leaves)."""
