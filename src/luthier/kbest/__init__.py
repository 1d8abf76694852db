"""K-best lists: the pool, what can be done to it, and how it is read and kept.

Read `pool` and `features` first, then the verbs: `rerank`, `merge`, `weights`, `storage`. `reading` turns lists of
any format (a file each in `readers`) into blocks of columns, `building` turns blocks into a pool, `json_lines` is
what JSON needs beside that; `writers` are the way back. `parts` are pools too large for one process.
"""
