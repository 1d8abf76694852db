"""Links → rules: what a decoder translates with.

In the order of the data: `model` (a parallel text with its links, indexed) and `lexicon`, `extraction/` (a sentence's
patterns → counted rules with features), `grammar` (the rules, frozen, in a trie), `storage` (its file), `reading`
with `reader` and `readers/` (grammars of other programs, a file per format), `writing` (text).
"""
