"""Headers for the C code of Ops."""
