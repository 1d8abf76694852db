"""Text of other programs → a grammar.

Read `reader` (what a format says of itself), then `grammars` (files read by it, every line checked) and `rule_table`
(rules in any order, grouped in the end).
"""
