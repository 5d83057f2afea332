import type { Event, Step, StepResult } from './explore.ts'
import { commit, crash, flushTo, markOf, visible, type Mark, type Server, newServer } from './server.ts'

/** What the entity's server holds: the entity, and beside it what is committed with it or on the same disk. */
export interface EntityState {
  version: number
  keys: string[]
  /** The version of the note of deferred index rows; 0 for none. */
  note: number
  /** Whether a commit is taken only from who knows the index. */
  fenced: boolean
}

/** One entity on one server, the rows of one index on another; either may crash. */
export interface DurableWorld {
  entity: Server<EntityState>
  rows: Server<Record<string, number>>
  /** Whether the index may be queried. It stands in catalogs elsewhere, which lose nothing here. */
  isReady: boolean
  /** Whether the index server takes statements. */
  isDown: boolean
  /** The greatest version that a writer was told of. */
  acknowledged: number
}

/** What a process remembers between its statements. */
export interface Memory {
  base: number
  old: string[]
  version: number
  rows: Record<string, number>
  deferred: boolean
  knowsIndex: boolean
  /** What the answer, or the conclusion, waits for. */
  mark: Mark | undefined
  /** Whether that is a flush by itself, of a statement that has changed nothing. */
  isFlush: boolean
}

export interface DurableGuards {
  /** A commit is answered when it is on disk. */
  readonly flushAtCommit: boolean
  /** What was read back after a lost answer is flushed before it is acknowledged. */
  readonly flushReadBack: boolean
  /** What a cleaner has read of an entity is flushed before it deletes because of it. */
  readonly flushBeforeDelete: boolean
  /** An upsert that changes nothing, because a higher stamp is there, is answered when that stamp is on disk. */
  readonly flushUnchanged: boolean
  /** The same where it deletes rows while it drains deferred ones. */
  readonly flushWhileDraining: boolean
  /** What a cleaner has read of an entity is flushed before the note of its deferred rows goes. */
  readonly flushBeforeNote: boolean
  /** What a filling has read is flushed before the index is ready. */
  readonly flushBeforeReady: boolean
  /** That writers have to know the index, which another process has brought about, is flushed before the filling reads. */
  readonly flushBeforeFilling: boolean
  /** What was concluded from is looked at again after the flush: a server that has crashed between flushes what is left. */
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

/** What must never be: an acknowledged version that is gone, or a committed key without a row that nobody has noted. */
export function brokenPromise({ entity, rows, isReady, acknowledged }: DurableWorld): string | undefined {
  const { version, keys, note } = visible(entity)
  if (version < acknowledged) return `version ${acknowledged} was acknowledged and is gone`
  if (!isReady || note > 0) return undefined
  const missing = keys.find((key) => !(key in visible(rows)))
  return missing === undefined ? undefined : `the entity has ${missing}, the index has no row for it`
}

/** A crash that loses none of the commits that are not on disk, or one, or up to `most`; so many `times` in all. */
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
 * Waits until what was read a step before is on disk. The server may have crashed since: then it flushes what it has now,
 * and only another look tells whether that is what was read. No version comes twice.
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

/** One statement that upserts rows, and the answer to it. A process whose connection is lost goes no further. */
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
        // By another connection a flush goes through, and says nothing of what the statement before has met.
        if (guards.lookAgain || !isFlush) return 'end'
      },
    },
  ]
}

/** Deletes rows by the third law. That they are gone may be lost in a crash, which costs a reading and no more. */
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
  /** The answer to the commit passes its deadline: the writer reads the version back. */
  readonly answerLost?: boolean
  readonly defer?: boolean
  /** It knows the catalog of before the index was added until a commit is refused. */
  readonly isBehind?: boolean
}

/** A write of the entity with these keys: one attempt. */
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

/** The rows that are there and not the entity's. */
const stale = ({ rows, old }: Memory): string[] => Object.keys(rows).filter((key) => !old.includes(key))
const upToWhatWasRead = ({ base }: Memory): number => base + 1

/** Deletes rows that dangle; later ones after a fence, which is a flushed commit of its own. */
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

/** Writes the rows that a write deferred, deletes those that dangle, and takes the note away. */
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

/** Makes every writer know a new index. It is a commit on the entity's server; its sender waits for the answer for ever. */
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
