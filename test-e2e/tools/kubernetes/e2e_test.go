// Package kubernetes keeps the sums of everything that Kubernetes' own suites are built from in go.sum: they are test
// binaries, and a `tool` line brings in no test's imports.
package kubernetes

import (
	_ "k8s.io/kubernetes/test/e2e"
	_ "k8s.io/kubernetes/test/e2e_node"
)
