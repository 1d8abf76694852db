"""Links → rules: what a decoder translates with.

In the order of the data: `indexing/` (a parallel text with its links, indexed), `extraction/` (a sentence's patterns →
counted rules with features), `grammar` (the rules, frozen, found by `trie`), `storage` (its file), `reading/` and
`readers/` (grammars of other programs, a file per format), `writing` (text).
"""
