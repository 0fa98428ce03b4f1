"""The page at /docs: the OpenAPI document made readable, with nothing from elsewhere."""

from __future__ import annotations

from importlib import resources

PAGE = (resources.files("edgefw.services.broker.admin") / "docs.html").read_text(encoding="utf-8")
POLICY = {
    "Content-Security-Policy": "default-src 'none'; connect-src 'self'; style-src 'unsafe-inline'; "
    "script-src 'unsafe-inline'; frame-ancestors 'none'"
}
