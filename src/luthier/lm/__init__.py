"""Language models: text → n-gram model → scores of sentences and of their pieces.

Read `arpa` (what a model is on paper), `counts` and `smoothing` (how one is estimated), `tables` (what a
query walks through), `state` (how pieces are joined), then `model` and `storage` (the whole, kept in a file).
"""
