import type { Event, Step } from './explore.ts'

/**
 * One shard: two entities, the floor in the catalog's row, and a reader of changes. Times are small integers,
 * so statements often share a tick.
 */
export interface FloorWorld {
  /** Clock of the server. It may step back. */
  clock: number
  floor: number
  /** Greatest floor so far. */
  greatest: number
  rows: Record<Entity, Row>
  /** Statements that hold a share lock on the catalog's row. */
  sharing: number[]
  /** Statements that hold a lock on an entity's row. */
  holding: Partial<Record<Entity, number>>
  /** Number of writes that are still to come. */
  writes: number
  /** Stored cursor of the reader: every change before it was handled. */
  cursor: number
  /** Version of each entity that was handled last: ever, and since the reader's last crash. */
  handled: Record<Entity, number>
  handledInRun: Partial<Record<Entity, number>>
  /** Number of crashes of the reader. */
  crashes: number
  wrong: string | undefined
}

export type Entity = 'a' | 'b'

export interface Row {
  readonly version: number
  readonly updated: number
}

/** Variables of a process between its statements. */
export interface FloorMemory {
  /** Clock at the beginning of the statement. */
  now: number
  floor: number
  row: Row
  /** For a reader: number of crashes when it began. */
  crashes: number
  /** Window that is read. */
  from: number
  upTo: number
  /** End of the last page, as a key and as a number of rows. */
  after: readonly [updated: number, entity: string]
  read: number
  page: (Row & { readonly entity: Entity }) | undefined
  /** Rows of an earlier snapshot. */
  snapshot: Record<Entity, Row> | undefined
}

export interface FloorGuards {
  /** A write's time is never before the floor, whatever the clock shows. */
  readonly writesNotBefore: boolean
  /** The statement that writes also reads the floor, instead of a statement before it. */
  readonly readsWithin: boolean
  /** The floor is read with a share lock. */
  readonly readsLocked: boolean
  /** The share lock lasts until the commit is visible. */
  readonly holdsUntilVisible: boolean
  /** A raise waits for the locks of writes in flight. */
  readonly raiseWaits: boolean
  /** A raise never lowers the floor. */
  readonly raiseOnlyRaises: boolean
  /** A reader reads up to the floor instead of the current time. */
  readonly readsUpToFloor: boolean
  /** The floor is read before the rows. */
  readonly floorBeforeRows: boolean
  /** A row at the floor belongs to the next window. */
  readonly excludesFloor: boolean
  /** The next page starts after the key of the last row, not at a number of rows. */
  readonly pagesByKey: boolean
  /** The cursor is stored only after every change before it was handled. */
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

/** Returns a world with both entities at time 0, not handled yet. */
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
 * Returns a broken promise: a write with a time before a raised floor, or a stored cursor past an entity
 * whose state was not handled. A version that was replaced before its page was read is never handled; its
 * successor is at the floor or above.
 */
export function behindTheFloor({ wrong, rows, cursor, handled }: FloorWorld): string | undefined {
  if (wrong !== undefined) return wrong
  const missed = ENTITIES.find(
    (entity) => rows[entity].updated < cursor && handled[entity] < rows[entity].version,
  )
  return missed && `${missed}, version ${rows[missed].version}, of ${rows[missed].updated} was passed over`
}

/** Checks at rest that the last state of every entity was handled. */
export function notHandled({ rows, handled }: FloorWorld): string | undefined {
  const unhandled = ENTITIES.find((entity) => handled[entity] !== rows[entity].version)
  return unhandled && `the last version of ${unhandled} is not handled`
}

/** Sets the clock to these times in order; a time may be less than the one before. */
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
  /** Raises only after all writes. */
  readonly whenQuiet?: boolean
  /** Raises past the last row, regardless of the clock. */
  readonly pastLast?: boolean
}

/**
 * Raises the floor once, as any process may at any time. A failed raise, or a missing answer, needs no step
 * of its own, because no process relies on it.
 */
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

/** Reads window by window, with pages of one row, as long as the floor is raised. */
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
