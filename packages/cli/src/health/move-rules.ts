import { grouped } from '@looseleaf/core/internal'
import { heldUpText } from '../moves/move-view.ts'
import type { Facts, Problem, Rule } from './facts.ts'

/** A rule about the shards, the moves and the owners of buckets alone. */
export type MoveRule = Rule<Pick<Facts, 'moves' | 'ownerFaults' | 'shards'>>

const SEE = 'Move buckets, drain a machine'

/** Finds a move that no process works on. The lease of a dead process ends by itself, within 30 seconds by default. */
const moveStallsRule: MoveRule = {
  name: 'move stalls',
  // Writes go to both shards until the move is over, and reads and writes are right.
  grade: 'look',
  see: SEE,
  find: ({ moves }) =>
    moves.map((move) => {
      if (move.holder !== undefined || move.endedAt !== undefined) return undefined
      const { forward = '', back, isBackLater } = move.commands
      return {
        about: `move ${move.id}`,
        problem: `is ${move.state}, from shard ${move.from} to shard ${move.to}, and stands still: ${heldUpText(move) ?? 'no process works on it'}`,
        instruction: `go on with: ${forward}${isBackLater ? '' : `; or go back with: ${back}`}`,
      }
    }),
}

/** Finds a shard whose buckets should go, and of which no move takes any away. */
const drainStallsRule: MoveRule = {
  name: 'drain stalls',
  grade: 'look',
  see: SEE,
  find: stalledDrains,
}

/** Finds a shard whose joining has not ended. */
const halfJoinedRule: MoveRule = {
  name: 'shard half joined',
  // It owns no buckets, and changes of the indexes include it.
  grade: 'look',
  see: 'A shard joins',
  find: ({ shards }) =>
    shards.map(({ number, address, state }) =>
      state === 'joining'
        ? {
            about: `shard ${address}`,
            problem: `is joining as shard ${number}: its tables are being made, or were not all made`,
            instruction: `if no process is adding it now, run: looseleaf shard add ${address}`,
          }
        : undefined,
    ),
}

/** Finds buckets with two owners or none. */
const bucketOwnersRule: MoveRule = {
  name: 'bucket owners',
  // Calls of entities without an owner reject, and a shard that went back in time has lost writes.
  grade: 'act',
  see: 'A failover during a move',
  find: ({ ownerFaults }) =>
    ownerFaults.map(({ text, isRepairable }) => ({
      about: undefined,
      problem: text,
      instruction: `${isRepairable ? 'unless a process works on the move' : 'when the server is back'}, run: looseleaf shard repair`,
    })),
}

export const moveRules: readonly MoveRule[] = [
  moveStallsRule,
  drainStallsRule,
  halfJoinedRule,
  bucketOwnersRule,
]

/** Finds shards that are draining without a move. A drain has none either before it has announced its next one. */
export function stalledDrains({ shards, moves }: Pick<Facts, 'moves' | 'shards'>): readonly Problem[] {
  return shards.flatMap(({ number, address, state, buckets = 0 }) => {
    if (state !== 'draining' || buckets === 0) return []
    if (moves.some((move) => move.from === number && move.endedAt === undefined)) return []
    return [
      {
        about: `shard ${address}`,
        problem: `is draining, has ${grouped(buckets)} buckets, and no move takes them away`,
        instruction: `go on with: looseleaf shard drain ${number}; or keep its buckets with: looseleaf shard stop-draining ${number}`,
      },
    ]
  })
}
