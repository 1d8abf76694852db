"""What is selected, and which selections one weight vector can make.

`explanation` says why a hypothesis won, and what changed between two selections. For the rest, read `feasibility`
first (one selection, with its proof), `sparse_feasibility` (the same with many features), then `separability` (oracles
and pairs) and `constraints` (how constrained a model is).
"""
