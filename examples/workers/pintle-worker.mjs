// Write a function, get a Pintle worker hook. One file, nothing to install: copy it next to your hook.
//
//   import { block, serve } from "./pintle-worker.mjs";
//
//   serve(async (event, context) => {
//     if (context.toolName === "terminal" && context.toolInput.command.includes("rm -rf /")) {
//       return block("not that one");
//     }
//   });
//
// The function gets the event's name and its context. It returns nothing to allow, or an object: a verdict at a gate
// (`block`, `allow`), a patch or a claim elsewhere. What it throws is an error of this one request; at a gate it
// blocks. `console.log` is safe: it goes to stderr. Requests are served concurrently: while one awaits, the next runs.

import { createInterface } from "node:readline";

/** A verdict that lets the action go on, with words for the model if you like. */
export const allow = ({ output, additionalContext } = {}) => ({ continue: true, output, additionalContext });

/** A verdict that stops the action. */
export const block = (reason, additionalContext) => ({ continue: false, reason, additionalContext });

/** Answers requests until the host closes the pipe. */
export function serve(fn, { concurrent = true } = {}) {
  console.log = console.info = console.debug = console.error;
  const write = (message) => process.stdout.write(JSON.stringify(message) + "\n");
  write({ ready: true, concurrent });
  createInterface({ input: process.stdin, crlfDelay: Infinity }).on("line", async (line) => {
    if (!line.trim()) return;
    const { id, event, context } = JSON.parse(line);
    try {
      write({ id, result: (await fn(event, context)) ?? null });
    } catch (error) {
      write({ id, error: String(error) });
    }
  });
}
