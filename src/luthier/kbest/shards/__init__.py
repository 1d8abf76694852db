"""A sharded pool: files with some of its sentences each, and a manifest that says which files these are.

`manifest` is what stands in the file and how it is checked, `shard` makes shards of a pool and opens them.
"""
