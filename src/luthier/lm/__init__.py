"""Language models: text → n-gram model → scores of sentences and of their pieces.

Read `arpa` (what a model is on paper) and `arpa_reading`, `estimate` (counts, Kneser–Ney), `tables` (what a query
walks through), then `model` (scores, and states of pieces) and `storage` (kept in a file).
"""
