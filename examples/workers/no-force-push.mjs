#!/usr/bin/env node
// A worker hook for `tool.pre`: no force-pushes to main.
//
// Put this file and `pintle-worker.mjs` into `hooks/` of the profile: every file there is checked before it runs. In agent.json:
//
//   "onToolCall": [{ "action": "command", "worker": true, "argv": ["hooks/no-force-push.mjs"] }]
//
// It reads the words of the command. A push by other means (a script, a Git alias) is the sandbox's to hold.

import { block, serve } from "./pintle-worker.mjs";

/** `--force`, `--force-with-lease`, `-f`, `-uf` and `+main`. */
const forces = (word) => /^(--force|\+|-[^-]*f)/.test(word);

/** `main`, `HEAD:main` and `+HEAD:refs/heads/main`. */
const isMain = (word) => /^(.*:|\+)?(refs\/heads\/)?main$/.test(word);

serve(async (event, context) => {
  const words = String(context.toolInput?.command ?? "").split(/\s+/).map((word) => word.replace(/^['"(]+|['";&|)]+$/g, ""));
  const pushes = words.includes("git") && words.includes("push");
  if (pushes && words.some(forces) && words.some(isMain)) {
    return block("force-pushing main rewrites what others build on", "push a branch and open a pull request");
  }
});
