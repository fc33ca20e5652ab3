"""The version, which `importlib.metadata` would take longer to look up than the command takes to read a table."""

__version__ = "0.1.0"
