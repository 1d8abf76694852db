"""Which selections one weight vector can make.

Read `feasibility` first (one selection, with its proof), then `separability` (oracles and pairs) and `constraints` (how
constrained a model is, with `constraint_settings`; `constraint_curves` for how that grows).
"""
