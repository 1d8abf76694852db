"""Sentence, grammar and language model → forest → lists.

Begin with `hypergraph` (what a forest is), then `rule_rows` (the rules of a search), `models` and `weighting` (what
scores them), `search` with `workspace` (one sentence through the chart), `lazy_kbest` (a forest's best derivations),
`lists` (pools of them), `decoder` (the whole), `forest_lines` (a forest's best strings along lines of weights),
`semirings/` (any other value of all derivations) and `forest_files` (forests on disk).
"""
