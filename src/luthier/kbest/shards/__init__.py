"""A pool in parts: files with some of its sentences each, and a manifest that says which files these are.

`manifest` is what stands in the file and how it is checked, `part_files` opens a part that is what it should be,
`shard` makes parts of a pool.
"""
