import type { Event, Step, StepResult } from './explore.ts'
import { commit, crash, flushTo, markOf, visible, type Mark, type Server, newServer } from './server.ts'

/**
 * State of the entity's server: the entity, and the values that are committed with it or on the same disk.
 */
export interface EntityState {
  version: number
  keys: string[]
  /** Version of the pending row; 0 for none. */
  note: number
  /** Whether the server accepts commits only from writers that know the index. */
  fenced: boolean
}

/** One entity on one server, the rows of one index on another. Either server may crash. */
export interface DurableWorld {
  entity: Server<EntityState>
  rows: Server<Record<string, number>>
  /** Whether the index may be queried. This catalog is elsewhere and loses nothing in this model. */
  isReady: boolean
  /** Whether the index server accepts statements. */
  isDown: boolean
  /** Greatest version that was acknowledged to a writer. */
  acknowledged: number
}

/** Variables of a process between its statements. */
export interface Memory {
  base: number
  old: string[]
  version: number
  rows: Record<string, number>
  deferred: boolean
  knowsIndex: boolean
  /** Log position that the answer, or the conclusion, waits for. */
  mark: Mark | undefined
  /** Whether the wait is a separate flush, after a statement that changed nothing. */
  isFlush: boolean
}

export interface DurableGuards {
  /** A commit is answered only when it is on disk. */
  readonly flushAtCommit: boolean
  /** A version that is read back after a missing answer is flushed before it is acknowledged. */
  readonly flushReadBack: boolean
  /** A cleaner flushes the version that it has read of an entity before it deletes rows because of it. */
  readonly flushBeforeDelete: boolean
  /**
   * An upsert that changes nothing because of a greater stamp is answered only when that stamp is on disk.
   */
  readonly flushUnchanged: boolean
  /** The same flush for deletes while pending rows are drained. */
  readonly flushWhileDraining: boolean
  /** A cleaner flushes the version that it has read of an entity before it removes the pending row. */
  readonly flushBeforeNote: boolean
  /** A filling flushes everything that it has read before the index is ready. */
  readonly flushBeforeReady: boolean
  /** A filling by another process than the announcer flushes the announcement before it reads. */
  readonly flushBeforeFilling: boolean
  /**
   * A process repeats its read after the flush. If the server crashed between read and flush, the flush
   * covers only the state after the crash.
   */
  readonly lookAgain: boolean
}

export const allDurableGuards: DurableGuards = {
  flushAtCommit: true,
  flushReadBack: true,
  flushBeforeDelete: true,
  flushUnchanged: true,
  flushWhileDraining: true,
  flushBeforeNote: true,
  flushBeforeReady: true,
  flushBeforeFilling: true,
  lookAgain: true,
}

type DurableStep = Step<DurableWorld, Memory>
export type DurableProcess = readonly DurableStep[]

export function durableWorld(
  state: Partial<EntityState> & { readonly rows?: readonly string[] },
  change: Partial<DurableWorld> = {},
): DurableWorld {
  const { rows = state.keys ?? [], ...entity } = state
  return {
    entity: newServer({ version: 10, keys: [], note: 0, fenced: true, ...entity }),
    rows: newServer(Object.fromEntries(rows.map((key) => [key, 10]))),
    isReady: true,
    isDown: false,
    acknowledged: 0,
    ...change,
  }
}

export function noMemory(): Memory {
  return {
    base: 0,
    old: [],
    version: 0,
    rows: {},
    deferred: false,
    knowsIndex: false,
    mark: undefined,
    isFlush: false,
  }
}

/**
 * Returns a broken promise: an acknowledged version is gone, or a committed key has neither a row nor a
 * pending row.
 */
export function brokenPromise({ entity, rows, isReady, acknowledged }: DurableWorld): string | undefined {
  const { version, keys, note } = visible(entity)
  if (version < acknowledged) return `version ${acknowledged} was acknowledged and is gone`
  if (!isReady || note > 0) return undefined
  const missing = keys.find((key) => !(key in visible(rows)))
  return missing === undefined ? undefined : `the entity has ${missing}, the index has no row for it`
}

/**
 * A crash that undoes between none and `most` of the commits that are not on disk; `times` crashes in all.
 */
export function crashes(of: 'entity' | 'rows', most: number, times = 1): Event<DurableWorld>[] {
  return Array.from({ length: most + 1 }, (_, lost) => ({
    label: `the server of the ${of} crashes and loses its last ${lost} commits`,
    possible: (world) => world[of].log.length > lost && world[of].life < times,
    happen: (world) => crash(world[of] as Server<unknown>, lost),
  }))
}

export const indexServerDown: Event<DurableWorld> = {
  label: 'the index server goes down',
  possible: ({ isDown }) => !isDown,
  happen: (world) => void (world.isDown = true),
}
export const indexServerBack: Event<DurableWorld> = {
  label: 'the index server is back',
  possible: ({ isDown }) => isDown,
  happen: (world) => void (world.isDown = false),
}

