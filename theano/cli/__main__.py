"""`python -m theano.cli` is the `theano` command."""

import sys

from theano.cli import main

sys.exit(main())
