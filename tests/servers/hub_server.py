"""A hub of data sets on loopback: what huggingface_hub asks to list and load a data set's files, nothing more."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

INFO = re.compile(r"/api/datasets/(?P<repo>[^/]+/[^/]+)(?:/revision/(?P<revision>[^?]+))?(?:\?.*)?")
FILE = re.compile(r"/datasets/(?P<repo>[^/]+/[^/]+)/resolve/(?P<revision>[^/]+)/(?P<file>.+)")


@dataclass
class HubScene:
    """`commits`: repo → commit → file → bytes; `refs`: repo → branch or tag → commit; `asked` gathers the requests."""

    commits: dict[str, dict[str, dict[str, bytes]]]
    refs: dict[str, dict[str, str]]
    gated: frozenset[str] = frozenset()
    url: str = ""
    asked: list[str] = field(default_factory=list)


@contextmanager
def serving(scene: HubScene) -> Iterator[HubScene]:
    """The scene behind `scene.url` while the block runs."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.answer(with_body=True)

        def do_HEAD(self) -> None:
            self.answer(with_body=False)

        def log_message(self, *args: Any) -> None:
            pass

        def answer(self, *, with_body: bool) -> None:
            scene.asked.append(f"{self.command} {self.path}")
            status, headers, body = reply(scene, self.path)
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            if with_body:
                self.wfile.write(body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    scene.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield scene
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def reply(scene: HubScene, path: str) -> tuple[int, Mapping[str, str], bytes]:
    """Status, headers and body, with the error codes that the hub puts into a header."""
    found = INFO.fullmatch(path) or FILE.fullmatch(path)
    repo = found["repo"] if found else ""
    if found is None or repo not in scene.commits:
        return 404, {"X-Error-Code": "RepoNotFound", "X-Error-Message": "Repository not found"}, b""
    is_file = "file" in found.groupdict()
    if repo in scene.gated and is_file:
        return 403, {"X-Error-Code": "GatedRepo", "X-Error-Message": "Access is restricted"}, b""
    revision = found["revision"] or "main"
    commit = scene.refs[repo].get(revision, revision)
    if commit not in scene.commits[repo]:
        return 404, {"X-Error-Code": "RevisionNotFound", "X-Error-Message": "Invalid rev id"}, b""
    files = scene.commits[repo][commit]
    if not is_file:
        siblings = [{"rfilename": name} for name in sorted(files)]
        info = {
            "id": repo,
            "sha": commit,
            "siblings": siblings,
            "private": False,
            "tags": [],
            "downloads": 0,
            "likes": 0,
        }
        return 200, {"Content-Type": "application/json"}, json.dumps(info).encode()
    if found["file"] not in files:
        return 404, {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": commit}, b""
    body = files[found["file"]]
    return 200, {"ETag": f'"{hashlib.sha1(body).hexdigest()}"', "X-Repo-Commit": commit}, body
