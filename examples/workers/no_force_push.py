#!/usr/bin/env python3
"""A worker hook for `tool.pre`: no force-pushes to main.

Put this file and `pintle_worker.py` into `hooks/` of the profile: every file there is checked before it runs. In agent.json:

    "onToolCall": [{ "action": "command", "worker": true, "argv": ["hooks/no_force_push.py"] }]

It reads the words of the command. A push by other means (a script, a Git alias) is the sandbox's to hold.
"""

from pintle_worker import block, serve


def forces(word):
    """`--force`, `--force-with-lease`, `-f`, `-uf` and `+main`."""
    return word.startswith(("--force", "+")) or (word[:1] == "-" and word[:2] != "--" and "f" in word)


def is_main(word):
    """`main`, `HEAD:main` and `+HEAD:refs/heads/main`."""
    return word.lstrip("+").split(":")[-1].removeprefix("refs/heads/") == "main"


def guard(event, context):
    command = str(context.get("toolInput", {}).get("command", ""))
    words = [word.strip("'\";&|()") for word in command.split()]
    pushes = "git" in words and "push" in words
    if pushes and any(map(forces, words)) and any(map(is_main, words)):
        return block("force-pushing main rewrites what others build on", "push a branch and open a pull request")


if __name__ == "__main__":
    serve(guard)
