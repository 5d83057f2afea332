import type { Event, Step } from './explore.ts'

/**
 * One shard: two entities, the floor in the catalog's row, and a reader of changes. Times are small integers, so statements
 * often fall into one tick.
 */
export interface FloorWorld {
  /** The server's. It may step back. */
  clock: number
  floor: number
  /** The greatest floor that there ever was. */
  greatest: number
  rows: Record<Entity, Row>
  /** The statements that hold the catalog's row in share mode. */
  sharing: number[]
  /** The statements that hold a row. */
  holding: Partial<Record<Entity, number>>
  /** How many writes are still to come. */
  writes: number
  /** What the reader has stored: all before it is handled. */
  cursor: number
  /** The version of each entity that was handled last, ever and since the last crash of the reader. */
  handled: Record<Entity, number>
  handledInRun: Partial<Record<Entity, number>>
  /** How often the reader has crashed. */
  crashes: number
  wrong: string | undefined
}

export type Entity = 'a' | 'b'

export interface Row {
  readonly version: number
  readonly updated: number
}

/** What a process remembers between its statements. */
export interface FloorMemory {
  /** The clock when the statement began. */
  now: number
  floor: number
  row: Row
  /** A reader: how often it had crashed when it began. */
  crashes: number
  /** The window that is read. */
  from: number
  upTo: number
  /** Where the last page ended, as a key and as a number of rows. */
  after: readonly [updated: number, entity: string]
  read: number
  page: (Row & { readonly entity: Entity }) | undefined
  /** The rows as a snapshot of before has them. */
  snapshot: Record<Entity, Row> | undefined
}

export interface FloorGuards {
  /** A write is never before the floor, whatever the clock said. */
  readonly writesNotBefore: boolean
  /** The floor is read in the statement that writes, and not before it. */
  readonly readsWithin: boolean
  /** It is read with a share lock. */
  readonly readsLocked: boolean
  /** That lock is held until the commit is visible. */
  readonly holdsUntilVisible: boolean
  /** A raise waits for the locks of writes in flight. */
  readonly raiseWaits: boolean
  /** A raise never lowers the floor. */
  readonly raiseOnlyRaises: boolean
  /** A reader reads up to the floor, and not up to the time. */
  readonly readsUpToFloor: boolean
  /** The rows are read after the floor. */
  readonly floorBeforeRows: boolean
  /** What is at the floor belongs to the next window. */
  readonly excludesFloor: boolean
  /** The next page is found by the key of the last row, and not by the number of rows read. */
  readonly pagesByKey: boolean
  /** The cursor is stored when all before it is handled. */
  readonly handlesFirst: boolean
}

export const allFloorGuards: FloorGuards = {
  writesNotBefore: true,
  readsWithin: true,
  readsLocked: true,
  holdsUntilVisible: true,
  raiseWaits: true,
  raiseOnlyRaises: true,
  readsUpToFloor: true,
  floorBeforeRows: true,
  excludesFloor: true,
  pagesByKey: true,
  handlesFirst: true,
}

type FloorStep = Step<FloorWorld, FloorMemory>
export type FloorProcess = readonly FloorStep[]

const ENTITIES: readonly Entity[] = ['a', 'b']

/** Both entities are there, of time 0, and not handled yet. */
export function floorWorld(writes: number): FloorWorld {
  const row: Row = { version: 1, updated: 0 }
  return {
    clock: 1,
    floor: 0,
    greatest: 0,
    rows: { a: row, b: row },
    sharing: [],
    holding: {},
    writes,
    cursor: 0,
    handled: { a: 0, b: 0 },
    handledInRun: {},
    crashes: 0,
    wrong: undefined,
  }
}

export function noFloorMemory(): FloorMemory {
  return {
    now: 0,
    floor: 0,
    row: { version: 0, updated: 0 },
    crashes: 0,
    from: 0,
    upTo: 0,
    after: [0, ''],
    read: 0,
    page: undefined,
    snapshot: undefined,
  }
}

/**
 * What must never be: a write before a floor that was raised, or a stored cursor with an entity as it is before it and not handled. A
 * version that was replaced before its page was read is never handled: what replaced it is at the floor or above.
 */
export function behindTheFloor({ wrong, rows, cursor, handled }: FloorWorld): string | undefined {
  if (wrong !== undefined) return wrong
  const missed = ENTITIES.find(
    (entity) => rows[entity].updated < cursor && handled[entity] < rows[entity].version,
  )
  return missed && `${missed}, version ${rows[missed].version}, of ${rows[missed].updated} was passed over`
}

/** When nothing is left to do, the last state of every entity was handled. */
export function notHandled({ rows, handled }: FloorWorld): string | undefined {
  const left = ENTITIES.find((entity) => handled[entity] !== rows[entity].version)
  return left && `the last version of ${left} is not handled`
}

/** The time is this and then that; what comes next may be less. */
export function clockShows(times: readonly number[]): FloorProcess {
  return times.map((time) => ({
    label: `it is ${time}`,
    run: (world) => void (world.clock = time),
  }))
}

