import { plugin } from "./pintle-worker.mjs";
import { commands, on, tools } from "./handlers.mjs";

plugin({ on, tools, commands });
