#!/usr/bin/env python3
"""A worker hook for `tool.pre`: no force-pushes to main.

In agent.json:  "onToolCall": [{ "action": "command", "worker": true, "argv": ["./no_force_push.py"] }]
"""

from pintle_worker import block, serve


def guard(event, context):
    words = str(context.get("toolInput", {}).get("command", "")).split()
    forced = "--force" in words or "-f" in words
    if words[:2] == ["git", "push"] and forced and "main" in words:
        return block("force-pushing main rewrites what others build on", "push a branch and open a pull request")


if __name__ == "__main__":
    serve(guard)