/** One statement that writes an entity. */
export function floorWriter(entity: Entity, guards: FloorGuards): FloorProcess {
  const release = (world: FloorWorld, process: number): void => {
    world.sharing = world.sharing.filter((other) => other !== process)
  }
  const readEarlier: FloorStep = {
    label: 'reads the floor in a statement of its own',
    run: ({ floor }, local) => void (local.floor = floor),
  }
  const releaseEarlier: FloorStep = {
    label: 'lets go of the catalog',
    run: (world, _, process) => void release(world, process),
  }
  return [
    ...(guards.readsWithin ? [] : [readEarlier]),
    { label: 'begins to write', run: ({ clock }, local) => void (local.now = clock) },
    {
      label: 'shares the catalog and reads the floor',
      run(world, local, process) {
        if (guards.readsLocked) world.sharing = [...world.sharing, process].toSorted()
        if (guards.readsWithin) local.floor = world.floor
      },
    },
    {
      label: `writes ${entity}`,
      run(world, local, process) {
        if (world.holding[entity] !== undefined) return 'blocked'
        world.holding[entity] = process
        const updated = guards.writesNotBefore ? Math.max(local.now, local.floor) : local.now
        local.row = { version: world.rows[entity].version + 1, updated }
        return undefined
      },
    },
    ...(guards.holdsUntilVisible ? [] : [releaseEarlier]),
    {
      label: 'commits',
      run(world, { row }, process) {
        world.rows[entity] = row
        if (row.updated < world.greatest)
          world.wrong = `${entity} of ${row.updated} comes before the floor ${world.greatest}`
        delete world.holding[entity]
        world.writes--
        release(world, process)
      },
    },
  ]
}

export interface RaiseOptions {
  /** Only when all is written. */
  readonly whenQuiet?: boolean
  /** Past the last row that is there, so that the clock does not matter. */
  readonly pastLast?: boolean
}

/** Raises the floor once: anybody, at any time. That it fails, or that nobody hears of it, needs no step: nobody relies on it. */
export function raiser(
  guards: FloorGuards,
  { whenQuiet = false, pastLast = false }: RaiseOptions = {},
): FloorProcess {
  return [
    {
      label: 'begins to raise',
      run(world, local) {
        if (whenQuiet && world.writes > 0) return 'blocked'
        const last = Math.max(...ENTITIES.map((entity) => world.rows[entity].updated))
        local.now = pastLast ? Math.max(world.clock, last + 1) : world.clock
        return undefined
      },
    },
    {
      label: 'raises the floor',
      run(world, { now }) {
        if (guards.raiseWaits && world.sharing.length > 0) return 'blocked'
        world.floor = guards.raiseOnlyRaises ? Math.max(world.floor, now) : now
        world.greatest = Math.max(world.greatest, world.floor)
        return undefined
      },
    },
  ]
}

export const readerCrashes: Event<FloorWorld> = {
  label: 'the reader crashes',
  possible: () => true,
  happen(world) {
    world.crashes++
    world.handledInRun = {}
  },
}

/** Reads window by window, a row a page, for as long as the floor is raised. */
export function reader(guards: FloorGuards): FloorProcess {
  const first = guards.floorBeforeRows ? 'reads the floor' : 'opens a snapshot'
  const storeCursor: FloorStep = {
    label: 'stores the cursor',
    run: (world, { upTo }) => void (world.cursor = upTo),
  }
  const openSnapshot: FloorStep = {
    label: 'opens a snapshot',
    run: ({ rows }, local) => void (local.snapshot = rows),
  }
  const steps: FloorProcess = [
    ...(guards.floorBeforeRows ? [] : [openSnapshot]),
    {
      label: 'reads the floor',
      run(world, local) {
        const upTo = guards.readsUpToFloor ? world.floor : world.clock
        if (upTo <= world.cursor) return guards.floorBeforeRows ? 'blocked' : 'end'
        Object.assign(local, { from: world.cursor, upTo, after: [-1, ''], read: 0 })
        return undefined
      },
    },
    ...(guards.handlesFirst ? [] : [storeCursor]),
    {
      label: 'reads a page',
      run(world, local) {
        local.page = nextRow(local.snapshot ?? world.rows, local, guards)
        return local.page === undefined ? { goto: 'ends the window' } : undefined
      },
    },
    {
      label: 'handles it',
      run(world, local) {
        const { entity, version, updated } = local.page as Row & { readonly entity: Entity }
        if (version < (world.handledInRun[entity] ?? 0))
          world.wrong = `${entity} went back to version ${version}`
        world.handledInRun[entity] = version
        world.handled[entity] = Math.max(world.handled[entity], version)
        Object.assign(local, { after: [updated, entity], read: local.read + 1, page: undefined })
        return { goto: 'reads a page' }
      },
    },
    {
      label: 'ends the window',
      run(world, local) {
        if (guards.handlesFirst) world.cursor = local.upTo
        Object.assign(local, { ...noFloorMemory(), crashes: local.crashes })
        return { goto: first }
      },
    },
  ]
  return steps.map((step) => ({
    label: step.label,
    run(world, local, process) {
      if (local.crashes === world.crashes) return step.run(world, local, process)
      Object.assign(local, { ...noFloorMemory(), crashes: world.crashes })
      return { goto: first }
    },
  }))
}

function nextRow(
  rows: Record<Entity, Row>,
  { from, upTo, after: [time, last], read }: FloorMemory,
  { excludesFloor, pagesByKey }: FloorGuards,
): FloorMemory['page'] {
  const window = ENTITIES.map((entity) => ({ entity, ...rows[entity] }))
    .filter(({ updated }) =>
      excludesFloor ? from <= updated && updated < upTo : from < updated && updated <= upTo,
    )
    .toSorted((one, other) => one.updated - other.updated)
  if (!pagesByKey) return window[read]
  return window.find(({ updated, entity }) => updated > time || (updated === time && entity > last))
}
