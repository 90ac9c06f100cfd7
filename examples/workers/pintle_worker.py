"""Write a function, get a Pintle worker hook. One file, nothing to install: copy it next to your hook.

    from pintle_worker import block, serve

    def guard(event, context):
        if context["toolName"] == "terminal" and "rm -rf /" in context["toolInput"]["command"]:
            return block("not that one")

    serve(guard)

The function gets the event's name and its context (a dict). It returns None to allow, or a dict: a verdict at a
gate (`block`, `allow`), a patch or a claim elsewhere. An exception is an error of this one request; at a gate it
blocks. `print` is safe: it goes to stderr.

`serve(guard, threads=8)` serves up to eight requests at once; the function has to be thread-safe then.
"""

import json
import sys
import threading
from concurrent.futures import ThreadPoolExecutor


def allow(output=None, additional_context=None):
    """A verdict that lets the action go on, with words for the model if you like."""
    return _verdict(True, output=output, additionalContext=additional_context)


def block(reason, additional_context=None):
    """A verdict that stops the action."""
    return _verdict(False, reason=reason, additionalContext=additional_context)


def _verdict(go_on, **words):
    return {"continue": go_on, **{key: word for key, word in words.items() if word is not None}}


def serve(function, threads=1):
    """Answers requests until the host closes the pipe."""
    sys.stdin.reconfigure(encoding="utf-8")
    answers, sys.stdout = sys.stdout, sys.stderr
    lock = threading.Lock()

    def write(message):
        line = json.dumps(message)
        with lock:
            answers.write(line + "\n")
            answers.flush()

    def answer(request):
        try:
            result = function(request["event"], request["context"])
            write({"id": request["id"], "result": result})
        except Exception as error:  # one request's trouble is not the next one's
            write({"id": request["id"], "error": f"{type(error).__name__}: {error}"})

    write({"ready": True, "concurrent": threads > 1})
    requests = (json.loads(line) for line in sys.stdin if line.strip())
    if threads > 1:
        with ThreadPoolExecutor(threads) as pool:
            for request in requests:
                pool.submit(answer, request)
    else:
        for request in requests:
            answer(request)
