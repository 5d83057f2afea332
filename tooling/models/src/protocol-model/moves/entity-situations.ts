import { explore, type Event, type Exploration } from '../explore.ts'
import {
  beforeCommit,
  brokenMove,
  follower,
  moveWorld,
  NO_ROW,
  noMoveMemory,
  restart,
  type MoveProcess,
  type MoveWorld,
  type ShardNumber,
} from './bucket.ts'
import { lateCommitOf, moveReader, moveWriter, plainReader, purger } from './callers.ts'
import {
  consumerOf,
  handlersFail,
  handlersWorkAgain,
  letterReplayed,
  registration,
  takeover,
} from './consumers.ts'
import { followerBegins, followerOf, lastStateNotHanded } from './followers.ts'
import type { MoveGuards } from './guards.ts'
import { lateStatements, mover, undo } from './mover.ts'

interface Course {
  readonly world?: MoveWorld
  /** Processes that must end. */
  readonly callers: readonly MoveProcess[]
  readonly movers: readonly MoveProcess[]
  readonly events?: readonly Event<MoveWorld>[]
  readonly crashes?: number
  /** A follower with a stream for each shard. A consumer never has to begin again. */
  readonly followedBy?: 'a consumer' | 'a consumer that may fail' | 'a cursor'
}

export interface MoveSituation {
  readonly build: (guards: MoveGuards) => Course
  /** Guards that it needs: without any one of them the promise must break. */
  readonly guards: readonly (keyof MoveGuards)[]
  /** Has more states than a long run can explore. It only shows that its guards are needed. */
  readonly isTooLarge?: boolean
  /** Further such guards, whose absence shows after many states only. A short run leaves them out. */
  readonly slowGuards?: readonly (keyof MoveGuards)[]
}

const crashOf = (number: ShardNumber): Event<MoveWorld> => ({
  label: `the server of shard ${'AB'[number]} crashes and comes back`,
  possible: ({ shards }) => shards[number].disk !== undefined,
  happen: (world) => restart(world, number),
})

/** A shard does not answer any more, after another one has become the owner. */
const downOnceLeft = (number: ShardNumber): Event<MoveWorld> => ({
  label: `shard ${'AB'[number]} goes down`,
  possible: ({ shards }) =>
    ['away', 'emptied'].includes(shards[number].serves.is) &&
    shards.some(({ serves }) => serves.is === 'owner'),
  happen: ({ shards }) => void (shards[number].isDown = true),
})

/** Another process raises the floor of shard B. The raise is visible before it is on disk. */
const lingeringFloor: Event<MoveWorld> = {
  label: 'the floor of shard B is raised',
  possible: () => true,
  happen({ shards: [, shard] }) {
    beforeCommit(shard)
    shard.floor += 2
  },
}

const absent = (): MoveWorld => moveWorld({ row: NO_ROW })
const deleted = (): MoveWorld => moveWorld({ row: { version: 20, content: 0, updated: 0 } })
const withLeftover = (): MoveWorld =>
  moveWorld({ row: NO_ROW, leftover: { version: 30, content: 5, updated: 0 } })

