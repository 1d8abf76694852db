"""What is selected, and which selections one weight vector can make.

`changes` has the sentences that two selections translate differently, `standing` why a hypothesis won. For the rest,
read `feasibility` first (one selection, with its proof), then `separability` (oracles and pairs) and `constraints` (how
constrained a model is, with `constraint_settings`; `constraint_curves` for how that grows).
"""
