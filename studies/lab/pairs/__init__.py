"""Studies of penalties and bins on a fixed set of pairs: lists and pairs, and the tables and figures of what was found.

Read `fixed` first (which pairs), then `penalty_path` (all β at once, by `newton`) and `splitting` (bins learned by
folds); `path_tables` and `bins_tables` show results.
"""
