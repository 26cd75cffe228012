"""The application, with its rules about who may ask for what."""

from typing import Optional, Tuple
from urllib.parse import urlsplit

from dash import Dash
from flask import Response, request

from elmo_plugin.explorer._page import callbacks, upload
from elmo_plugin.explorer._page.layout import layout
from elmo_plugin.explorer.explorer import Explorer
from elmo_plugin.explorer.limits import LIMITS

#: what a browser on this machine calls it; a tunnel may change the port, and nothing else
HOSTS = ("127.0.0.1", "localhost", "::1")

_PAGE = """<!DOCTYPE html>
<html lang="en">
    <head>
        {%metas%}
        <title>{%title%}</title>
        {%favicon%}
        {%css%}
    </head>
    <body>
        <noscript>This page needs JavaScript.</noscript>
        {%app_entry%}
        <footer>
            {%config%}
            {%scripts%}
            {%renderer%}
        </footer>
    </body>
</html>
"""


def make_application(explorer: Explorer) -> Dash:
    """Build the page, which asks for nothing from outside of this machine."""
    app = Dash(
        __name__,
        title="ELMo explorer",
        update_title="",
        serve_locally=True,
        enable_mcp=False,
        index_string=_PAGE,
        meta_tags=[
            {"name": "viewport", "content": "width=device-width, initial-scale=1"},
            {"name": "color-scheme", "content": "light dark"},
        ],
    )
    app.layout = layout(explorer)
    callbacks.register(app, explorer)
    upload.register(app.server)
    _guard(app)
    return app


def _guard(app: Dash) -> None:
    policy = _content_policy(app)

    @app.server.before_request
    def refuse() -> Optional[Tuple[str, int]]:
        # A page of somebody else can make a browser send requests here, under a name that leads to this machine.
        if not _is_here(request.host):
            return "This page is for this machine only: open it as localhost.", 403
        origin = request.headers.get("Origin")
        if origin not in (None, f"{request.scheme}://{request.host}"):
            return "Only the page itself may ask this.", 403
        if request.path != upload.PATH and (request.content_length or 0) > LIMITS.request:
            return f"More than {LIMITS.request:,} bytes, which is the limit.", 413
        return None

    @app.server.after_request
    def add_headers(response: Response) -> Response:
        response.headers["Content-Security-Policy"] = policy
        response.headers["Referrer-Policy"] = "no-referrer"
        response.headers["X-Content-Type-Options"] = "nosniff"
        return response


def _is_here(host: str) -> bool:
    try:
        return urlsplit(f"//{host}").hostname in HOSTS
    except ValueError:  # half of an address
        return False


def _content_policy(app: Dash) -> str:
    """What a browser may load: nothing from elsewhere, and no script but those of the application."""
    scripts = " ".join(["'self'", *(f"'{one}'" if one[0] != "'" else one for one in app.csp_hashes())])
    return (
        f"default-src 'none'; script-src {scripts}; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
        "font-src 'self' data:; connect-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    )
