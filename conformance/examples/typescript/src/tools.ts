// The tools. To add one, add an entry to TOOLS: its section in the contract has its parameters, answer, files and errors.

import { Json, Store, ToolError } from "./store.js";

const TASKS = "state/tasks.json";

type Hints = { readOnlyHint: boolean; destructiveHint: boolean; idempotentHint: boolean };

export interface Tool {
  description: string;
  /** Name of a parameter -> its JSON schema. */
  parameters: { [name: string]: Json };
  required: string[];
  hints: Hints;
  run(store: Store, args: Json): Json;
}

const TEXT = { type: "string" };
const ID = { type: "integer", minimum: 1 };

export const TOOLS: { [name: string]: Tool } = {
  task_add: {
    description: "Add a task to the list.",
    parameters: {
      title: { type: "string", minLength: 1 },
      context: { type: "string", minLength: 1, description: "Why the task is needed." },
      deps: { type: "array", items: ID, description: "Ids of the tasks that have to be completed first." },
      approach: TEXT,
      acceptance: TEXT,
      risk: TEXT,
      plan_issue: ID,
      goal: { type: "string", description: "The new goal of the whole list." },
      decisions: { type: "array", items: TEXT, description: "Decisions to append to those of the list." },
      owner: TEXT,
      owner_agent_id: TEXT,
      owner_reuse_policy: { type: "string", enum: ["fresh", "resume_if_same_artifact", "resume"] },
    },
    required: ["title", "context"],
    hints: { readOnlyHint: false, destructiveHint: false, idempotentHint: false },
    run(store, args) {
      const list = readTasks(store) ?? { goal: "", decisions: [], tasks: [] };
      const ids = list.tasks.map((task: Json) => task.id);
      // JSON.stringify leaves out fields that are undefined, so an absent optional field stays absent.
      const task = {
        id: Math.max(0, ...ids) + 1,
        title: args.title,
        context: args.context,
        approach: args.approach,
        acceptance: args.acceptance,
        risk: args.risk,
        status: "pending",
        deps: args.deps ?? [],
        plan_issue: args.plan_issue,
        owner: args.owner,
        owner_agent_id: args.owner_agent_id,
        owner_reuse_policy: args.owner_reuse_policy,
        created_at: new Date().toISOString(),
      };
      if (args.goal?.trim()) list.goal = args.goal;
      list.decisions.push(...(args.decisions ?? []));
      list.tasks.push(task);
      store.write(TASKS, list);
      return { task };
    },
  },

  task_list: {
    description: "Show the open tasks.",
    parameters: {},
    required: [],
    hints: { readOnlyHint: true, destructiveHint: false, idempotentHint: true },
    run(store) {
      const list = readTasks(store);
      if (list === undefined) return { exists: false };
      const tasks: Json[] = list.tasks;
      const having = (status: string) => tasks.filter((task) => task.status === status);
      const completed = new Set(having("completed").map((task) => task.id));
      const pending = having("pending");
      return {
        goal: list.goal,
        tasks,
        summary: {
          total: tasks.length,
          completed: completed.size,
          pending: pending.length,
          // The contract counts the tasks in progress as "blocked".
          blocked: having("in_progress").length,
          ready: pending.filter((task) => task.deps.every((id: number) => completed.has(id))).map((task) => task.id),
        },
      };
    },
  },
};

/** The task list, or undefined without tasks.json. A list with wrong fields is an error: it must not be overwritten. */
function readTasks(store: Store): Json | undefined {
  const list = store.read(TASKS);
  if (list === undefined) return undefined;
  const isTask = (task: any) =>
    Number.isInteger(task?.id) &&
    typeof task.title === "string" &&
    Array.isArray(task.deps) &&
    ["pending", "in_progress", "completed"].includes(task.status);
  if (typeof list.goal === "string" && Array.isArray(list.decisions) && Array.isArray(list.tasks) && list.tasks.every(isTask)) {
    return list;
  }
  throw new ToolError(`.nexus/${TASKS} has a missing or a wrong field. Repair it, then call again. Nothing was changed.`);
}

/** Check the arguments of a call. Return them without nulls, which count as absent; throw a ToolError. */
export function checkArguments(tool: Tool, given: Json): Json {
  const names = Object.keys(tool.parameters);
  const unknown = Object.keys(given).filter((name) => !names.includes(name));
  if (unknown.length > 0) {
    throw new ToolError(`unknown parameter ${unknown.join(", ")}; accepted: ${names.join(", ") || "none"}`);
  }
  const args = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null));
  const missing = tool.required.filter((name) => !(name in args));
  if (missing.length > 0) throw new ToolError(missing.map((name) => `${name} is required`).join("; "));
  const wrong = Object.keys(args).filter((name) => !fits(args[name], tool.parameters[name]!));
  if (wrong.length > 0) throw new ToolError(wrong.map((name) => `${name} has a wrong type or value`).join("; "));
  return args;
}

/** Whether a value fits one of the schemas above. */
function fits(value: unknown, schema: Json): boolean {
  if (schema.type === "integer") return Number.isSafeInteger(value) && (value as number) >= schema.minimum;
  if (schema.type === "array") return Array.isArray(value) && value.every((item) => fits(item, schema.items));
  if (typeof value !== "string" || value.includes("\0")) return false;
  return schema.enum ? schema.enum.includes(value) : !schema.minLength || value.trim() !== "";
}
