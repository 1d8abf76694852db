"""Reports on the gain along a line of weights, exactly.

Read `line_report` first (the whole report, with its proof), then `places` (where on a line to go), `coordinate_gains`
(what each weight alone would gain), `stability` (how far the optimum moves with the sentences) and `projection_cache`
(what is kept while weights are dragged).
"""
