"""The example, and around it what the suite wants: a plugin that is granted a file does what that file says."""

import json
import os
import socket
import time

import example
import wit_world
from componentize_py_types import Err
from wit_world.imports import host


def reach(address):
    name, port = address.split(":")
    return socket.create_connection((name, int(port)))


TRIES = {
    "file": lambda _: open("/etc/passwd").read(),
    "network": reach,
    "environment": lambda _: json.dumps(dict(os.environ)),
    "clock": lambda _: str(int(time.time() * 1000)),
}


class WitWorld(wit_world.WitWorld):
    does = None

    def activate(self, context: str) -> str:
        files = [it for it in json.loads(context)["capabilities"] if it.startswith("read:/")]
        if not files:
            return example.WitWorld().activate(context)
        behaviour = json.loads(host.read_file(files[0].removeprefix("read:")))
        if not behaviour["activates"]:
            raise Err("it will not")
        WitWorld.does = behaviour["does"]
        return "null"

    def handle(self, event: str, context: str) -> str:
        does = WitWorld.does
        if does is None:
            return example.WitWorld().handle(event, context)
        if does == "tell":
            raise Err(context)
        if does == "crash":
            raise ValueError("a bug")
        while does == "hang":
            pass
        if "tries" in does:
            raise Err(f"it got {TRIES[does['tries']](does['address'])}")
        return json.dumps(does)
