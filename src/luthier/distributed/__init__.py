"""Units of work on a Dask cluster: processes of this machine, or workers on others.

Begin with `address` (what a cluster is called, and which are refused), then `worker` (what is done there with a unit)
and `scheduling` (who gets which unit, and what happens when one is lost, slow or fails; it knows no Dask). `engine`
ties them to Dask and is the only file that imports it; `check` is what a check of all workers finds.
"""
