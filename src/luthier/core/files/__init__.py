"""Bytes on disk: `io` first (what every reader and writer uses, over `streams`), then the kinds of files.

`array_file` has arrays that are mapped into memory, `record_stream` rows that come in blocks (Arrow, by
`arrow_arrays`), `sealed_lines` records that are added one at a time, `tables` columns for other programs, `toml_tables`
settings, `json_text` JSON from anybody; `locks` keeps two writers apart, `remote`
fetches files by URL, `entry_points` looks whether other packages plug anything in.
"""
