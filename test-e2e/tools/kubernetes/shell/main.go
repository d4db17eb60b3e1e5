// Command shell is /bin/sh of the images that stand for Alpine's and BusyBox's: Debian's busybox, whose messages are
// theirs, but which hands on no variable whose name is none in a shell (`data-1`); a pod that has such a one gets bash.
package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"
)

const (
	busybox = "/bin/busybox"
	bash    = "/bin/bash"
)

func main() {
	// busybox goes by the name that it is called by.
	program := busybox
	for _, entry := range os.Environ() {
		if name, _, _ := strings.Cut(entry, "="); !isIdentifier(name) {
			program = bash
		}
	}
	err := syscall.Exec(program, os.Args, os.Environ())
	fmt.Fprintf(os.Stderr, "%s: %s: %v\n", os.Args[0], program, err)
	os.Exit(127)
}

func isIdentifier(name string) bool {
	for index, letter := range name {
		switch {
		case letter == '_', letter >= 'a' && letter <= 'z', letter >= 'A' && letter <= 'Z':
		case letter >= '0' && letter <= '9' && index > 0:
		default:
			return false
		}
	}
	return name != ""
}
