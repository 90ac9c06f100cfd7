import json

import wit_world
from componentize_py_types import Err
from wit_world.imports import host


def before_prompt_build(event):
    return {"appendSystem": "Never add in your head."}


def agent_done(event):
    host.log(f"{event['totalToolCalls']} tool calls")


def add(args):
    return f"the sum is {args['a'] + args['b']}"


def sum_of(text):
    return f"the sum is {sum(int(it) for it in text.split())}"


on = {"before_prompt_build": before_prompt_build, "agent_done": agent_done}
tools = {"add": add}
commands = {"sum": sum_of}


class WitWorld(wit_world.WitWorld):
    def activate(self, context: str) -> str:
        return "null"

    def handle(self, event: str, context: str) -> str:
        it = json.loads(context)
        try:
            if event == "plugin.tool":
                answer = tools[it["tool"]](it["args"])
            elif event == "plugin.command":
                answer = commands[it["command"]](it["text"])
            else:
                answer = on[event](it)
        except Exception as error:
            raise Err(repr(error))  # A failure of this call; any other exception ends the instance.
        return json.dumps(answer)
