// A Nexus server over MCP on stdin and stdout, with the standard library alone: JSON-RPC, one message on each line.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
)

const protocolVersion = "2025-06-18"

type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// rpcError is an error of the protocol, such as an unknown method.
type rpcError struct {
	code    int
	message string
}

func (e rpcError) Error() string { return e.message }

func main() {
	root, err := projectRoot()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	input := bufio.NewReader(os.Stdin)
	for {
		line, err := input.ReadBytes('\n')
		if err != nil {
			return
		}
		var message request
		if json.Unmarshal(line, &message) != nil {
			send(Object{{"jsonrpc", "2.0"}, {"id", nil}, {"error", Object{{"code", -32700}, {"message", "Parse error"}}}})
			continue
		}
		if message.ID == nil {
			continue // a notification
		}
		result, err := handle(Store{root}, message)
		var fault rpcError
		if errors.As(err, &fault) {
			send(Object{{"jsonrpc", "2.0"}, {"id", message.ID}, {"error", Object{{"code", fault.code}, {"message", fault.message}}}})
			continue
		}
		send(Object{{"jsonrpc", "2.0"}, {"id", message.ID}, {"result", result}})
	}
}

func send(message Object) {
	os.Stdout.Write(append(compact(message), '\n'))
}

func handle(store Store, message request) (Object, error) {
	switch message.Method {
	case "initialize":
		return Object{
			{"protocolVersion", protocolVersion},
			{"capabilities", Object{{"tools", Object{}}}},
			{"serverInfo", Object{{"name", "nexus-example"}, {"version", "0.1.0"}}},
		}, nil
	case "ping":
		return Object{}, nil
	case "tools/list":
		return listTools(), nil
	case "tools/call":
		return callTool(store, message.Params)
	}
	return nil, rpcError{-32601, "Method not found"}
}

func listTools() Object {
	listed := []any{}
	for _, tool := range tools {
		properties := Object{}
		required := []any{}
		for _, parameter := range tool.parameters {
			properties.set(parameter.name, parameter.schema)
			if parameter.required {
				required = append(required, parameter.name)
			}
		}
		listed = append(listed, Object{
			{"name", tool.name},
			{"description", tool.description},
			{"inputSchema", Object{{"type", "object"}, {"properties", properties}, {"required", required}}},
			{"annotations", Object{
				{"readOnlyHint", tool.readOnly},
				{"destructiveHint", tool.destructive},
				{"idempotentHint", tool.idempotent},
				{"openWorldHint", false},
			}},
		})
	}
	return Object{{"tools", listed}}
}

func callTool(store Store, params json.RawMessage) (Object, error) {
	var call struct {
		Name      string `json:"name"`
		Arguments Object `json:"arguments"`
	}
	if json.Unmarshal(params, &call) != nil {
		return nil, rpcError{-32602, "Invalid params"}
	}
	for _, tool := range tools {
		if tool.name == call.Name {
			return answer(run(tool, store, call.Arguments))
		}
	}
	return nil, rpcError{-32602, "Unknown tool: " + call.Name}
}

func run(tool Tool, store Store, given Object) (Object, error) {
	args, err := checkArguments(tool, given)
	if err != nil {
		return nil, err
	}
	return tool.run(store, args)
}

// answer returns the result of a call: the object in structuredContent, and as compact JSON in a text block.
func answer(value Object, err error) (Object, error) {
	var fault ToolError
	if errors.As(err, &fault) {
		value = Object{{"error", fault.message}}
	} else if err != nil {
		return nil, rpcError{-32603, err.Error()}
	}
	block := Object{{"type", "text"}, {"text", string(compact(value))}}
	result := Object{{"content", []any{block}}, {"structuredContent", value}}
	if err != nil {
		result.set("isError", true)
	}
	return result, nil
}
