import type { Step } from './explore.ts'

/**
 * One entity, one index whose places are read one after the other, and queries. The query matches the keys
 * `a` and `b`, each at a place of its own; it does not match `x`.
 */
export interface MovingWorld {
  version: number
  /** Empty for a deleted entity, or one without the property. */
  keys: string[]
  /** Stamps of the index rows, by key. */
  rows: Record<string, number>
  /** Ticks now and then. A query call that spans a tick has taken too long. */
  clock: number
  /** Version of the pending row; 0 for none. */
  note: number
  /** Queries in flight for which the entity has matched all the time. */
  matching: number[]
  /** A query that lacked the entity although it matched all the time, and reported itself complete. */
  missed: number | undefined
}

/** Variables of a process between its statements. */
export interface Recollection {
  base: number
  old: string[]
  version: number
  /** Clock at the commit, at the read, or at the beginning of a query. */
  since: number
  rows: Record<string, number>
  /** For a query: the entity as read when a row first led to it. */
  found: string[] | undefined
  isGiven: boolean
  isIncomplete: boolean
}

export interface MovingGuards {
  /** A writer deletes lost rows only after every query that began before its commit has ended. */
  readonly writersKeep: boolean
  /**
   * A cleaner deletes dangling rows only after every query that began before the commit that it read has
   * ended.
   */
  readonly cleanersKeep: boolean
  /**
   * It counts this time from after its read, because a commit may come between the moment before and the
   * read.
   */
  readonly countsFromAfterReading: boolean
  /** It starts counting again if it finds another version. */
  readonly countsPerVersion: boolean
  /** It keeps fenced-off rows for this time too. */
  readonly keepsFencedOff: boolean
  /**
   * Rows go at once only if the entity has no row at all. That it has none at the row's place is not enough.
   */
  readonly atOnceWithoutAnyRow: boolean
  /** Law 3: no row is deleted whose stamp is later than the known version. */
  readonly deletesOlder: boolean
  /** A query that took too long reports itself incomplete. */
  readonly queriesAreBounded: boolean
  /**
   * If a query passes over an entity because its own row is still to come, the query returns it at that place
   * even if the row does not come.
   */
  readonly givesWhatItPassedOver: boolean
}

export const allMovingGuards: MovingGuards = {
  writersKeep: true,
  cleanersKeep: true,
  countsFromAfterReading: true,
  countsPerVersion: true,
  keepsFencedOff: true,
  atOnceWithoutAnyRow: true,
  deletesOlder: true,
  queriesAreBounded: true,
  givesWhatItPassedOver: true,
}

type MovingStep = Step<MovingWorld, Recollection>
export type MovingProcess = readonly MovingStep[]

export function movingWorld(keys: readonly string[], change: Partial<MovingWorld> = {}): MovingWorld {
  return {
    version: 10,
    keys: [...keys],
    rows: Object.fromEntries(keys.map((key) => [key, 10])),
    clock: 0,
    note: 0,
    matching: [],
    missed: undefined,
    ...change,
  }
}

export function noRecollection(): Recollection {
  return {
    base: 0,
    old: [],
    version: 0,
    since: 0,
    rows: {},
    found: undefined,
    isGiven: false,
    isIncomplete: false,
  }
}

/** Returns a broken promise: a committed entity lacks a row, or a complete query lacks an entity. */
export function missedOrMissing({ missed, keys, rows, note }: MovingWorld): string | undefined {
  if (missed !== undefined) return `P${missed} has missed the entity, which matched all the time`
  const missing = keys.find((key) => !(key in rows))
  return missing === undefined || note > 0
    ? undefined
    : `the entity has ${missing}, the index has no row for it`
}

const isAsked = (key: string): boolean => key < 'x'
const nextVersion = (base: number, process: number): number => (Math.floor(base / 10) + 1) * 10 + process

function commitKeys(world: MovingWorld, version: number, keys: readonly string[]): void {
  Object.assign(world, { version, keys: [...keys] })
  if (!keys.some(isAsked)) world.matching = []
}

export function clock(ticks: number): MovingProcess {
  return Array.from({ length: ticks }, () => ({
    label: 'time goes by',
    run: (world) => void world.clock++,
  }))
}

/** Tells whether every query in flight at this time has ended or has taken too long. */
const isOver = (world: MovingWorld, since: number): boolean => world.clock > since

