"""A plane divided by lists: faces, cells, shapes, pictures, and what rounding leaves certain."""
