"""Ten handlers under pluggy, called synchronously: it has no async calls. One round; prints
{"sample": NAME, "ns": TIME} lines."""

import json
import time

import pluggy

HANDLERS = 10
KEYS = ("first", "second", "third")
TURN_NS = 1_000_000
TURNS = 61

hookspec = pluggy.HookspecMarker("bench")
hookimpl = pluggy.HookimplMarker("bench")


class Spec:
    @hookspec
    def observed(self, turn):
        """Something to observe."""

    @hookspec
    def amended(self, turn):
        """Something to amend."""

    @hookspec(firstresult=True)
    def claimable(self, turn):
        """Something to claim."""

    @hookspec(firstresult=True)
    def guarded(self, turn):
        """Something to stop."""


class Plugin:
    def __init__(self, n):
        self.n = n
        self.key = KEYS[n % 3]
        self.seen = 0

    @hookimpl
    def observed(self, turn):
        self.seen += turn

    @hookimpl
    def amended(self, turn):
        return {self.key: turn}

    @hookimpl
    def claimable(self, turn):
        # The last to be registered is called first: number 0 is the last in the chain.
        return {"turn": turn} if self.n == 0 else None

    @hookimpl
    def guarded(self, turn):
        return {"block": "before the beginning of time"} if turn < 0 else None


def first_wins(patches):
    merged = {}
    for patch in patches:
        for key, value in patch.items():
            merged.setdefault(key, value)
    return merged


def timed(call, times):
    start = time.perf_counter_ns()
    for turn in range(times):
        call(turn)
    return time.perf_counter_ns() - start


def main():
    manager = pluggy.PluginManager("bench")
    manager.add_hookspecs(Spec)
    for n in range(HANDLERS):
        manager.register(Plugin(n))
    hook = manager.hook
    calls = {
        "models/void/pluggy": lambda turn: hook.observed(turn=turn),
        "models/modifying/pluggy": lambda turn: first_wins(hook.amended(turn=turn)),
        "models/claiming/pluggy": lambda turn: hook.claimable(turn=turn),
        "models/gate/pluggy": lambda turn: hook.guarded(turn=turn),
    }
    times = {name: max(1, TURN_NS * 200 // min(timed(call, 200) for _ in range(5))) for name, call in calls.items()}
    taken = {name: [] for name in calls}
    for _ in range(TURNS):
        for name, call in calls.items():
            taken[name].append(timed(call, times[name]) / times[name])
    for name, all_taken in taken.items():
        print(json.dumps({"sample": name, "ns": sorted(all_taken)[TURNS // 2]}))


main()
