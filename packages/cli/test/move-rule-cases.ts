import type { ListedShard, MoveReport } from '@looseleaf/store'
import type { OwnerFault } from '@looseleaf/store/internal'
import type { Facts } from '../src/health/facts.ts'

const move: MoveReport = {
  id: 7,
  from: 0,
  to: 2,
  buckets: '77-96',
  state: 'copying',
  holder: undefined,
  next: 'compare',
  heldUpBy: 'no process works on it',
  bucketCount: 20,
  handedOver: 0,
  counts: { read: 0, entities: 0, rows: 0, claims: 0, late: 0, compared: 0, emptied: 0 },
  total: 0,
  rate: 0,
  timeLeftMs: undefined,
  seals: { groups: 0, p50: undefined, p99: undefined, worst: undefined },
  waits: undefined,
  verified: undefined,
  endedAt: undefined,
  forward: 'repair',
  back: 'undo',
  commands: {
    forward: 'looseleaf shard repair',
    back: 'looseleaf shard undo 7',
    isBackLater: false,
  },
}
const held = { ...move, holder: { worker: 'host:7', since: new Date() }, heldUpBy: undefined }
const over = { ...move, state: 'done', endedAt: new Date() } as const
const shard: ListedShard = {
  number: 2,
  address: 'db3:3306/feed',
  state: 'serving',
  buckets: 20,
  ranges: '77-96',
  size: undefined,
  error: undefined,
}

const fault: OwnerFault = {
  buckets: '77-96',
  owners: [],
  isRepairable: false,
  text: 'The buckets 77-96 are on no shard: shard 0 gave them up in move 7.',
}

interface RuleCases {
  readonly found: readonly [Facts, ...string[]][]
  readonly well: readonly Facts[]
}

/** Returns cases for the rules about moves and shards, made from the facts of a healthy store. */
export function moveRuleCases(well: Facts): Readonly<Record<string, RuleCases>> {
  const withMove = (fields: Partial<MoveReport>): Facts => ({ ...well, moves: [{ ...move, ...fields }] })
  const withShard = (fields: Partial<ListedShard>): Facts => ({ ...well, shards: [{ ...shard, ...fields }] })
  return {
    'move stalls': {
      found: [
        [
          withMove({}),
          'move 7 is copying, from shard 0 to shard 2, and stands still: no process works on it go on with: looseleaf shard repair; or go back with: looseleaf shard undo 7',
        ],
        [withMove({ heldUpBy: 'Shard 2 does not answer.' }), 'stands still: Shard 2 does not answer.'],
        // A move that has handed buckets over goes forward only.
        [
          withMove({
            state: 'sealing',
            handedOver: 4,
            commands: { ...move.commands, back: 'looseleaf shard move', isBackLater: true },
          }),
          'go on with: looseleaf shard repair',
        ],
      ],
      well: [
        { ...well, moves: [held] },
        { ...well, moves: [over] },
      ],
    },
    'drain stalls': {
      found: [
        [
          withShard({ state: 'draining' }),
          'shard db3:3306/feed is draining, has 20 buckets, and no move takes them away go on with: looseleaf shard drain 2; or keep its buckets with: looseleaf shard stop-draining 2',
        ],
        [{ ...withShard({ state: 'draining' }), moves: [{ ...over, from: 2, to: 0 }] }, 'is draining'],
      ],
      well: [
        withShard({}),
        withShard({ state: 'draining', buckets: 0 }),
        // The move itself is a finding of its own if it stands still.
        { ...withShard({ state: 'draining' }), moves: [{ ...held, from: 2, to: 0 }] },
      ],
    },
    'shard half joined': {
      found: [
        [
          withShard({ state: 'joining', buckets: 0 }),
          'shard db3:3306/feed is joining as shard 2',
          'looseleaf shard add db3:3306/feed',
        ],
      ],
      well: [withShard({ buckets: 0 })],
    },
    'bucket owners': {
      found: [
        [
          { ...well, ownerFaults: [fault] },
          'The buckets 77-96 are on no shard: shard 0 gave them up in move 7.',
          'when the server is back, run: looseleaf shard repair',
        ],
        [
          { ...well, ownerFaults: [{ ...fault, isRepairable: true }] },
          'The buckets 77-96 are on no shard: shard 0 gave them up in move 7.',
          'unless a process works on the move, run: looseleaf shard repair',
        ],
      ],
      well: [withShard({})],
    },
  }
}
