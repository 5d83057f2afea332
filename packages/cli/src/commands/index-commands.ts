import { defineGroup, type AddCommand } from '../running/define-command.ts'
import { addAddIndex } from './index/add.ts'
import { addCheckIndex } from './index/check.ts'
import { addDropIndex } from './index/drop.ts'
import { addExactIndexes } from './index/exact.ts'
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
  addExactIndexes,
  addViolations,
]

export const addIndexCommands: AddCommand = (program) => {
  const group = defineGroup(program, 'index', 'Add, fill, show, check, swap or drop indexes')
  for (const add of COMMANDS) add(group)
}
