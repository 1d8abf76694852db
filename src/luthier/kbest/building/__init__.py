"""From blocks of any reader to one pool: ids, names, tokens, storage and order, the same for all formats.

Read `lists` first (files of any format into a pool), then `builder`; `sentences` and `feature_rows` are what it keeps
while blocks arrive. `streaming` reads lists of any length, `live` those of a pipe, `frames` tables in memory.
"""
