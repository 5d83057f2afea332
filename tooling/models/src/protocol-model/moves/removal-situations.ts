import { explore, type Exploration } from '../explore.ts'
import {
  brokenRemoval,
  halfRemoved,
  noRemovalMemory,
  removalWorld,
  type Change,
  type RemovalGuards,
} from './removal-world.ts'
import { changer, crashOf } from './removals.ts'

export interface RemovalSituation {
  /** Changes, each made by a process of its own. */
  readonly changes: readonly Change[]
  /** Numbers of the shards that may crash, each once. */
  readonly crashing?: readonly number[]
  /** Number of processes that may stop dead. */
  readonly stopping?: number
  readonly shards?: number
  /** Whether a process has removed the shard, and has died before that was on disk. Default: false. */
  readonly isHalfRemoved?: boolean
  /** Guards that it needs: without any one of them the promise must break. */
  readonly guards: readonly (keyof RemovalGuards)[]
}

export const removalSituations: Readonly<Record<string, RemovalSituation>> = {
  'an index is added while the leading shard is removed': {
    changes: ['removal', 'index'],
    stopping: 1,
    guards: ['removedCountsUntilTaken'],
  },
  'a removal goes on after the death of its process, and the leading shard crashes': {
    changes: ['removal', 'index'],
    isHalfRemoved: true,
    crashing: [0],
    guards: ['takesOverFromDisk'],
  },
  'the next leading shard crashes': {
    changes: ['removal', 'index'],
    crashing: [1],
    guards: ['leavesOutFromDisk', 'flushesCopies'],
  },
  'the leading shard of three is removed': {
    changes: ['removal', 'index'],
    shards: 3,
    guards: ['removedCountsUntilTaken'],
  },
  'a move to the leading shard is announced while that is removed': {
    changes: ['removal', 'move to shard 0'],
    guards: ['looksInTheChange'],
  },
}

export function checkRemoval(situation: RemovalSituation, guards: RemovalGuards): Exploration {
  const { changes, crashing = [], stopping = 0, shards = 2, isHalfRemoved = false } = situation
  return explore({
    world: isHalfRemoved ? halfRemoved(shards) : removalWorld(shards),
    local: noRemovalMemory,
    processes: changes.map((change) => changer(change, shards, guards)),
    events: crashing.map(crashOf),
    crashes: stopping,
    always: brokenRemoval,
    atRest: (_, waiting) => (waiting.length > 0 ? 'a change waits for ever' : undefined),
  })
}
