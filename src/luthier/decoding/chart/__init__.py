"""One sentence through the chart.

Read `search` first (with `options`, its limits), then `workspace` (its arrays); the kernels fill cells (`_chart`,
`_cube`) and read the forest off them (`_harvest`).
"""