/** A query reads two places, one after the other. */
const placeOf = (key: string): number => (key === 'b' ? 1 : 0)

/**
 * Tells whether lost rows of an entity with these keys may go at once. If it has no rows, no query that meets
 * this version must return it, and the rows of later versions have later stamps.
 */
function mayGoAtOnce(keys: readonly string[], going: readonly string[], guards: MovingGuards): boolean {
  if (guards.atOnceWithoutAnyRow) return keys.length === 0
  return going.every((key) => !keys.some((other) => placeOf(other) === placeOf(key)))
}

function deleteRows(
  { rows }: MovingWorld,
  keys: readonly string[],
  before: number,
  guards: MovingGuards,
): void {
  for (const key of keys) {
    if (!guards.deletesOlder || (rows[key] ?? Infinity) < before) delete rows[key]
  }
}

export interface MovingWriterOptions {
  /** Key whose row is deferred to the cleaner, with a pending row beside the entity. */
  readonly defers?: string
}

/** One attempt to write the entity with these keys. */
export function movingWriter(
  keys: readonly string[],
  guards: MovingGuards,
  { defers }: MovingWriterOptions = {},
): MovingProcess {
  const lost = ({ old }: Recollection): string[] => old.filter((key) => !keys.includes(key))
  return [
    {
      label: 'reads the entity',
      run(world, local) {
        Object.assign(local, { base: world.version, old: world.keys })
      },
    },
    {
      label: 'upserts the rows it gains',
      run({ rows }, { base, old }, process) {
        for (const key of keys) {
          if (old.includes(key) || key === defers) continue
          rows[key] = Math.max(rows[key] ?? 0, nextVersion(base, process))
        }
      },
    },
    {
      label: `commits ${keys.join('+') || 'a delete'}`,
      run(world, local, process) {
        if (world.version !== local.base) return 'end'
        local.version = nextVersion(local.base, process)
        commitKeys(world, local.version, keys)
        if (defers !== undefined) world.note = local.version
        // The writer hears of its commit later and counts from then on; this is the worst case.
        local.since = world.clock
      },
    },
    {
      label: 'deletes the rows it lost',
      run(world, local) {
        const waits = guards.writersKeep && !mayGoAtOnce(keys, lost(local), guards)
        if (waits && !isOver(world, local.since)) return 'blocked'
        deleteRows(world, lost(local), local.version, guards)
      },
    },
  ]
}

const stale = ({ rows, old }: Recollection): string[] => Object.keys(rows).filter((key) => !old.includes(key))

function readForCleaning(guards: MovingGuards): MovingProcess {
  const lookAtClock: MovingStep = {
    label: 'looks at the clock',
    run(world, local) {
      local.since = world.clock
    },
  }
  const read: MovingStep = {
    label: 'reads the entity',
    run(world, local) {
      Object.assign(local, { base: world.version, old: world.keys })
      if (guards.countsFromAfterReading) local.since = world.clock
    },
  }
  return guards.countsFromAfterReading ? [read] : [lookAtClock, read]
}

/** Waits as long as lost rows are kept. */
const keep = (guards: MovingGuards): MovingStep => ({
  label: 'keeps rows that dangle',
  run(world, local) {
    const going = stale(local)
    if (going.length === 0) return 'end'
    const kept = going.filter((key) => guards.keepsFencedOff || (local.rows[key] as number) <= local.base)
    const waits = guards.cleanersKeep && kept.length > 0 && !mayGoAtOnce(local.old, kept, guards)
    return waits && !isOver(world, local.since) ? 'blocked' : undefined
  },
})

const remove = (label: string, guards: MovingGuards, upTo: (local: Recollection) => number): MovingStep => ({
  label,
  run: (world, local) => void deleteRows(world, stale(local), upTo(local) + 1, guards),
})

/**
 * Deletes dangling rows; rows with later stamps after fencing off their writers. It may read the entity again
 * after waiting.
 */
