"""One sentence through the chart.

Read `search` first, then `workspace` (its arrays); the kernels fill cells (`_chart`, `_cube`) and read the forest off
them (`_harvest`). `forest_size` counts what the forest would be without pruning.
"""
