"""Plays a person at a terminal: waits for text, then types.

Reads one JSON object from standard input: argv, env, cwd, steps, columns. A step is {"wait": TEXT}, {"type": KEYS},
{"make": FILE}, which makes an empty file, {"signal": NAME}, which the program gets, or {"run": ARGV}, which waits for
another program in the same surroundings.
Prints one JSON object: what was sent to the screen, what a person saw there in the end, the exit code, whether the
terminal reads lines again as it did before, and the step it got stuck at, if it did.
"""

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

PATIENCE = 60.0

play = json.load(sys.stdin)
ROWS, COLUMNS = 40, play["columns"]
pid, master = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
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


def rendered(text):
    """What stays on the screen, and what has left it at the top: enough of a terminal for what the program does."""
    lines, row, column = [""], 0, 0
    for escape, number, letter, other in re.findall(r"(\x1b\[\??([0-9;]*)([A-Za-z]))|(.)", text, re.DOTALL):
        count = int(number) if number.isdigit() else 1
        if other == "\n":
            row += 1
        elif other == "\r":
            column = 0
        elif other and other >= " ":
            if column == COLUMNS:
                row, column = row + 1, 0
            lines += [""] * (row + 1 - len(lines))
            lines[row] = lines[row].ljust(column)[:column] + other + lines[row][column + 1:]
            column += 1
        elif letter == "A":
            row = max(0, row - count)
        elif letter == "C":
            column += count
        elif letter == "D":
            column = max(0, column - count)
        elif letter == "K":
            lines += [""] * (row + 1 - len(lines))
            lines[row] = "" if number == "2" else lines[row][:column]
        elif letter == "J":
            lines = lines[: row + 1] + [""] * (row + 1 - len(lines))
            lines[row] = lines[row][:column]
        elif escape and letter not in "mhl":
            raise ValueError(f"{escape!r} is not part of this terminal")
        lines += [""] * (row + 1 - len(lines))
    return "\n".join(line.rstrip() for line in lines)


stuck = None
for step in play["steps"]:
    if "type" in step:
        os.write(master, step["type"].encode())
        continue
    if "make" in step:
        open(step["make"], "w").close()
        continue
    if "signal" in step:
        os.kill(pid, getattr(signal, step["signal"]))
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
modes = termios.tcgetattr(master)
_, status = os.waitpid(pid, 0)
code = os.waitstatus_to_exitcode(status) if ended else None
reads_lines = bool(modes[3] & termios.ICANON)
screen = seen.decode(errors="replace")
print(
    json.dumps(
        {
            "screen": screen,
            "rendered": rendered(screen) if ended else "",
            "code": code,
            "reads_lines": reads_lines,
            "stuck": stuck,
        }
    )
)
