"""A plane divided by lists: faces, cells, shapes, pictures, and what rounding leaves certain.

Read `subdivision` (each list alone) and `overlay` (all of them, cell by cell), then `cells` and `polygons` (one
cell), `arrangement` (all cells in memory), `raster` (points instead of cells) and `certainty`.
"""
