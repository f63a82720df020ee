// The nexus-mcp plugin for OpenCode. `nexus-mcp install opencode` writes it with the command of this installation.
// It reports what happens to one process, `nexus-mcp hook --native opencode --serve`, a line of JSON for each event,
// and applies the answers. A tool that the process cannot judge within DEADLINE_MS is refused.
import { spawn } from "node:child_process"

const COMMAND = "__NEXUS_COMMAND__"
const DEADLINE_MS = 10000
const UNJUDGED = "nexus-mcp could not judge this call in time. Use the tool again; if this repeats, tell the user."
const MISSING =
  `No tool may run: the plugin of nexus-mcp cannot start ${COMMAND[0]}. Tell the user to install nexus-mcp again, then ` +
  "to run `nexus-mcp install opencode` and to start OpenCode anew."

class Child {
  constructor(directory) {
    this.directory = directory
    this.waiting = new Map()
    this.count = 0
    this.rest = ""
  }

  start() {
    this.isMissing = true
    const child = spawn(COMMAND[0], COMMAND.slice(1), {
      cwd: this.directory,
      env: { ...process.env, PWD: this.directory },
      stdio: ["pipe", "pipe", "ignore"],
    })
    const gone = () => {
      if (this.child !== child) return
      this.child = undefined
      this.rest = ""
      for (const answer of this.waiting.values()) answer(undefined)
      this.waiting.clear()
    }
    child.on("spawn", () => (this.isMissing = false))
    child.on("error", gone)
    child.on("exit", gone)
    child.stdin.on("error", gone)
    child.stdout.setEncoding("utf8")
    child.stdout.on("data", (text) => this.read(text))
    this.child = child
  }

  read(text) {
    const lines = (this.rest + text).split("\n")
    this.rest = lines.pop()
    for (const line of lines) {
      let answer
      try {
        answer = JSON.parse(line)
      } catch {
        continue
      }
      const take = this.waiting.get(answer.id)
      this.waiting.delete(answer.id)
      if (take) take(answer)
    }
  }

  // Resolves to the answer, or to undefined without one. A process that has ended is started again.
  ask(report) {
    const id = ++this.count
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.waiting.delete(id)
        resolve(undefined)
      }, DEADLINE_MS)
      this.waiting.set(id, (answer) => {
        clearTimeout(timer)
        resolve(answer)
      })
      try {
        if (!this.child) this.start()
        this.child.stdin.write(JSON.stringify({ ...report, id }) + "\n")
      } catch {
        this.waiting.delete(id)
        clearTimeout(timer)
        resolve(undefined)
      }
    })
  }

  // Ends the process: it ends its sessions when its input ends.
  async end() {
    const child = this.child
    if (!child) return
    await new Promise((resolve) => {
      const timer = setTimeout(resolve, 2000)
      child.once("exit", () => {
        clearTimeout(timer)
        resolve()
      })
      child.stdin.end()
    })
  }
}

// An id behind those of the other parts: OpenCode sorts the parts of a message by their ids.
const partId = (parts) => {
  const last = parts.map((part) => part.id ?? "").reduce((a, b) => (a > b ? a : b), "")
  const random = Math.random().toString(36).slice(2, 10).padEnd(8, "0")
  return last.startsWith("prt_") ? last.slice(0, 16) + "zzzzzz" + random : "prt_" + "f".repeat(12) + "zzzzzz" + random
}

export const Nexus = async ({ client, directory }) => {
  const child = new Child(directory)
  const failed = new Set() // calls whose failure was reported
  const known = new Map() // session -> the session of its lead ("" for a session of the user), and its agent
  const used = new Map() // session -> agent and model of its last message

  // Sends a report with what is known about its session: the process may be a new one. OpenCode tells of a session when
  // it begins, but not of one that an earlier OpenCode began. A parent of null says that nothing could be found out.
  const ask = async (report) => {
    const id = report.session
    if (id && !known.has(id)) {
      try {
        const { data } = await client.session.get({ path: { id } })
        if (data?.id === id && !known.has(id)) known.set(id, { parent: data.parentID ?? "", agent: data.agent })
      } catch {}
    }
    return child.ask({ ...(known.get(id) ?? { parent: null }), ...report })
  }

  const events = {
    "session.created": (p) => {
      if (p.info?.id) known.set(p.info.id, { parent: p.info.parentID ?? "", agent: p.info.agent })
      return { event: "created", session: p.info?.id }
    },
    "session.compacted": (p) => ({ event: "compacted", session: p.sessionID }),
    "session.idle": (p) => ({ event: "idle", session: p.sessionID }),
    "session.deleted": (p) => ({ event: "deleted", session: p.info?.id ?? p.sessionID }),
    "message.part.updated": (p) => {
      const part = p.part
      if (part?.type !== "tool" || part.state?.status !== "error" || failed.has(part.callID)) return undefined
      failed.add(part.callID)
      return {
        event: "after",
        session: part.sessionID,
        tool: part.tool,
        input: part.state.input,
        status: "error",
      }
    },
  }

  return {
    dispose: () => child.end(),
    event: async ({ event }) => {
      const report = events[event.type]?.(event.properties ?? {})
      if (!report) return
      const answer = await ask(report)
      if (answer?.goes_on) {
        await client.session.promptAsync({
          path: { id: report.session },
          body: { ...used.get(report.session), parts: [{ type: "text", text: answer.goes_on, synthetic: true }] },
        })
      }
    },
    "command.execute.before": async (input) => {
      await ask({ event: "command", session: input.sessionID })
    },
    "chat.message": async (input, output) => {
      const { agent, model } = output.message
      used.set(input.sessionID, { agent, model })
      const typed = output.parts.filter((part) => part.type === "text" && !part.synthetic)
      const isOurs = output.parts.some((part) => part.type === "text" && part.synthetic) && typed.length === 0
      const prompt = isOurs ? "" : typed.map((part) => part.text).join("\n")
      const answer = await ask({ event: "message", session: input.sessionID, prompt })
      if (!answer?.context) return
      output.parts.push({
        id: partId(output.parts),
        messageID: output.message.id,
        sessionID: input.sessionID,
        type: "text",
        synthetic: true,
        text: answer.context,
      })
    },
    "tool.execute.before": async (input, output) => {
      const report = { event: "before", session: input.sessionID, tool: input.tool, input: output.args }
      const answer = await ask(report)
      const refusal = answer ? answer.deny : child.isMissing ? MISSING : UNJUDGED
      if (refusal) throw new Error(refusal)
    },
    "tool.execute.after": async (input, output) => {
      const answer = await ask({ event: "after", session: input.sessionID, tool: input.tool, input: input.args })
      if (!answer?.context) return
      if (Array.isArray(output.content)) output.content.push({ type: "text", text: answer.context })
      else output.output = `${output.output ?? ""}\n\n${answer.context}`
    },
    "experimental.chat.system.transform": async (input, output) => {
      if (!input.sessionID) return
      const answer = await ask({ event: "request", session: input.sessionID })
      if (answer?.context) output.system.push(answer.context)
    },
    "experimental.text.complete": async (input, output) => {
      await ask({ event: "text", session: input.sessionID, text: output.text })
    },
  }
}