export const moveSituations: Readonly<Record<string, MoveSituation>> = {
  'two writers know the catalogs of before': {
    build: (g) => ({ callers: [moveWriter(2, g), moveWriter(3, g)], movers: [mover(g)] }),
    guards: ['writesAreFenced', 'sealsFirst', 'copiesUnderSeal', 'commitComparesSeal'],
  },
  'a reader reads twice beside a writer, in two windows': {
    build: (g) => ({
      callers: [moveWriter(2, g), moveReader(g, 2)],
      movers: [mover(g, { windows: 2 })],
    }),
    guards: ['readsAreChecked', 'lastWindowIsOpen', 'sourceFirst'],
  },
  'an entity is deleted and inserted again': {
    build: (g) => ({
      callers: [moveWriter(0, g), moveWriter(3, g, { inserts: true })],
      movers: [mover(g, { windows: 2 })],
    }),
    guards: ['tombstonesAreCopied'],
  },
  'an entity is inserted where a cleaner puts a tombstone': {
    build: (g) => ({
      world: absent(),
      callers: [moveWriter(2, g, { inserts: true }), moveWriter(0, g, { fences: true })],
      movers: [mover(g)],
    }),
    guards: ['writesAreFenced'],
  },
  'any process dies, and another mover takes over': {
    build: (g) => ({
      callers: [moveWriter(2, g)],
      movers: [mover(g), mover(g)],
      crashes: 1,
    }),
    guards: ['takesOverAtSource', 'writersBreakSeals', 'anybodyBegins'],
    slowGuards: ['attemptsGrow'],
  },
  'an undo beside a move, and another move': {
    build: (g) => ({
      callers: [moveWriter(2, g)],
      movers: [mover(g, { seals: 1 }), undo(g), mover(g, { move: 2, seals: 1, waits: 'for an undo' })],
    }),
    guards: ['undoComparesAttempt'],
  },
  'a mover begins again beside an undo': {
    build: (g) => ({
      callers: [moveReader(g)],
      movers: [mover(g, { seals: 1 }), undo(g), mover(g, { seals: 1 })],
    }),
    guards: ['undoneStaysUndone'],
  },
  'an undone move has left a row of an entity that is gone': {
    build: (g) => ({
      world: withLeftover(),
      callers: [moveWriter(2, g, { inserts: true }), moveReader(g)],
      movers: [mover(g)],
    }),
    guards: ['leftoversGoFirst'],
  },
  'a tombstone is purged and the entity inserted again': {
    build: (g) => ({
      callers: [moveWriter(0, g), moveWriter(3, g, { inserts: true })],
      movers: [mover(g, { windows: 2 }), purger(g)],
    }),
    guards: ['noPurgeWhileLeaving'],
  },
  'a tombstone was purged before the move': {
    build: (g) => ({
      world: deleted(),
      callers: [moveWriter(2, g, { inserts: true })],
      movers: [mover(g), purger(g)],
    }),
    guards: ['purgeBoundGoesAlong'],
  },
  'a copy of an undone move arrives late, and its entity is gone': {
    build: (g) => ({
      world: {
        ...absent(),
        late: { copy: { shard: 1, epoch: 1, row: { version: 30, content: 5, updated: 0 } } },
      },
      callers: [moveWriter(2, g, { inserts: true })],
      movers: [mover(g)],
      events: lateStatements(g).slice(0, 1),
    }),
    guards: ['copiesAreFenced'],
  },
  'a delete of rows of a former stay arrives late': {
    build: (g) => ({
      world: { ...moveWorld(), late: { discard: { shard: 0, epoch: 0, before: 9 } } },
      callers: [moveWriter(2, g)],
      movers: [mover(g)],
      events: lateStatements(g).slice(1),
    }),
    guards: ['discardsAreFenced'],
  },
  'statements of writers and movers arrive once more': {
    build: (g) => ({
      callers: [moveWriter(2, g, { repeats: true }), moveWriter(0, g)],
      movers: [mover(g, { empties: true, repeats: true, seals: 1 })],
      events: [lateCommitOf(g), ...lateStatements(g)],
    }),
    guards: ['writesAreFenced', 'laterCopyStays', 'copyTimesGrow'],
    slowGuards: ['discardsAreBounded'],
  },
  'the server of the source crashes': {
    build: (g) => ({
      callers: [moveWriter(2, g, { lingers: true })],
      movers: [mover(g, { windows: 2 })],
      events: [crashOf(0)],
    }),
    guards: ['pagesAreOnDisk', 'emptyPagesToo', 'replacedRowsAreCopied'],
  },
  'the server of the source crashes behind the commit of a move': {
    build: (g) => ({
      callers: [moveWriter(2, g), moveReader(g)],
      movers: [mover(g)],
      events: [crashOf(0)],
    }),
    guards: ['beginsAfterFlush'],
  },
  'reads without a check until the move is announced': {
    build: (g) => ({
      callers: [moveWriter(2, g), plainReader(g)],
      movers: [mover(g, { announces: true })],
    }),
    guards: ['plainReadsAreAwaited'],
  },
  'a bucket goes and comes back, and its shards go down when they are not the owner': {
    build: (g) => ({
      callers: [moveWriter(2, g), moveReader(g)],
      movers: [
        mover(g, { seals: 1, empties: true }),
        mover(g, { move: 2, source: 1, seals: 1, waits: 'for the owner' }),
      ],
      events: [downOnceLeft(0), downOnceLeft(1)],
    }),
    guards: ['laterArrivalOwns'],
  },
  'a consumer beside a writer before the move, and one behind it': {
    build: (g) => ({
      callers: [moveWriter(2, g)],
      movers: [mover(g, { seals: 1 }), moveWriter(3, g, { waits: true })],
      followedBy: 'a consumer',
    }),
    guards: ['copiesAreSkipped', 'judgesAfterPage', 'targetIsHeld', 'endIsAboveRows'],
  },
  'a consumer beside a writer while two movers work': {
    build: (g) => ({
      callers: [moveWriter(2, g)],
      movers: [mover(g, { seals: 1 }), mover(g, { seals: 1 })],
      followedBy: 'a consumer',
    }),
    guards: ['copiesAreSkipped', 'sourceIsReadToEnd'],
    slowGuards: ['copyTimesGrow'],
    isTooLarge: true,
  },
  'a consumer while the floor of the target falls back': {
    build: (g) => ({
      callers: [moveWriter(2, g)],
      movers: [mover(g, { seals: 1 })],
      events: [lingeringFloor, crashOf(1)],
      followedBy: 'a consumer',
    }),
    guards: ['sourceIsReadToEnd'],
    slowGuards: ['beginIsOnDisk'],
  },
  'a consumer of a bucket that goes and comes back': {
    build: (g) => ({
      callers: [moveWriter(2, g)],
      movers: [
        mover(g, { seals: 1, empties: true }),
        mover(g, { move: 2, source: 1, seals: 1, waits: 'for the owner' }),
      ],
      followedBy: 'a consumer',
    }),
    guards: ['consumersAreAwaited', 'emptiedFirst'],
  },
  'a cursor of a bucket that is emptied early': {
    build: (g) => ({
      callers: [moveWriter(2, g)],
      movers: [mover({ ...g, consumersAreAwaited: false }, { empties: true, seals: 1 })],
      followedBy: 'a cursor',
    }),
    guards: ['gapsAreRefused'],
  },
  'a follower begins at any time': {
    build: (g) => ({
      world: { ...moveWorld(), follower: follower(0) },
      callers: [moveWriter(2, g)],
      movers: [mover({ ...g, consumersAreAwaited: false }, { empties: true, seals: 1 })],
      events: [followerBegins],
      followedBy: 'a cursor',
    }),
    guards: ['lateFollowersTakeCopies'],
    slowGuards: ['goneAtIsRaised'],
  },
  'a consumer whose handler fails, of a bucket that is emptied': {
    build: (g) => ({
      callers: [],
      movers: [mover(g, { seals: 1, empties: true }), moveWriter(3, g, { waits: true })],
      events: [handlersFail, handlersWorkAgain],
      followedBy: 'a consumer that may fail',
    }),
    guards: ['failingIsAwaited', 'failingIsAwaitedByMover'],
  },
  'a dead letter of a bucket that moves is replayed': {
    build: (g) => ({
      callers: [],
      movers: [mover(g, { seals: 1, empties: true }), moveWriter(3, g, { waits: true })],
      events: [letterReplayed],
      followedBy: 'a consumer that may fail',
    }),
    guards: ['failingIsPassedOn'],
  },
  'a consumer whose handler fails, and whose process is replaced': {
    build: (g) => ({
      callers: [],
      movers: [mover(g, { seals: 1 }), moveWriter(3, g, { waits: true })],
      events: [handlersFail, handlersWorkAgain, takeover],
      followedBy: 'a consumer that may fail',
    }),
    guards: ['failingIsAwaited'],
    slowGuards: ['savedBeforePassing'],
  },
  'a consumer registers while the source is being emptied': {
    build: (g) => ({
      world: { ...moveWorld(), follower: follower(0) },
      callers: [registration(g), moveWriter(2, g)],
      movers: [mover(g, { seals: 1, empties: true })],
      followedBy: 'a consumer that may fail',
    }),
    guards: ['namedFirst', 'targetIsHeld'],
    slowGuards: ['lateFollowersTakeCopies'],
  },
}

export function checkMove({ build }: MoveSituation, guards: MoveGuards): Exploration {
  const { world = moveWorld(), callers, movers, events = [], crashes = 0, followedBy } = build(guards)
  const streamOf = followedBy === 'a consumer that may fail' ? consumerOf : followerOf
  const streams = followedBy === undefined ? [] : [streamOf(0, guards), streamOf(1, guards)]
  return explore({
    world,
    local: noMoveMemory,
    processes: [...callers, ...movers, ...streams],
    events,
    crashes,
    always: brokenMove,
    atRest(state, waiting) {
      const stuck = waiting.find((process) => process < callers.length)
      if (stuck !== undefined) return `P${stuck} waits for ever`
      if (followedBy === 'a consumer' && state.follower.beginnings > 1) return 'a consumer has to begin again'
      return followedBy === undefined ? undefined : lastStateNotHanded(state)
    },
  })
}
