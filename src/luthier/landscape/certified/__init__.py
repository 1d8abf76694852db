"""The highest gain that any weights of a window have, with a proof: branch and bound over boxes of weights.

Read `space` first (what boxes are boxes of), then `rows` (lists over it), `box` (how a box is bounded), `search`
(best first, until the gap is closed; degenerate boxes) and `certificate` (what comes out). `certify` runs a search
and keeps it on disk.
"""