const nextVersion = (base: number, process: number): number => (Math.floor(base / 10) + 1) * 10 + process

const readEntity: DurableStep = {
  label: 'reads the entity',
  run({ entity }, local) {
    const { version, keys } = visible(entity)
    Object.assign(local, { base: version, old: keys, mark: markOf(entity) })
  },
}

const flushEntity: DurableStep = {
  label: 'flushes the server of the entity',
  run({ entity }, { mark }) {
    flushTo(entity, mark?.life === entity.life ? mark : markOf(entity))
  },
}

/**
 * Waits until the state read in the step before is on disk. If the server has crashed in between, the flush
 * covers its new state, and only a second read tells whether that is the state read before. Versions are
 * never reused.
 */
function flushWhatWasRead(guards: DurableGuards, otherwise: StepResult = 'end'): DurableProcess {
  return [
    flushEntity,
    {
      label: 'looks at the entity again',
      run: ({ entity }, local) =>
        guards.lookAgain && visible(entity).version !== local.base ? otherwise : undefined,
    },
  ]
}

/**
 * Sends one statement that upserts rows, and waits for its answer. A process whose connection is lost stops.
 */
function upsertRows(
  what: string,
  rowsOf: (local: Memory, process: number) => Record<string, number>,
  guards: DurableGuards,
  ifDown: 'end' | 'defer' = 'end',
): DurableProcess {
  return [
    {
      label: `upserts ${what}`,
      run({ rows, isDown }, local, process) {
        local.mark = undefined
        const before = visible(rows)
        const upserts = Object.entries(rowsOf(local, process))
        if (upserts.length === 0) return
        if (isDown && ifDown === 'end') return 'end'
        if (isDown) {
          local.deferred = true
          return
        }
        const after = { ...before }
        for (const [key, stamp] of upserts) after[key] = Math.max(after[key] ?? 0, stamp)
        const isChanged = upserts.some(([key]) => after[key] !== before[key])
        if (isChanged) rows.log.push(after)
        if (isChanged ? guards.flushAtCommit : guards.flushUnchanged) local.mark = markOf(rows)
        local.isFlush = !isChanged
      },
    },
    {
      label: `is told that they are there`,
      run({ rows }, { mark, isFlush }) {
        if (mark === undefined) return
        if (mark.life === rows.life) {
          flushTo(rows, mark)
          return
        }
        // On another connection the flush succeeds, but proves nothing about the statement before it.
        if (guards.lookAgain || !isFlush) return 'end'
      },
    },
  ]
}

/** Deletes rows by the third law. A crash may undo the delete, which costs one more read and nothing else. */
function deleteRows(
  label: string,
  rowsOf: (world: DurableWorld, local: Memory) => readonly string[],
  before: (local: Memory) => number,
): DurableStep {
  return {
    label,
    run(world, local) {
      if (world.isDown) return
      const rows = { ...visible(world.rows) }
      const going = rowsOf(world, local).filter((key) => (rows[key] ?? Infinity) < before(local))
      for (const key of going) delete rows[key]
      if (going.length > 0) world.rows.log.push(rows)
    },
  }
}

export interface DurableWriterOptions {
  /** The answer to the commit misses its deadline, so the writer reads the version back. */
  readonly answerLost?: boolean
  readonly defer?: boolean
  /** The writer knows only the catalog from before the index was added, until a commit is refused. */
  readonly isBehind?: boolean
}

/** One attempt to write the entity with these keys. */
export function durableWriter(
  keys: readonly string[],
  guards: DurableGuards,
  { answerLost = false, defer = false, isBehind = false }: DurableWriterOptions = {},
): DurableProcess {
  const gained = (local: Memory, process: number): Record<string, number> => {
    const version = nextVersion(local.base, process)
    if (isBehind && !local.knowsIndex) return {}
    return Object.fromEntries(keys.filter((key) => !local.old.includes(key)).map((key) => [key, version]))
  }
  return [
    readEntity,
    ...upsertRows('the rows it gains', gained, guards, defer ? 'defer' : 'end'),
    {
      label: `commits ${keys.join('+') || 'a delete'}`,
      run({ entity }, local, process) {
        const current = visible(entity)
        if (isBehind && !local.knowsIndex && current.fenced) {
          local.knowsIndex = true
          return { goto: 'reads the entity' }
        }
        if (current.version !== local.base) return 'end'
        local.version = nextVersion(local.base, process)
        const note = local.deferred ? local.version : current.note
        commit(entity, { version: local.version, keys: [...keys], note })
        local.mark = markOf(entity)
      },
    },
    {
      label: answerLost ? 'has waited for too long for the answer' : 'is told of its commit',
      run(world, local) {
        const { entity } = world
        if (answerLost || local.mark?.life !== entity.life) return
        if (guards.flushAtCommit) flushTo(entity, local.mark)
        world.acknowledged = Math.max(world.acknowledged, local.version)
        return { goto: 'deletes the rows it lost' }
      },
    },
    {
      label: 'reads its version back',
      run({ entity }, local) {
        if (visible(entity).version !== local.version) return 'end'
        Object.assign(local, { base: local.version, mark: markOf(entity) })
        if (!guards.flushReadBack) return { goto: 'acknowledges what it has read back' }
      },
    },
    ...flushWhatWasRead(guards),
    {
      label: 'acknowledges what it has read back',
      run(world, local) {
        world.acknowledged = Math.max(world.acknowledged, local.version)
      },
    },
    deleteRows(
      'deletes the rows it lost',
      (_, local) => local.old.filter((key) => !keys.includes(key)),
      ({ version }) => version,
    ),
  ]
}

