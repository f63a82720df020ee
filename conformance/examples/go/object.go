package main

import (
	"bytes"
	"encoding/json"
	"errors"
)

// Field is a member of a JSON object.
type Field struct {
	Name  string
	Value any
}

// Object is a JSON object that keeps the order of its fields, and fields that this program does not know.
type Object []Field

func (o Object) get(name string) any {
	for _, field := range o {
		if field.Name == name {
			return field.Value
		}
	}
	return nil
}

func (o Object) has(name string) bool {
	for _, field := range o {
		if field.Name == name {
			return true
		}
	}
	return false
}

// set replaces the value of a field, or adds the field at the end.
func (o *Object) set(name string, value any) {
	for i := range *o {
		if (*o)[i].Name == name {
			(*o)[i].Value = value
			return
		}
	}
	*o = append(*o, Field{name, value})
}

func (o Object) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	out.WriteByte('{')
	for i, field := range o {
		if i > 0 {
			out.WriteByte(',')
		}
		out.Write(compact(field.Name))
		out.WriteByte(':')
		out.Write(compact(field.Value))
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

func (o *Object) UnmarshalJSON(text []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	value, err := decode(decoder)
	if err != nil {
		return err
	}
	object, isObject := value.(Object)
	if !isObject {
		return errors.New("not an object")
	}
	*o = object
	return nil
}

// decode returns the next value: an Object, []any, string, json.Number, bool or nil.
func decode(decoder *json.Decoder) (any, error) {
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		object := Object{}
		for decoder.More() {
			name, err := decoder.Token()
			if err != nil {
				return nil, err
			}
			if object.has(name.(string)) {
				return nil, errors.New("a field occurs twice")
			}
			value, err := decode(decoder)
			if err != nil {
				return nil, err
			}
			object = append(object, Field{name.(string), value})
		}
		_, err = decoder.Token()
		return object, err
	case json.Delim('['):
		array := []any{}
		for decoder.More() {
			value, err := decode(decoder)
			if err != nil {
				return nil, err
			}
			array = append(array, value)
		}
		_, err = decoder.Token()
		return array, err
	}
	return token, nil
}

// compact returns the JSON of a value on one line, without escapes for HTML.
func compact(value any) []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		// Values come from decode and from this program, so that all of them can be encoded.
		panic(err)
	}
	return bytes.TrimRight(out.Bytes(), "\n")
}
