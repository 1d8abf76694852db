"""Tuning around a decoder: `loop` (decode, merge, tune, again), `folder` (what is kept), `report` (what it leaves)."""
