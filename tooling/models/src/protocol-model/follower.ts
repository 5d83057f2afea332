import type { Event, Step } from './explore.ts'

/**
 * One shard that shows commits before they are on disk, and a follower of its changes. The log of commits is
 * written to disk in order; a crash keeps the written part. A raise of the floor passes every existing row,
 * so the floor serves as the clock.
 */
export interface FollowerWorld {
  readonly log: readonly LoggedCommit[]
  /** Number of commits on disk. */
  readonly flushed: number
  /** Number of restarts of the server. */
  readonly restarts: number
  /** Greatest version of any write so far. */
  readonly versions: number
  /** Cursor of the follower: every change before it was handled. */
  readonly cursor: number
  /** Greatest handled version of each entity. */
  readonly handled: Readonly<Record<Followed, number>>
  readonly wrong: string | undefined
}

export type Followed = 'a' | 'b'

type LoggedCommit =
  | { readonly floor: number }
  | { readonly entity: Followed; readonly version: number; readonly updated: number }

type WrittenRow = Extract<LoggedCommit, { readonly entity: Followed }>

export interface FollowerMemory {
  readonly floor: number
  /** Restarts of the server at the follower's last read. */
  readonly restarts: number
  readonly page: readonly WrittenRow[]
}

export interface FollowerGuards {
  /** A page is read only up to a floor that is on disk. */
  readonly floorOnDisk: boolean
  /** A flushed commit comes between reading a page and moving the cursor past it. */
  readonly flushBehindPage: boolean
  /** The page is read again if the server restarted between the page and that commit. */
  readonly noticesRestart: boolean
}

export const allFollowerGuards: FollowerGuards = {
  floorOnDisk: true,
  flushBehindPage: true,
  noticesRestart: true,
}

type FollowerStep = Step<Mutable<FollowerWorld>, Mutable<FollowerMemory>>
export type FollowerProcess = readonly FollowerStep[]
type Mutable<T> = { -readonly [Name in keyof T]: T[Name] }

const ENTITIES: readonly Followed[] = ['a', 'b']

/** Returns a world in which both entities exist and are on disk. */
export function followerWorld(): Mutable<FollowerWorld> {
  const log = ENTITIES.map((entity) => ({ entity, version: 1, updated: 0 }))
  return {
    log,
    flushed: log.length,
    restarts: 0,
    versions: 1,
    cursor: 0,
    handled: { a: 0, b: 0 },
    wrong: undefined,
  }
}

export const noFollowerMemory = (): Mutable<FollowerMemory> => ({ floor: 0, restarts: 0, page: [] })

/**
 * Returns a broken promise: the cursor passed an entity whose state was not handled, or a state was handled
 * that a crash may undo.
 */
export function passedOver(world: FollowerWorld): string | undefined {
  if (world.wrong !== undefined) return world.wrong
  const missed = rowsOf(world).find(
    ({ entity, version, updated }) => updated < world.cursor && world.handled[entity] < version,
  )
  return missed && `${missed.entity}, version ${missed.version}, of ${missed.updated} was passed over`
}

/** Replaces an entity once, without waiting for the answer. */
export function replaces(entity: Followed): FollowerProcess {
  return [
    {
      label: `replaces ${entity}`,
      run(world) {
        const version = ++world.versions
        world.log = [...world.log, { entity, version, updated: floorOf(world) }]
      },
    },
  ]
}

/** Raises the floor from another process. */
export function raisesFloor(): FollowerProcess {
  return [
    {
      label: 'raises the floor',
      run: (world) => void (world.log = [...world.log, { floor: floorOf(world) + 1 }]),
    },
  ]
}

export const logIsWritten: Event<Mutable<FollowerWorld>> = {
  label: 'the log is written',
  possible: ({ flushed, log }) => flushed < log.length,
  happen: (world) => void (world.flushed = world.log.length),
}

export const serverCrashes: Event<Mutable<FollowerWorld>> = {
  label: 'the server crashes and comes back',
  possible: () => true,
  happen(world) {
    world.log = world.log.slice(0, world.flushed)
    world.restarts++
  },
}

/** Reads a page up to each new floor, then moves the cursor past it. */
export function follower(guards: FollowerGuards): FollowerProcess {
  const flush = (world: Mutable<FollowerWorld>): void => void (world.flushed = world.log.length)
  const flushFloor: FollowerStep = {
    label: 'makes sure of the floor',
    run(world, local) {
      flush(world)
      local.floor = Math.min(local.floor, floorOf(world))
    },
  }
  const flushPage: FollowerStep = {
    label: 'flushes behind the page',
    run(world, local) {
      flush(world)
      if (guards.noticesRestart && local.restarts !== world.restarts) return { goto: 'reads a page' }
      return undefined
    },
  }
  return [
    {
      label: 'reads the floor',
      run(world, local) {
        local.floor = floorOf(world)
        return local.floor <= world.cursor ? 'blocked' : undefined
      },
    },
    ...(guards.floorOnDisk ? [flushFloor] : []),
    {
      label: 'reads a page',
      run(world, local) {
        local.restarts = world.restarts
        local.page = rowsOf(world).filter(({ updated }) => world.cursor <= updated && updated < local.floor)
        return undefined
      },
    },
    ...(guards.flushBehindPage ? [flushPage] : []),
    {
      label: 'handles the page and leaves it',
      run(world, local) {
        for (const row of local.page) {
          if (!isOnDisk(world, row))
            world.wrong = `${row.entity}, version ${row.version}, was handled before it was on disk`
          world.handled = { ...world.handled, [row.entity]: Math.max(world.handled[row.entity], row.version) }
        }
        world.cursor = Math.max(world.cursor, local.floor)
        Object.assign(local, noFollowerMemory())
        return { goto: 'reads the floor' }
      },
    },
  ]
}

function floorOf({ log }: FollowerWorld): number {
  return log.reduce((floor, commit) => ('floor' in commit ? commit.floor : floor), 0)
}

function rowsOf({ log }: FollowerWorld): readonly WrittenRow[] {
  const rows = new Map<Followed, WrittenRow>()
  for (const commit of log) if ('entity' in commit) rows.set(commit.entity, commit)
  return [...rows.values()]
}

const isOnDisk = ({ log, flushed }: FollowerWorld, row: WrittenRow): boolean =>
  log
    .slice(0, flushed)
    .some((commit) => 'entity' in commit && commit.version === row.version && commit.entity === row.entity)
