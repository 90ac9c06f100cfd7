// Write a function, get a Pintle worker hook. One file, nothing to install: copy it next to your program (a hook: in `hooks/`).
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
// blocks. Requests are served concurrently: while one awaits, the next runs.
//
// A plugin is the same with several functions:
//
//   import { plugin } from "./pintle-worker.mjs";
//
//   plugin({
//     on: { before_prompt_build: () => ({ appendSystem: "Be brief." }) },
//     tools: { roll: ({ sides }) => String(1 + Math.floor(Math.random() * sides)) },
//   });
//
// `console.log` is safe, and so are programs that you run, with `stdio: "inherit"` too: the pipes to the host are moved
// to descriptors that no program inherits. Standard output is standard error from then on, and standard input is
// empty. In a process that a host started this happens when this module is imported, anywhere else in `serve`. What was
// written to standard output before that, the host gets.

import { closeSync, openSync, writeSync } from "node:fs";
import { Socket } from "node:net";
import { createInterface } from "node:readline";
import { isMainThread } from "node:worker_threads";

/** A verdict that lets the action go on, with words for the model if you like. */
export const allow = ({ output, additionalContext } = {}) => ({ continue: true, output, additionalContext });

/** A verdict that stops the action. */
export const block = (reason, additionalContext) => ({ continue: false, reason, additionalContext });

let pipes;

/** The pipes from and to the host. What a program that the function runs prints must not be taken for its answer. */
function takePipes() {
  pipes ??= { requests: moveAway(0, "r", "/dev/null"), answers: moveAway(1, "a", "/dev/fd/2") };
  return pipes;
}

/** A descriptor of our own for what is at `fd`, where something else is put. Node opens files for itself alone. */
function moveAway(fd, flags, instead) {
  const own = openSync(`/dev/fd/${fd}`, flags);
  closeSync(fd);
  // The lowest free number is the one just closed, unless another thread was quicker.
  if (openSync(instead, flags) !== fd) throw new Error("import pintle-worker.mjs before you open files");
  return own;
}

// A command hook gets one event and has its own stdout; a worker is started for all of them.
const isWorker = "PINTLE_PROFILE_DIR" in process.env && !("PINTLE_EVENT" in process.env);
if (isMainThread && isWorker) takePipes();

const wholeText = (_, value) => (typeof value === "string" ? (value.toWellFormed?.() ?? value) : value);

/** What was thrown, in a line that is not too long. It may not be able to say anything. */
function wordsOf(error) {
  try {
    return String(error).slice(0, 4000);
  } catch {
    return "it threw a value that cannot be printed";
  }
}

/** Answers requests until the host closes the pipe. */
export function serve(fn, { concurrent = true } = {}) {
  const { requests, answers } = takePipes();
  const write = (message) => {
    let line = JSON.stringify(message);
    // Half of a character, such as half of an emoji, cannot be sent as JSON: the host would refuse the line.
    if (line.includes("\\ud")) line = JSON.stringify(message, wholeText);
    let rest = Buffer.from(line + "\n");
    while (rest.length > 0) rest = rest.subarray(writeSync(answers, rest));
  };
  write({ ready: true, concurrent });
  const input = new Socket({ fd: requests, readable: true, writable: false });
  createInterface({ input, crlfDelay: Infinity }).on("line", async (line) => {
    if (!line.trim()) return;
    const { id, event, context } = JSON.parse(line);
    try {
      const result = (await fn(event, context)) ?? null;
      // JSON has no `undefined`: it would be left out, and what is left out allows.
      if (result?.continue === undefined && Object.hasOwn(Object(result), "continue")) {
        throw new TypeError("`continue` is undefined: true or false?");
      }
      write({ id, result });
    } catch (error) {
      write({ id, error: wordsOf(error) });
    }
  });
}

/**
 * Serves points (`on`), tools and slash commands (`commands`), each a function by its name. What it serves has to be what its
 * plugin.json declares. `activate` gets what the operator granted of what plugin.json asks for.
 */
export function plugin({ on = {}, tools = {}, commands = {}, activate = () => {} }) {
  serve(async (event, context) => {
    if (event === "plugin.activate") {
      await activate(context.capabilities);
      return { points: Object.keys(on), tools: Object.keys(tools), commands: Object.keys(commands) };
    }
    if (event === "plugin.tool") return tools[context.tool](context.args);
    if (event === "plugin.command") return commands[context.command](context.text);
    return on[event](context);
  });
}
