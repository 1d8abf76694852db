"""Bytes on disk: `io` first (what every reader and writer uses, over `streams`), then the kinds of files.

`array_file` has arrays that are mapped into memory, `arrow` rows that come in blocks, `journal` records that are
added one at a time, `tables` columns for other programs; `written` is what a job leaves behind, `remote` fetches
files by URL.
"""
