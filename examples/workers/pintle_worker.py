"""Write a function, get a Pintle worker hook. One file, nothing to install: copy it next to your program (a hook: in `hooks/`).

    from pintle_worker import block, serve

    def guard(event, context):
        if context["toolName"] == "terminal" and "rm -rf /" in context["toolInput"]["command"]:
            return block("not that one")

    serve(guard)

The function gets the event's name and its context (a dict). It returns None to allow, or a dict: a verdict at a
gate (`block`, `allow`), a patch or a claim elsewhere. An exception, `sys.exit()` too, is an error of this one
request; at a gate it blocks.

`print` is safe, and so are programs that you run: the pipes to the host are moved to descriptors that no program
inherits. Standard output is standard error from then on, and standard input is empty. In a process that a host started
this happens when this module is imported, anywhere else in `serve`.

`serve(guard, threads=8)` serves up to eight requests at once; the function has to be thread-safe then.

A plugin is the same with several functions:

    from pintle_worker import Plugin

    plugin = Plugin()

    @plugin.on("before_prompt_build")
    def add_a_line(event):
        return {"appendSystem": "Be brief."}

    plugin.serve()
"""

import json
import os
import threading
from concurrent.futures import ThreadPoolExecutor

_pipes = None


def allow(output=None, additional_context=None):
    """A verdict that lets the action go on, with words for the model if you like."""
    return _verdict(True, output=output, additionalContext=additional_context)


def block(reason, additional_context=None):
    """A verdict that stops the action."""
    return _verdict(False, reason=reason, additionalContext=additional_context)


def _verdict(go_on, **words):
    return {"continue": go_on, **{key: word for key, word in words.items() if word is not None}}


def _take_pipes():
    """The pipes from and to the host. What a program that the function runs prints must not be taken for its answer."""
    global _pipes
    if _pipes is None:
        _pipes = os.fdopen(os.dup(0), "rb"), os.dup(1)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(2, 1)
    return _pipes


# A command hook gets one event and has its own stdout; a worker is started for all of them.
if "PINTLE_PROFILE_DIR" in os.environ and "PINTLE_EVENT" not in os.environ:
    _take_pipes()


def _words_of(error):
    """What an exception says, in a line that is not too long. It may not be able to say anything."""
    try:
        return f"{type(error).__name__}: {error}"[:4000]
    except BaseException:
        return type(error).__name__


def serve(function, threads=1):
    """Answers requests until the host closes the pipe."""
    lines, answers = _take_pipes()
    lock = threading.Lock()
    # Made once: `json.dumps` and `json.loads` look at their options for each request.
    encode = json.JSONEncoder(allow_nan=False, ensure_ascii=False).encode
    decode = json.JSONDecoder().raw_decode

    def write(message):
        # Half of a character, as in some file names, cannot be sent as JSON: the host would refuse the line.
        line = message.encode(errors="replace")
        with lock:
            while line:
                line = line[os.write(answers, line):]

    def answer(request):
        try:
            result = function(request["event"], request["context"])
            words = "null" if result is None else encode(result)
            write('{"id":%d,"result":%s}\n' % (request["id"], words))
        except BaseException as error:  # one request's trouble is not the next one's
            words = encode(_words_of(error))
            write('{"id":%d,"error":%s}\n' % (request["id"], words))
            if isinstance(error, KeyboardInterrupt):
                raise

    write('{"ready":true,"concurrent":%s}\n' % encode(threads > 1))
    requests = (decode(line.decode())[0] for line in lines if not line.isspace())
    if threads > 1:
        with ThreadPoolExecutor(threads) as pool:
            for request in requests:
                pool.submit(answer, request)
    else:
        for request in requests:
            answer(request)


class Plugin:
    """Handlers by point, tools and slash commands. What it serves has to be what its plugin.json declares."""

    def __init__(self):
        self.points, self.tools, self.commands, self.granted = {}, {}, {}, []

    def on(self, *points):
        """Serves points: the function gets the event (a dict) and returns None or a patch."""
        return self._add(self.points, points)

    def tool(self, name):
        """Serves a tool: the function gets its arguments (a dict) and returns a text for the model."""
        return self._add(self.tools, [name])

    def command(self, name):
        """Serves a slash command: the function gets the text after it and returns a text for the person."""
        return self._add(self.commands, [name])

    @staticmethod
    def _add(to, names):
        def add(function):
            to.update(dict.fromkeys(names, function))
            return function

        return add

    def _answer(self, event, context):
        if event == "plugin.activate":
            # What the operator granted of what plugin.json asks for.
            self.granted = context["capabilities"]
            return {"points": list(self.points), "tools": list(self.tools), "commands": list(self.commands)}
        if event == "plugin.tool":
            return self.tools[context["tool"]](context["args"])
        if event == "plugin.command":
            return self.commands[context["command"]](context["text"])
        return self.points[event](context)

    def serve(self, threads=1):
        """Answers requests until the host closes the pipe."""
        serve(self._answer, threads)
