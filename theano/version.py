"""The version of the package."""

__version__ = full_version = version = "2.0.0.dev0"
