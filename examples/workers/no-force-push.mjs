#!/usr/bin/env node
// A worker hook for `tool.pre`: no force-pushes to main.
//
// In agent.json:  "onToolCall": [{ "action": "command", "worker": true, "argv": ["./no-force-push.mjs"] }]

import { block, serve } from "./pintle-worker.mjs";

serve(async (event, context) => {
  const words = String(context.toolInput?.command ?? "").split(/\s+/);
  const forced = words.includes("--force") || words.includes("-f");
  if (words[0] === "git" && words[1] === "push" && forced && words.includes("main")) {
    return block("force-pushing main rewrites what others build on", "push a branch and open a pull request");
  }
});
