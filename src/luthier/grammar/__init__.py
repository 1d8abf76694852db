"""Links → rules: what a decoder translates with.

In the order of the data: `bitext` (sentence pairs with their links), `index` (where words stand), `lexicon` (which
words are linked how often), `model` (all three, as a folder), `patterns` (what is looked up for a sentence),
`extract` (occurrences → counted rules), `features` (counts → numbers), `grammar` (the rules, frozen), `storage` (its
file), `reading` and `readers/`, `writing` (text).
"""
