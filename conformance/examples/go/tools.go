package main

// The tools. To add one, add an entry to tools: its section in the contract has its parameters, answer, files and errors.

import (
	"encoding/json"
	"math"
	"strings"
	"time"
)

const tasksFile = "state/tasks.json"

// Parameter is a parameter of a tool with its JSON schema.
type Parameter struct {
	name     string
	schema   Object
	required bool
}

// Tool has its text, its parameters, its hints, and the function that runs it.
type Tool struct {
	name        string
	description string
	parameters  []Parameter
	readOnly    bool
	destructive bool
	idempotent  bool
	run         func(store Store, args Object) (Object, error)
}

var (
	text  = Object{{"type", "string"}}
	title = Object{{"type", "string"}, {"minLength", 1}}
	id    = Object{{"type", "integer"}, {"minimum", 1}}
	ids   = Object{{"type", "array"}, {"items", id}}
	texts = Object{{"type", "array"}, {"items", text}}
	reuse = Object{{"type", "string"}, {"enum", []any{"fresh", "resume_if_same_artifact", "resume"}}}
)

var tools = []Tool{
	{
		name:        "task_add",
		description: "Add a task to the list.",
		parameters: []Parameter{
			{"title", title, true},
			{"context", title, true},
			{"deps", ids, false},
			{"approach", text, false},
			{"acceptance", text, false},
			{"risk", text, false},
			{"plan_issue", id, false},
			{"goal", text, false},
			{"decisions", texts, false},
			{"owner", text, false},
			{"owner_agent_id", text, false},
			{"owner_reuse_policy", reuse, false},
		},
		run: taskAdd,
	},
	{name: "task_list", description: "Show the open tasks.", readOnly: true, idempotent: true, run: taskList},
}

func taskAdd(store Store, args Object) (Object, error) {
	list, err := readTasks(store)
	if err != nil {
		return nil, err
	}
	if list == nil {
		list = Object{{"goal", ""}, {"decisions", []any{}}, {"tasks", []any{}}}
	}
	tasks := list.get("tasks").([]any)
	highest := 0
	for _, task := range tasks {
		if number, _ := wholeNumber(task.(Object).get("id")); number > highest {
			highest = number
		}
	}
	task := Object{{"id", highest + 1}}
	// An absent optional value is an absent field, never null.
	copyFields(&task, args, "title", "context", "approach", "acceptance", "risk")
	task.set("status", "pending")
	task.set("deps", []any{})
	copyFields(&task, args, "deps", "plan_issue", "owner", "owner_agent_id", "owner_reuse_policy")
	task.set("created_at", time.Now().UTC().Format("2006-01-02T15:04:05.000Z"))
	if goal, _ := args.get("goal").(string); strings.TrimSpace(goal) != "" {
		list.set("goal", goal)
	}
	decisions, _ := args.get("decisions").([]any)
	list.set("decisions", append(list.get("decisions").([]any), decisions...))
	list.set("tasks", append(tasks, task))
	if err := store.write(tasksFile, list); err != nil {
		return nil, err
	}
	return Object{{"task", task}}, nil
}

func copyFields(to *Object, from Object, names ...string) {
	for _, name := range names {
		if from.has(name) {
			to.set(name, from.get(name))
		}
	}
}

func taskList(store Store, _ Object) (Object, error) {
	list, err := readTasks(store)
	if err != nil {
		return nil, err
	}
	if list == nil {
		return Object{{"exists", false}}, nil
	}
	tasks := list.get("tasks").([]any)
	count := map[any]int{}
	completed := map[int]bool{}
	for _, task := range tasks {
		status := task.(Object).get("status")
		count[status]++
		if number, _ := wholeNumber(task.(Object).get("id")); status == "completed" {
			completed[number] = true
		}
	}
	ready := []any{}
	for _, task := range tasks {
		waits := false
		for _, dep := range task.(Object).get("deps").([]any) {
			number, _ := wholeNumber(dep)
			waits = waits || !completed[number]
		}
		if task.(Object).get("status") == "pending" && !waits {
			ready = append(ready, task.(Object).get("id"))
		}
	}
	summary := Object{
		{"total", len(tasks)},
		{"completed", count["completed"]},
		{"pending", count["pending"]},
		// The contract counts the tasks in progress as "blocked".
		{"blocked", count["in_progress"]},
		{"ready", ready},
	}
	return Object{{"goal", list.get("goal")}, {"tasks", tasks}, {"summary", summary}}, nil
}

// readTasks returns the task list, or nil without tasks.json. Wrong fields are an error: they must not be overwritten.
func readTasks(store Store) (Object, error) {
	list, err := store.read(tasksFile)
	if list == nil || err != nil {
		return nil, err
	}
	_, hasGoal := list.get("goal").(string)
	_, hasDecisions := list.get("decisions").([]any)
	tasks, hasTasks := list.get("tasks").([]any)
	isWhole := hasGoal && hasDecisions && hasTasks
	for _, one := range tasks {
		task, _ := one.(Object)
		_, hasTitle := task.get("title").(string)
		status := task.get("status")
		isKnown := status == "pending" || status == "in_progress" || status == "completed"
		isWhole = isWhole && hasTitle && isKnown && fits(task.get("id"), id) && fits(task.get("deps"), ids)
	}
	if !isWhole {
		return nil, toolErrorf(".nexus/%s has a missing or a wrong field. Repair it, then call again. Nothing was changed.", tasksFile)
	}
	return list, nil
}

// checkArguments returns the arguments of a call without nulls, which count as absent.
func checkArguments(tool Tool, given Object) (Object, error) {
	schemas := map[string]Object{}
	names := []string{}
	for _, parameter := range tool.parameters {
		schemas[parameter.name] = parameter.schema
		names = append(names, parameter.name)
	}
	args := Object{}
	var unknown, missing, wrong []string
	for _, field := range given {
		schema, isKnown := schemas[field.Name]
		if !isKnown {
			unknown = append(unknown, "unknown parameter "+field.Name+"; accepted: "+strings.Join(names, ", "))
		} else if field.Value != nil {
			args = append(args, field)
			if !fits(field.Value, schema) {
				wrong = append(wrong, field.Name+" has a wrong type or value")
			}
		}
	}
	for _, parameter := range tool.parameters {
		if parameter.required && !args.has(parameter.name) {
			missing = append(missing, parameter.name+" is required")
		}
	}
	for _, faults := range [][]string{unknown, missing, wrong} {
		if len(faults) > 0 {
			return nil, toolErrorf("%s", strings.Join(faults, "; "))
		}
	}
	return args, nil
}

// fits tells whether a value fits one of the schemas above.
func fits(value any, schema Object) bool {
	switch schema.get("type") {
	case "integer":
		number, isWhole := wholeNumber(value)
		return isWhole && number >= 1
	case "array":
		items, isArray := value.([]any)
		for _, item := range items {
			isArray = isArray && fits(item, schema.get("items").(Object))
		}
		return isArray
	}
	given, isText := value.(string)
	if !isText || strings.Contains(given, "\x00") {
		return false
	}
	if words, isEnum := schema.get("enum").([]any); isEnum {
		for _, word := range words {
			if given == word {
				return true
			}
		}
		return false
	}
	return !schema.has("minLength") || strings.TrimSpace(given) != ""
}

// wholeNumber returns the integer that a JSON number is, and whether it is one.
func wholeNumber(value any) (int, bool) {
	number, isNumber := value.(json.Number)
	if !isNumber {
		return 0, false
	}
	found, err := number.Float64()
	return int(found), err == nil && found == math.Trunc(found) && math.Abs(found) < 1<<53
}