export function movingSweep(
  guards: MovingGuards,
  { looksAgain = false }: { readonly looksAgain?: boolean } = {},
): MovingProcess {
  const lookAgain: MovingStep = {
    label: 'looks at the entity again',
    run({ version, keys }, local) {
      if (version === local.base) return
      if (guards.countsPerVersion) return { goto: 'reads the entity' }
      Object.assign(local, { base: version, old: keys })
    },
  }
  return [
    {
      label: 'scans the index',
      run({ rows }, local) {
        local.rows = rows
      },
    },
    ...readForCleaning(guards),
    keep(guards),
    ...(looksAgain ? [lookAgain] : []),
    remove('deletes rows that dangle', guards, ({ base }) => base),
    {
      label: 'raises the version past later rows',
      run(world, local, process) {
        const stamps = stale(local).map((key) => local.rows[key] as number)
        const last = Math.max(0, ...stamps)
        if (last <= local.base || world.version !== local.base) return 'end'
        local.version = nextVersion(last, process)
        world.version = local.version
      },
    },
    remove('deletes the rows that it fenced off', guards, ({ version }) => version),
  ]
}

/** Writes the rows that a write deferred, deletes dangling ones, and removes the pending row. */
export function movingDrain(guards: MovingGuards): MovingProcess {
  return [
    {
      label: 'finds the note',
      run: ({ note }) => (note === 0 ? 'blocked' : undefined),
    },
    ...readForCleaning(guards),
    {
      label: 'writes the rows of the entity',
      run({ rows }, local) {
        for (const key of local.old) rows[key] = Math.max(rows[key] ?? 0, local.base)
        local.rows = rows
      },
    },
    {
      label: 'takes the note away',
      run(world, { base }) {
        if (world.note <= base) world.note = 0
      },
    },
    keep(guards),
    remove('deletes rows that dangle', guards, ({ base }) => base),
  ]
}

/**
 * One call of a query that reads the places of `a` and `b` in this order. With `fetches: 'one by one'` it
 * reads and remembers the entity as soon as a row leads to it; with 'all first', after it has read both
 * places. It passes over a row whose key the entity does not have if the place of the entity's key is still
 * to come.
 */
export function movingQuery(
  order: readonly string[],
  fetches: 'one by one' | 'all first',
  guards: MovingGuards,
  { looksForNotes = false }: { readonly looksForNotes?: boolean } = {},
): MovingProcess {
  const seen = ({ rows }: Recollection, key: string): boolean => key in rows
  /** Judges the row of the last place read, of `read` places so far. */
  function judge(local: Recollection, met: string, read: number): void {
    const stands = order.findIndex((key) => local.found?.includes(key))
    if (stands === -1) return
    const isStillToCome =
      stands > order.indexOf(met) && (stands >= read || seen(local, order[stands] as string))
    if (!isStillToCome) local.isGiven = true
  }
  const scan = (key: string): MovingStep => ({
    label: `scans the place of ${key}`,
    run({ rows }, local) {
      if (key in rows) local.rows = { ...local.rows, [key]: rows[key] as number }
    },
  })
  function readAndJudge(
    world: MovingWorld,
    local: Recollection,
    keys: readonly string[],
    read: number,
  ): void {
    const rows = keys.filter((key) => seen(local, key))
    if (rows.length > 0) local.found ??= world.keys
    for (const key of rows) judge(local, key, read)
  }
  function end(world: MovingWorld, local: Recollection, process: number): void {
    if (guards.givesWhatItPassedOver && local.found?.some(isAsked)) local.isGiven = true
    if (guards.queriesAreBounded && isOver(world, local.since)) local.isIncomplete = true
    if (world.matching.includes(process) && !local.isGiven && !local.isIncomplete) world.missed = process
  }
  const last = order.length - 1
  const readsBetween: MovingProcess = [
    {
      label: 'reads the entity that the first row leads to',
      run: (world, local) => void readAndJudge(world, local, order.slice(0, 1), 1),
    },
  ]
  return [
    {
      label: 'begins',
      run(world, local, process) {
        local.since = world.clock
        if (world.keys.some(isAsked)) world.matching.push(process)
      },
    },
    ...(looksForNotes ? [lookForNotes] : []),
    scan(order[0] as string),
    ...(fetches === 'one by one' ? readsBetween : []),
    scan(order[last] as string),
    {
      label: 'reads the entity that rows lead to, and ends',
      run(world, local, process) {
        readAndJudge(world, local, fetches === 'one by one' ? order.slice(last) : order, order.length)
        end(world, local, process)
      },
    },
  ]
}

const lookForNotes: MovingStep = {
  label: 'looks for notes',
  run({ note }, local) {
    local.isIncomplete = note > 0
  },
}
