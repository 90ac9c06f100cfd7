"""A plugin of the conformance suite: it does what its argument says."""

import json
import os
import sys

sys.path.insert(0, sys.argv[2])
from pintle_worker import serve  # noqa: E402

behaviour = json.loads(sys.argv[1])


def answer(event, context):
    if event == "plugin.activate":
        if not behaviour["activates"]:
            raise ValueError("it will not")
        return None
    match behaviour["does"]:
        case "tell":
            raise ValueError(json.dumps(context))
        case "crash":
            os._exit(3)
        case "hang":
            while True:
                pass
        case value:
            return value


serve(answer)
