"""The page at /docs: Swagger UI, from a package that ships its files; nothing comes from elsewhere."""

from __future__ import annotations

import base64
import hashlib
import re
from importlib import resources
from pathlib import Path

from fastapi.openapi.docs import get_swagger_ui_html
from starlette.responses import FileResponse, HTMLResponse, Response

from edgefw.delays.refusals import UnknownError

_FILES = Path(str(resources.files("fastapi_swagger.resources")))
_SCRIPT, _STYLE, _ICON = "swagger-ui-bundle.js", "swagger-ui.css", "favicon-32x32.png"
_LOOK = {"tryItOutEnabled": True, "displayRequestDuration": True, "validatorUrl": None}


def make_page(title: str) -> Response:
    """Return the page that shows /openapi.json and lets its reader try the calls."""
    page = get_swagger_ui_html(
        openapi_url="/openapi.json",
        title=title,
        swagger_js_url=f"/docs/{_SCRIPT}",
        swagger_css_url=f"/docs/{_STYLE}",
        swagger_favicon_url=f"/docs/{_ICON}",
        swagger_ui_parameters=_LOOK,
    )
    text = bytes(page.body).decode()
    return HTMLResponse(text, headers={"Content-Security-Policy": _policy(text)})


def asset(name: str) -> Response:
    """Return a file that the page asks for."""
    if name not in {_SCRIPT, _STYLE, _ICON}:
        raise UnknownError(f"there is no /docs/{name}: see /docs")
    return FileResponse(_FILES / name, headers={"Cache-Control": "max-age=3600"})


def _policy(page: str) -> str:
    """Return what the page may do: run its own scripts and call its own endpoint, nothing else."""
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    known = " ".join(f"'sha256-{_digest(script)}'" for script in scripts)
    return (
        f"default-src 'none'; script-src 'self' {known}; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    )


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
