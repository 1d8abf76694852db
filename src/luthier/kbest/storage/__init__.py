"""A pool on disk: `pool_file` (an Arrow file whose memory map is the pool) and `header` (what it says of arrays)."""
