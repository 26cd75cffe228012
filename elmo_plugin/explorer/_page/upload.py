"""An archive in, its layer weights out. The body is the file itself: nothing of it goes through memory as a whole."""

import shutil
import tempfile
import threading
from pathlib import Path
from typing import Any, Dict, Tuple
from urllib.parse import unquote

from flask import Flask, request

from elmo_plugin.engine.errors import EngineError
from elmo_plugin.explorer.archives import read_archive, to_json
from elmo_plugin.explorer.limits import LIMITS

PATH = "/archive"
NAME_HEADER = "X-Archive-Name"

Answer = Tuple[Dict[str, Any], int]


def register(server: Flask) -> None:
    """Add the address that takes archives."""
    # Reading takes disk and time: one after the other.
    turn = threading.Lock()

    @server.post(PATH)
    def take() -> Answer:
        name = unquote(request.headers.get(NAME_HEADER, ""))
        if request.content_length is None:
            return {"error": f"{name}: the browser does not say how large it is."}, 411
        if request.content_length > LIMITS.upload:
            return {"error": f"{name}: larger than {LIMITS.upload >> 20:,} MB, which is the limit."}, 413
        try:
            with turn, tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "archive"
                with path.open("wb") as file:
                    shutil.copyfileobj(request.stream, file)
                return {"mixes": to_json(read_archive(path, name))}, 200
        except EngineError as error:
            return {"error": str(error)}, 400
        except OSError as error:  # above all a full disk
            return {"error": f"{name}: could not be stored or unpacked here ({error.strerror or error})."}, 507
