"""The page at /docs: Swagger UI, from a package that ships its files; nothing comes from elsewhere."""

from __future__ import annotations

import base64
import hashlib
from importlib.util import find_spec
from pathlib import Path

from edgefw.errors import UnknownError
from edgefw.http.answers import Answer

_FILES = {
    "swagger-ui-bundle.js": "text/javascript",
    "swagger-ui.css": "text/css",
    "favicon-32x32.png": "image/png",
}
_START = (
    'SwaggerUIBundle({url: "/openapi.json", dom_id: "#page", deepLinking: true, tryItOutEnabled: true, '
    "displayRequestDuration: true, validatorUrl: null})"
)
_PAGE = f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>edgefw broker</title>
<link rel="stylesheet" href="/docs/swagger-ui.css">
<link rel="icon" href="/docs/favicon-32x32.png">
</head>
<body>
<div id="page"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script>{_START}</script>
</body>
</html>
"""
_DIGEST = base64.b64encode(hashlib.sha256(_START.encode()).digest()).decode()
_POLICY = (  # run its own scripts and call its own endpoint, nothing else
    f"default-src 'none'; script-src 'self' 'sha256-{_DIGEST}'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def page() -> Answer:
    """Return the page that shows /openapi.json and lets its reader try the calls."""
    return Answer(_PAGE.encode(), 200, "text/html; charset=utf-8", {"Content-Security-Policy": _POLICY})


def asset(name: str) -> Answer:
    """Return a file that the page asks for."""
    if name not in _FILES:
        raise UnknownError(f"there is no /docs/{name}: see /docs")
    spec = find_spec("fastapi_swagger")  # found, not imported: that would load all of FastAPI
    folder = Path(((spec and spec.submodule_search_locations) or [""])[0])
    content = (folder / "resources" / name).read_bytes()
    return Answer(content, 200, _FILES[name], {"Cache-Control": "max-age=3600"})
