// Renders templates with Go's text/template and the functions of Optimus: JSON lines in, JSON lines out.
// Where Optimus hides an error (an invalid date, duration or time), this program returns it.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"text/template"
	"time"
)

var functions = template.FuncMap{
	"Date": func(text string) (string, error) {
		at, err := time.Parse(time.RFC3339, text)
		return at.Format("2006-01-02"), err
	},
	"replace": func(from, to, text string) string { return strings.ReplaceAll(text, from, to) },
	"trunc": func(size int, text string) string {
		if size < 0 || len(text) <= size {
			return text
		}
		return strings.ToValidUTF8(text[:size], "") // JSON cannot hold half a character
	},
	"date": func(layout string, at any) (string, error) {
		switch value := at.(type) {
		case time.Time:
			return value.In(time.Local).Format(layout), nil
		case int:
			return time.Unix(int64(value), 0).In(time.Local).Format(layout), nil
		}
		return "", fmt.Errorf("not a time")
	},
	"date_modify": func(text string, at time.Time) (time.Time, error) {
		duration, err := time.ParseDuration(text)
		return at.Add(duration), err
	},
	"toDate":    func(layout, text string) (time.Time, error) { return time.ParseInLocation(layout, text, time.Local) },
	"unixEpoch": func(at time.Time) string { return strconv.FormatInt(at.Unix(), 10) },
	"list":      func(texts ...string) []string { return texts },
	"join":      func(separator string, texts []string) string { return strings.Join(texts, separator) },
}

type answer struct {
	Text  string `json:"text"`
	Error string `json:"error"`
}

// Text maps inside of a map of any values, as in Optimus: the two differ in `index`.
func data(given map[string]any) map[string]any {
	for name, value := range given {
		if object, ok := value.(map[string]any); ok {
			texts := map[string]string{}
			for key, text := range object {
				texts[key] = text.(string)
			}
			given[name] = texts
		}
	}
	return given
}

func render(source string, given map[string]any) answer {
	parsed, err := template.New("job").Funcs(functions).Parse(source)
	if err != nil {
		return answer{Error: err.Error()}
	}
	var text strings.Builder
	if err := parsed.Execute(&text, data(given)); err != nil {
		return answer{Error: err.Error()}
	}
	return answer{Text: strings.TrimSpace(text.String())}
}

func main() {
	lines, out := bufio.NewReader(os.Stdin), json.NewEncoder(os.Stdout)
	for decoder := json.NewDecoder(lines); decoder.More(); {
		var question struct {
			Source string
			Data   map[string]any
		}
		if err := decoder.Decode(&question); err != nil {
			panic(err)
		}
		if err := out.Encode(render(question.Source, question.Data)); err != nil {
			panic(err)
		}
	}
}
