#!/usr/bin/env node
// Package managers link the commands of what was asked for, and not all of them those of what it depends on.
import { main } from '@looseleaf/cli/main'

await main()
