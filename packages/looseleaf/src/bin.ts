#!/usr/bin/env node
// Some package managers link only the commands of a direct dependency, so this package has the command of @looseleaf/cli too.
import { main } from '@looseleaf/cli/main'

await main()
