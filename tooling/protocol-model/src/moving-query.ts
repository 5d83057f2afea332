import type { Step } from './explore.ts'

/**
 * One entity, one index that is read place by place, and queries. Keys `a` and `b` are within what is asked for, each at a
 * place of its own; `x` is not.
 */
export interface MovingWorld {
  version: number
  /** None for a deleted entity, or one without the property. */
  keys: string[]
  /** The index rows by key, with their stamps. */
  rows: Record<string, number>
  /** Goes on now and then. A query call that has begun at one and goes on at the next has taken too long. */
  clock: number
  /** The version of the note of deferred index rows; 0 for none. */
  note: number
  /** The queries under way for which the entity has matched all the time. */
  matching: number[]
  /** A query that has not given what matched all the time, and said that it was complete. */
  missed: number | undefined
}

/** What a process remembers between its statements. */
export interface Recollection {
  base: number
  old: string[]
  version: number
  /** The clock at the commit, at the reading, or at the beginning of a query. */
  since: number
  rows: Record<string, number>
  /** A query: the entity as it was read, when a row first led to it. */
  found: string[] | undefined
  isGiven: boolean
  isIncomplete: boolean
}

export interface MovingGuards {
  /** A writer deletes the rows it lost when no query that began before its commit is under way. */
  readonly writersKeep: boolean
  /** A cleaner deletes rows that dangle when no query that began before the commit it read is under way. */
  readonly cleanersKeep: boolean
  /** It counts from after the reading: a commit may come between the moment before and the reading. */
  readonly countsFromAfterReading: boolean
  /** Another version than the one it counts for makes it count anew. */
  readonly countsPerVersion: boolean
  /** Rows that it has fenced off are kept as well. */
  readonly keepsFencedOff: boolean
  /** Rows go at once only where the entity has no row at all: none at the place of the row is not enough. */
  readonly atOnceWithoutAnyRow: boolean
  /** Law 3: what goes is not later than what is known. */
  readonly deletesOlder: boolean
  /** A query that took too long says that it is not complete. */
  readonly queriesAreBounded: boolean
  /** What a query passes over, since its own row is still to come, is given there though the row does not come. */
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

/** What must never be: a row that a committed entity lacks, or an entity that a complete query lacks. */
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

/** No query that was under way at this time can be any more, or it has taken too long. */
const isOver = (world: MovingWorld, since: number): boolean => world.clock > since

/** Keys stand at two places, which a query reads one after the other. */
const placeOf = (key: string): number => (key === 'b' ? 1 : 0)

/**
 * Whether rows may go at once that an entity with these keys does not have: where it has none, no query that meets this
 * version has to give it, and the rows of every later version have later stamps.
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
  /** The row of this key is left to the cleaner, with a note beside the entity. */
  readonly defers?: string
}

/** A write of the entity with these keys: one attempt. */
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
        // It is told later, and counts from then on; this is the worst case.
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

/** Waits for as long as rows are kept that an entity has lost. */
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
 * Deletes rows that dangle; those of a later stamp after it has fenced off their writers. It may look at the entity again
 * when it has kept them for long enough.
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

/** Writes the rows that a write deferred, deletes those that dangle, and takes the note away. */
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
 * One call of a query that reads the places of `a` and `b` in this order. With `fetches: 'one by one'` it reads the entity as
 * soon as a row leads to it, and remembers what it was; with 'all first' when it has read both places. A row at whose place
 * the entity does not stand (any more) is passed over when that place is still to come.
 */
export function movingQuery(
  order: readonly string[],
  fetches: 'one by one' | 'all first',
  guards: MovingGuards,
  { looksForNotes = false }: { readonly looksForNotes?: boolean } = {},
): MovingProcess {
  const seen = ({ rows }: Recollection, key: string): boolean => key in rows
  /** Judges the row of the place that was read last, of so many. */
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
