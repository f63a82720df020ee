package main

// The files of the workspace: .nexus/ in the project root. See "The workspace" and "Files" in the contract.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// ToolError is an error that the caller sees as {"error": "<message>"}.
type ToolError struct{ message string }

func (e ToolError) Error() string { return e.message }

func toolErrorf(format string, args ...any) error {
	return ToolError{fmt.Sprintf(format, args...)}
}

// projectRoot returns the folder in NEXUS_PROJECT_ROOT, else the nearest one with a .git, else the working directory.
func projectRoot() (string, error) {
	if named := os.Getenv("NEXUS_PROJECT_ROOT"); named != "" {
		return filepath.Abs(named)
	}
	here, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for at := here; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, ".git")); err == nil {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return here, nil
		}
	}
}

// Store reads and replaces the files of one workspace.
type Store struct{ root string }

// read returns the object in a file of .nexus/, or nil if there is no such file. A broken file is an error.
func (s Store) read(name string) (Object, error) {
	path, err := s.checkedPath(name)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, toolErrorf(".nexus/%s cannot be read. Nothing was changed.", name)
	}
	var value Object
	// The message of the parser is not repeated: it may quote the file.
	if !utf8.Valid(text) || json.Unmarshal(text, &value) != nil || value == nil {
		return nil, toolErrorf(".nexus/%s is not a valid JSON object. Repair it, then call again. Nothing was changed.", name)
	}
	return value, nil
}

// write replaces a file of .nexus/ as a whole: a reader, or a kill at any moment, sees the old text or the new one.
func (s Store) write(name string, value Object) (err error) {
	path, err := s.checkedPath(name)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	ignore := filepath.Join(s.root, ".nexus", ".gitignore")
	if _, err := os.Lstat(ignore); errors.Is(err, fs.ErrNotExist) {
		if err := os.WriteFile(ignore, []byte("state/\n"), 0o666); err != nil {
			return err
		}
	}
	var text bytes.Buffer
	if err := json.Indent(&text, compact(value), "", "  "); err != nil {
		return err
	}
	text.WriteByte('\n')
	temporary := fmt.Sprintf("%s.%d.tmp", path, os.Getpid())
	file, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(temporary)
		}
	}()
	_, err = file.Write(text.Bytes())
	if err == nil {
		err = file.Sync()
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(temporary, path)
	}
	return err
}

// checkedPath returns the path of a file of .nexus/. A link on the way is refused: it could lead out of the project.
func (s Store) checkedPath(name string) (string, error) {
	at := s.root
	for _, part := range append([]string{".nexus"}, strings.Split(name, "/")...) {
		at = filepath.Join(at, part)
		if found, err := os.Lstat(at); err == nil && found.Mode()&fs.ModeSymlink != 0 {
			shown, _ := filepath.Rel(s.root, at)
			return "", toolErrorf("%s is a symbolic link. Put a plain file or folder there.", shown)
		}
	}
	return at, nil
}
