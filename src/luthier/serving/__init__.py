"""A trained model over HTTP, for this machine: `translator.py` (queue and batches), then `service.py`."""