/** Returns the existing rows that do not belong to the entity. */
const stale = ({ rows, old }: Memory): string[] => Object.keys(rows).filter((key) => !old.includes(key))
const upToWhatWasRead = ({ base }: Memory): number => base + 1

/** Deletes dangling rows; rows with later stamps only after a fence, which is a flushed commit of its own. */
export function durableSweep(guards: DurableGuards): DurableProcess {
  return [
    {
      label: 'scans the index',
      run({ rows }, local) {
        local.rows = visible(rows)
      },
    },
    readEntity,
    {
      label: 'finds rows that dangle',
      run({ entity }, local, process) {
        if (stale(local).length === 0) return 'end'
        const last = Math.max(...stale(local).map((key) => local.rows[key] as number))
        if (last <= local.base) return { goto: 'goes on without a fence' }
        if (visible(entity).version !== local.base) return 'end'
        local.base = nextVersion(last, process)
        commit(entity, { version: local.base })
        local.mark = markOf(entity)
      },
    },
    {
      label: 'is told of its fence',
      run({ entity }, local) {
        if (local.mark?.life !== entity.life) return 'end'
        flushTo(entity, local.mark)
        return { goto: 'deletes rows that dangle' }
      },
    },
    {
      label: 'goes on without a fence',
      run: () => (guards.flushBeforeDelete ? undefined : { goto: 'deletes rows that dangle' }),
    },
    ...flushWhatWasRead(guards),
    deleteRows('deletes rows that dangle', (_, local) => stale(local), upToWhatWasRead),
  ]
}

const rowsOfEntity = ({ old, base }: Memory): Record<string, number> =>
  Object.fromEntries(old.map((key) => [key, base]))

/** Writes the rows that a write deferred, deletes dangling ones, and removes the pending row. */
export function durableDrain(guards: DurableGuards): DurableProcess {
  return [
    {
      label: 'finds the note',
      run: ({ entity, isDown }) => (visible(entity).note === 0 || isDown ? 'blocked' : undefined),
    },
    readEntity,
    ...upsertRows('the rows of the entity', rowsOfEntity, guards),
    {
      label: 'looks for rows that dangle',
      run({ entity, rows }, local) {
        local.rows = visible(rows)
        local.mark = markOf(entity)
        if (stale(local).length === 0) return { goto: 'has only the note to take away' }
        if (!guards.flushWhileDraining) return { goto: 'deletes rows that dangle' }
      },
    },
    ...flushWhatWasRead(guards),
    deleteRows('deletes rows that dangle', (_, local) => stale(local), upToWhatWasRead),
    {
      label: 'has only the note to take away',
      run({ entity }, local) {
        local.mark = markOf(entity)
        if (!guards.flushBeforeNote) return { goto: 'takes the note away' }
      },
    },
    ...flushWhatWasRead(guards),
    {
      label: 'takes the note away',
      run({ entity }, local) {
        const { note } = visible(entity)
        if (note > 0 && note <= local.base) commit(entity, { note: 0 })
      },
    },
  ]
}

/**
 * Announces a new index to every writer. This is a commit on the entity's server; its sender waits for the
 * answer without a deadline.
 */
export const announceIndex: DurableProcess = [
  {
    label: 'has commits refused of who does not know the index',
    run: ({ entity }) => void commit(entity, { fenced: true }),
  },
]

/** Fills an index that another process has announced, and makes it ready. */
export function durableFilling(guards: DurableGuards): DurableProcess {
  return [
    {
      label: 'finds that everybody has to know the index',
      run({ entity }, local) {
        if (!visible(entity).fenced) return 'blocked'
        local.mark = markOf(entity)
        if (!guards.flushBeforeFilling) return { goto: 'reads the entity' }
      },
    },
    flushEntity,
    {
      label: 'looks again whether everybody has to know it',
      run: ({ entity }) => (guards.lookAgain && !visible(entity).fenced ? 'end' : undefined),
    },
    readEntity,
    ...upsertRows('the rows of the entity', rowsOfEntity, guards),
    {
      label: 'has written all rows',
      run({ entity }, local) {
        local.mark = markOf(entity)
        if (!guards.flushBeforeReady) return { goto: 'makes the index ready' }
      },
    },
    ...flushWhatWasRead(guards, { goto: 'reads the entity' }),
    {
      label: 'makes the index ready',
      run(world) {
        world.isReady = true
      },
    },
  ]
}
