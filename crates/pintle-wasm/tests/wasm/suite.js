// The example, and around it what the suite wants: a plugin that is granted a file does what that file says.
import * as example from "./example.js";
import { readFile } from "pintle:plugin/host@0.1.0";

let does;

const tries = {
  file: () => import("/etc/passwd"),
  network: (address) => fetch(`http://${address}/`),
  environment: () => JSON.stringify(globalThis.process?.env ?? {}),
  clock: () => String(Date.now()),
};

export function activate(context) {
  const file = JSON.parse(context).capabilities.find((it) => it.startsWith("read:/"));
  if (file === undefined) return example.activate(context);
  const behaviour = JSON.parse(readFile(file.slice("read:".length)));
  if (!behaviour.activates) throw "it will not";
  does = behaviour.does;
  return "null";
}

export function handle(event, context) {
  if (does === undefined) return example.handle(event, context);
  if (does === "tell") throw context;
  if (does === "crash") throw new Error("a bug");
  while (does === "hang");
  if (does.tries) throw `it got ${tries[does.tries](does.address)}`;
  return JSON.stringify(does);
}
