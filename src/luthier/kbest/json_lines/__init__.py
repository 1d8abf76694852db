"""JSON, one value per line, read at the speed of columns.

`tape` says what stands where, for many lines at once; `faults` and `row_faults` describe what is wrong with a line.
"""
