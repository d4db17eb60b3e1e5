// Package tools keeps the sums of everything that critest is built from in go.sum:
// critest is a test binary, and a `tool` line brings in no test's imports.
package tools

import (
	_ "sigs.k8s.io/cri-tools/pkg/validate"
)
