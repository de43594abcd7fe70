"""The contract of every search backend, see `conftest.py`."""
