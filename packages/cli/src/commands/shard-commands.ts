import { defineGroup, type AddCommand } from '../running/define-command.ts'
import { addAddShard } from './shard/add.ts'
import { addDrain, addStopDraining } from './shard/drain.ts'
import { addListShards } from './shard/list.ts'
import { addMove } from './shard/move.ts'
import { addRebalance } from './shard/rebalance.ts'
import { addRemoveShard } from './shard/remove.ts'
import { addRepair } from './shard/repair.ts'
import { addShardStatus } from './shard/status.ts'
import { addUndo } from './shard/undo.ts'

const COMMANDS: readonly AddCommand[] = [
  addListShards,
  addAddShard,
  addMove,
  addRebalance,
  addDrain,
  addStopDraining,
  addShardStatus,
  addUndo,
  addRepair,
  addRemoveShard,
]

export const addShardCommands: AddCommand = (program) => {
  const group = defineGroup(program, 'shard', 'List, add, fill, drain or remove shards')
  for (const add of COMMANDS) add(group)
}
