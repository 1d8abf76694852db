"""From blocks of any reader to one pool: ids, names, tokens, storage and order, the same for all formats.

Read `builder` first; `sentences`, `names`, `feature_rows` and `rule_uses` are what it keeps while blocks arrive.
"""
