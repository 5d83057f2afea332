#!/usr/bin/env node
// Package managers link the commands of what was asked for, and not all of them those of what it depends on.
await import('@looseleaf/cli/main')
