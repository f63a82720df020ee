// A Nexus server over MCP on stdin and stdout.
//
// Server, not McpServer: McpServer checks the arguments itself and answers with plain text, while the contract wants
// {"error": "<message>"} for every error.

import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import {
  CallToolRequestSchema,
  ErrorCode,
  ListToolsRequestSchema,
  McpError,
} from "@modelcontextprotocol/sdk/types.js";

import { Json, projectRoot, Store, ToolError } from "./store.js";
import { checkArguments, TOOLS } from "./tools.js";

const store = new Store(projectRoot());
const server = new Server({ name: "nexus-example", version: "0.1.0" }, { capabilities: { tools: {} } });

server.setRequestHandler(ListToolsRequestSchema, () => ({
  tools: Object.entries(TOOLS).map(([name, tool]) => ({
    name,
    description: tool.description,
    inputSchema: { type: "object" as const, properties: tool.parameters, required: tool.required },
    annotations: { ...tool.hints, openWorldHint: false },
  })),
}));

server.setRequestHandler(CallToolRequestSchema, ({ params }) => {
  const tool = TOOLS[params.name];
  if (tool === undefined) throw new McpError(ErrorCode.InvalidParams, `Unknown tool: ${params.name}`);
  try {
    return answer(tool.run(store, checkArguments(tool, params.arguments ?? {})));
  } catch (error) {
    if (error instanceof ToolError) return { ...answer({ error: error.message }), isError: true };
    throw error;
  }
});

/** The answer is in structuredContent, and as compact JSON in a text block. */
function answer(value: Json) {
  return { structuredContent: value, content: [{ type: "text" as const, text: JSON.stringify(value) }] };
}

await server.connect(new StdioServerTransport());
