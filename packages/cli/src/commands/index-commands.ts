import type { AddCommand } from '../running/define-command.ts'
import { addAddIndex } from './index/add.ts'
import { addCheckIndex } from './index/check.ts'
import { addDropIndex } from './index/drop.ts'
import { addListIndexes } from './index/list.ts'
import { addPauseIndex } from './index/pause.ts'
import { addRestoreIndex } from './index/restore.ts'
import { addShowIndex } from './index/show.ts'
import { addSwapIndex } from './index/swap.ts'
import { addViolations } from './index/violations.ts'

const COMMANDS: readonly AddCommand[] = [
  addAddIndex,
  addListIndexes,
  addShowIndex,
  addPauseIndex,
  addSwapIndex,
  addDropIndex,
  addRestoreIndex,
  addCheckIndex,
  addViolations,
]

/** Adds `looseleaf index` with its commands. */
export const addIndexCommands: AddCommand = (program, run) => {
  const group = program
    .command('index')
    .summary('Add, fill, show, check, swap or drop indexes')
    .description('Add, fill, show, check, swap or drop indexes.')
    .helpCommand(false)
  for (const add of COMMANDS) add(group, run)
}
