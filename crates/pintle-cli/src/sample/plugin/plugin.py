"""PLUGIN_ID: what it may do is declared in plugin.json, and granted by the person who adds it."""

import random

from pintle_worker import Plugin

plugin = Plugin()


@plugin.on("before_prompt_build")
def add_a_line(event):
    return {"appendSystem": "Answer in one sentence where that is enough."}


@plugin.tool("roll")
def roll(args):
    return str(random.randint(1, args["sides"]))


@plugin.command("PLUGIN_ID")
def hello(text):
    return "PLUGIN_ID is here. " + text


if __name__ == "__main__":
    plugin.serve()
