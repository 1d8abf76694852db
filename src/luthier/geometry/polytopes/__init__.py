"""One list as a polytope: vertices, edges, cones, fans; and how many there can be."""
