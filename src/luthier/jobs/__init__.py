"""Whole jobs: a typed job in, a typed result out; made of every other room.

Read `tuning` first; the others are built like it. From text to lists: `align`, `extract`, `language_model`, `decode`,
`discretisation`, and all of it in `train/`. With lists: `forest_tuning`, `loop/`, `choosing/`, `scoring`, `compare`.
Studies: `constraints` with `constraint_curves`, `separable`, `study/`. `demo` runs everything, `warm` compiles it.
"""
