"""A pool on disk: `pool_file` (an Arrow file that is mapped), `header` (what it says), `writer` (lists for others)."""
