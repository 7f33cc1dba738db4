// Reads the files named on standard input as kubectl does and prints, for each, one line of JSON: {"name","accepts","documents"}.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
)

type reading struct {
	Name      string        `json:"name"`
	Accepts   bool          `json:"accepts"`
	Documents []interface{} `json:"documents"`
	Why       string        `json:"why,omitempty"`
}

func read(name string) (out reading) {
	out.Name = name
	out.Documents = []interface{}{}
	defer func() {
		if r := recover(); r != nil {
			out.Why = fmt.Sprint("panic: ", r)
		}
	}()
	data, err := os.ReadFile(name)
	if err != nil {
		out.Why = err.Error()
		return
	}
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096)
	for {
		ext := runtime.RawExtension{}
		if err := decoder.Decode(&ext); err != nil {
			if err == io.EOF {
				break
			}
			out.Why = err.Error()
			return
		}
		raw := bytes.TrimSpace(ext.Raw)
		if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
			continue
		}
		obj, _, err := unstructured.UnstructuredJSONScheme.Decode(raw, nil, nil)
		if err != nil {
			out.Why = err.Error()
			return
		}
		switch o := obj.(type) {
		case *unstructured.Unstructured:
			out.Documents = append(out.Documents, o.Object)
		case *unstructured.UnstructuredList:
			for i := range o.Items {
				out.Documents = append(out.Documents, o.Items[i].Object)
			}
		}
	}
	out.Accepts = true
	return
}

func main() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(make([]byte, 1<<20), 1<<20)
	enc := json.NewEncoder(os.Stdout)
	enc.SetEscapeHTML(false)
	for in.Scan() {
		if err := enc.Encode(read(in.Text())); err != nil {
			enc.Encode(reading{Name: in.Text(), Why: "encode: " + err.Error(), Documents: []interface{}{}})
		}
	}
}
