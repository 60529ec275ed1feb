"""Serves the page of ``cargo xtask web`` on this machine and opens it: a hundred boxes in a soft gripper, on the
GPU of the browser.

.. code-block:: sh

    python -m bristle.demo

Wheels of releases have the page. Where a wheel has none, ``FOLDER`` names the one that ``cargo xtask web`` made.
``bristle demo`` does the same.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import webbrowser
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

_BESIDE = Path(__file__).parent / "web"
# A browser compiles the library only if its type is right.
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".wasm": "application/wasm",
}


class _Page(SimpleHTTPRequestHandler):
    """The files of the page."""

    extensions_map = SimpleHTTPRequestHandler.extensions_map | _TYPES

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing of a request."""


def main(arguments: list[str] | None = None) -> int:
    """Serves the page until Ctrl-C; ``arguments`` are those of the command line. Returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m bristle.demo", description="Serve and open bristle's page.")
    parser.add_argument("folder", nargs="?", type=Path, default=_BESIDE, help="folder of the page")
    parser.add_argument("--port", type=int, default=0, help="port of the address; 0 takes any that is free")
    parser.add_argument("--no-open", action="store_true", help="only print the address, and open no browser")
    options = parser.parse_args(arguments)
    if not (options.folder / "index.html").is_file():
        wanted = "expected the folder that `cargo xtask web` makes"
        print(f"error: {options.folder}: no index.html: {wanted}", file=sys.stderr)
        return 2
    # Nobody but this machine is served.
    try:
        server = ThreadingHTTPServer(("127.0.0.1", options.port), partial(_Page, directory=str(options.folder)))
    except (OSError, OverflowError) as error:
        print(f"error: 127.0.0.1:{options.port}: {error}", file=sys.stderr)
        return 2
    address = f"http://127.0.0.1:{server.server_port}/"
    print(address, flush=True)
    if not options.no_open:
        webbrowser.open(address)
    with server, contextlib.suppress(KeyboardInterrupt):
        server.serve_forever()
    return 0


if __name__ == "__main__":
    sys.exit(main())
