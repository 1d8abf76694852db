"""Studies: a file names data, tuners, metrics and starts or conditions; every unit is run once and kept as a line.

Read `study` first (the runner) with `units` (what it asks of a study) and `lines` (what is kept). One kind of study is
`starts` (tuners from many starts, on `data`, as `start_settings` reads them); the other is `conditions` (features, bins
and tuners in whole loops): `system` (what all conditions share), `choices`, `loops` and `loop_results`.
"""
