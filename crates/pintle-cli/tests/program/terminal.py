"""Plays a person at a terminal: waits for text, then types.

Reads one JSON object from standard input: argv, env, cwd, steps. A step is {"wait": TEXT}, {"type": KEYS},
{"make": FILE}, which makes an empty file, or {"run": ARGV}, which waits for another program in the same surroundings.
Prints one JSON object: what was on the screen, the exit code, and the step it got stuck at, if it did.
"""

import json
import os
import pty
import select
import subprocess
import sys
import time

PATIENCE = 60.0

play = json.load(sys.stdin)
pid, master = pty.fork()
if pid == 0:
    os.chdir(play["cwd"])
    os.execve(play["argv"][0], play["argv"], play["env"])

seen = b""
looked_at = 0
deadline = time.monotonic() + PATIENCE


def read_more():
    """False at the end, or when nothing comes for too long."""
    global seen
    ready, _, _ = select.select([master], [], [], max(0.0, deadline - time.monotonic()))
    if not ready:
        return False
    try:
        more = os.read(master, 65536)
    except OSError:
        return False
    seen += more
    return bool(more)


stuck = None
for step in play["steps"]:
    if "type" in step:
        os.write(master, step["type"].encode())
        continue
    if "make" in step:
        open(step["make"], "w").close()
        continue
    if "run" in step:
        subprocess.run(step["run"], cwd=play["cwd"], env=play["env"], stdin=subprocess.DEVNULL, capture_output=True)
        continue
    awaited = step["wait"].encode()
    while (found := seen.find(awaited, looked_at)) < 0:
        if not read_more():
            stuck = step["wait"]
            break
    if stuck is not None:
        break
    looked_at = found + len(awaited)

if stuck is None:
    while read_more():
        pass
    ended = time.monotonic() < deadline
else:
    ended = False
if not ended:
    os.kill(pid, 9)
_, status = os.waitpid(pid, 0)
code = os.waitstatus_to_exitcode(status) if ended else None
print(json.dumps({"screen": seen.decode(errors="replace"), "code": code, "stuck": stuck}))
