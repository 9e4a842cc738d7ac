"""The logger of the package: what Theano logs is shown on the standard error, if the program handles it nowhere."""

from __future__ import annotations

import logging
import sys
from typing import Any


class _StandardError(logging.StreamHandler):
    """Writes to what `sys.stderr` is at the time.

    Examples
    --------
    >>> import contextlib, io
    >>> with contextlib.redirect_stderr(io.StringIO()) as shown:
    ...     logging_default_handler.emit(logging.makeLogRecord({"levelname": "WARNING", "name": "theano", "msg": "it is slow"}))
    >>> print(shown.getvalue().strip())
    WARNING (theano): it is slow
    """

    def __init__(self) -> None:
        logging.Handler.__init__(self)

    @property
    def stream(self) -> Any:
        return getattr(self, "_given", None) or sys.stderr

    @stream.setter
    def stream(self, value: Any) -> None:
        self._given = value


theano_logger = logging.getLogger("theano")
logging_default_handler: logging.StreamHandler = _StandardError()
logging_default_formatter = logging.Formatter("%(levelname)s (%(name)s): %(message)s")
logging_default_handler.setFormatter(logging_default_formatter)


def has_handlers(logger: logging.Logger) -> bool:
    """Return whether what a logger logs is handled: by itself, or by those that it passes it on to.

    Parameters
    ----------
    logger : logging.Logger
        The logger.

    Returns
    -------
    bool
        Whether there is a handler.

    See Also
    --------
    theano.disable_log_handler : Take a handler from a logger, by default that of the package, which shows what it logs on
        the standard error.

    Examples
    --------
    >>> import logging, theano
    >>> theano.has_handlers(logging.getLogger("theano"))
    True
    """
    return logger.hasHandlers()


def disable_log_handler(logger: logging.Logger = theano_logger, handler: logging.Handler = logging_default_handler) -> None:
    """Take a handler from a logger, by default that of the package, which shows what it logs on the standard error.

    Parameters
    ----------
    logger : logging.Logger
        By default that of the package.
    handler : logging.Handler
        By default the one that the package made.

    See Also
    --------
    theano.has_handlers : Return whether what a logger logs is handled: by itself, or by those that it passes it on to.

    Examples
    --------
    >>> import logging, theano
    >>> logger, handler = logging.getLogger("example"), logging.NullHandler()
    >>> logger.addHandler(handler)
    >>> theano.disable_log_handler(logger, handler)
    >>> logger.handlers
    []
    """
    if has_handlers(logger):
        logger.removeHandler(handler)


theano_logger.setLevel(logging.WARNING)
if not has_handlers(theano_logger):
    theano_logger.addHandler(logging_default_handler)
