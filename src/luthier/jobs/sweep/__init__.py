"""Choosing bits, β and other constants on held-out lists: `config` (what a file says), then `job` (the points)."""
