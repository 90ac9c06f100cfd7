"""A worker that misbehaves on request."""

import json
import os
import signal
import sys
import time


def say(message):
    print(json.dumps(message), flush=True)


with open("starts", "a") as starts:
    starts.write("x")
if "--concurrent" in sys.argv:
    say({"ready": True, "concurrent": True})

waiting = b""
while True:
    chunk = os.read(0, 1 << 20)
    if not chunk:
        break
    waiting += chunk
    alone = waiting.count(b"\n") == 1
    while b"\n" in waiting:
        line, waiting = waiting.split(b"\n", 1)
        request = json.loads(line)
        number, do = request["id"], request["context"]["toolInput"].get("do")
        if do == "wrong id":
            say({"id": number ^ 1, "result": None})
        elif do == "no id":
            say({"result": None})
        elif do == "number as id":
            say({"id": str(number), "result": None})
        elif do == "garbage":
            print("debug: not JSON", flush=True)
            say({"id": number, "result": None})
        elif do == "twice":
            print('{"id": %d, "result": null, "result": {"continue": false}}' % number, flush=True)
        elif do == "array":
            say([number])
        elif do == "neither":
            say({"id": number})
        elif do == "both":
            say({"id": number, "result": None, "error": "hm"})
        elif do == "beside":
            say({"id": number, "result": None, "continue": False})
        elif do == "error":
            say({"id": number, "error": "cannot reach the ticket system"})
        elif do == "wrong type":
            say({"id": number, "result": {"continue": "perhaps"}})
        elif do == "unknown answer":
            say({"id": number, "result": {"verdict": "allow"}})
        elif do == "rewrite":
            say({"id": number, "result": {"decision": "allow", "updatedInput": {}}})
        elif do == "long line":
            say({"id": number, "result": {"output": "x" * 200_000}})
        elif do == "flood":
            while True:
                sys.stdout.write("x" * 65536)
        elif do == "noise":
            while True:
                sys.stdout.write("noise\n" * 10000)
        elif do == "ready flood":
            while True:
                sys.stdout.write('{"ready": true}\n' * 10000)
        elif do == "id flood":
            while True:
                sys.stdout.write('{"id": 1, "result": null}\n')
        elif do == "blank flood":
            while True:
                sys.stdout.write("\n" * 65536)
        elif do == "stderr flood":
            while True:
                sys.stderr.write("x" * 65536)
        elif do == "answer and flood stderr":
            say({"id": number, "result": {"output": str(os.getpid())}})
            while True:
                sys.stderr.write("x" * 65536)
        elif do == "answer twice":
            say({"id": number, "result": None})
            say({"id": number, "result": None})
        elif do == "answer twice later":
            say({"id": number, "result": None})
            time.sleep(0.3)
            say({"id": number, "result": None})
        elif do == "silence":
            pass
        elif do == "stop":
            os.kill(os.getpid(), signal.SIGSTOP)
        elif do == "late":
            time.sleep(request["context"]["toolInput"]["seconds"])
            say({"id": number, "result": {"output": "late"}})
        elif do == "die":
            print("out of ideas", file=sys.stderr, flush=True)
            os._exit(3)
        elif do == "die after answering":
            say({"id": number, "result": {"output": str(os.getpid())}})
            os._exit(0)
        elif do == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        elif do == "close stdout":
            os.close(1)
            time.sleep(300)
        elif do == "daemon":
            os.system("setsid sleep 300 >/dev/null 2>&1 & sleep 300 >/dev/null 2>&1 &")
            say({"id": number, "result": None})
        elif do == "wiped daemon":
            os.system("setsid env -i sh -c 'echo $$ > daemon; exec sleep 300' >/dev/null 2>&1 </dev/null &")
            while not os.path.exists("daemon") or not os.path.getsize("daemon"):
                time.sleep(0.02)
            say({"id": number, "result": None})
        elif do == "alone?":
            time.sleep(0.05)
            say({"id": number, "result": {"output": "alone" if alone else "crowded"}})
        else:
            say({"id": number, "result": {"output": str(os.getpid())}})
