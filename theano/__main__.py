"""`python -m theano` is the `theano` command."""

import sys

from theano.cli import main

if __name__ == "__main__":
    sys.exit(main())
