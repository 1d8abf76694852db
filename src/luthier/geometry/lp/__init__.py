"""Small linear programs, and the proofs that they give.

Read `lp` (the solver), then `feasibility` (can one vector select these rows?) with its `certificates`, which
`rational` settles exactly, `feasible_subset` (where not all lists can be had), and `interior` (many unknowns).
"""
