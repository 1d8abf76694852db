"""Parts of studies of capacity: read `settings` (what a file says), `lists` (features, extreme rows), then `tables`."""
