"""The application on a port of this machine."""

import logging
from typing import Any

from waitress.server import create_server

from elmo_plugin.engine.errors import OptionsError
from elmo_plugin.explorer._page.application import make_application
from elmo_plugin.explorer.explorer import Explorer
from elmo_plugin.explorer.limits import LIMITS

HOST = "127.0.0.1"
_THREADS = 8
_LAST_PORT = 65535


def make_server(explorer: Explorer, port: int) -> Any:
    """
    Listen.

    # Parameters

    explorer : what the page is about.
    port : 0 for any that is free; `effective_port` of the result says which.

    # Returns

    A server of waitress, whose `run` answers until it is interrupted or closed.

    # Raises

    `OptionsError` where the port is taken or not allowed.
    """
    if not 0 <= port <= _LAST_PORT:
        raise OptionsError(f"port is {port}, expected 0 to {_LAST_PORT}.")
    application = make_application(explorer)
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)  # several people at once are nothing to warn about
    try:
        # One byte more, so that the application can say by itself what is too large.
        return create_server(
            application.server,
            host=HOST,
            port=port,
            threads=_THREADS,
            max_request_body_size=LIMITS.upload + 1,
            ident="",
            clear_untrusted_proxy_headers=True,
        )
    except OSError as error:
        raise OptionsError(f"port {port} of {HOST}: {error}. Choose another one with --port.") from error
