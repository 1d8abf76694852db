"""The gain as a function of weights: what a tuner may ask, and what geometry finds, as frozen results.

Read `problem` first (what every tuner may ask), then `list_problem` (K-best lists), `sharded_problem` and
`forest_problem`, `curve` (the gain along a line), `bounds` and `subspaces`. `lines` reports on a line,
`planes` on every cell of a plane, `cones` on normal cones of many lists, `certified` proves how good weights are,
`selections` says what can be selected at all.
"""
