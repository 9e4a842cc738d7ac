"""The rewrites of loops, one family a file; `theano.scan_module.scan_opt` gathers the documented names."""
