"""``python -m bristle.demo`` serves a page on this machine."""

from __future__ import annotations

import signal
import subprocess
import sys
from urllib.request import urlopen

DEMO = [sys.executable, "-m", "bristle.demo"]


def test_it_serves_the_folder_at_the_address_that_it_prints(tmp_path):
    (tmp_path / "index.html").write_text("<!doctype html>here")
    (tmp_path / "bristle_bg.wasm").write_bytes(b"\0asm")
    command = [*DEMO, tmp_path, "--no-open"]
    # What a shell starts in the background ignores Ctrl-C, and so would what that starts.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as served:
        signal.signal(signal.SIGINT, before)
        try:
            address = served.stdout.readline().strip()
            assert address.startswith("http://127.0.0.1:")
            with urlopen(address) as answer:
                assert answer.read() == b"<!doctype html>here"
            with urlopen(address + "bristle_bg.wasm") as answer:
                assert answer.headers["Content-Type"] == "application/wasm"
        finally:
            served.send_signal(signal.SIGINT)
        assert served.wait(60) == 0


def test_a_folder_without_a_page_is_refused(tmp_path):
    refused = subprocess.run([*DEMO, tmp_path], capture_output=True, text=True)
    assert refused.returncode == 2
    assert str(tmp_path) in refused.stderr and "`cargo xtask web`" in refused.stderr
