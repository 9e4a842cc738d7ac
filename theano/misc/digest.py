"""BLAKE2b without OpenSSL, which ``import hashlib`` loads: that takes as long as compiling a small function does."""

try:
    from _blake2 import blake2b
except ImportError:
    from hashlib import blake2b

__all__ = ["blake2b"]
