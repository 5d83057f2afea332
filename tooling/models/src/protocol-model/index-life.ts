import type { Step } from './explore.ts'

export type State = 'absent' | 'building' | 'ready' | 'retiring' | 'dropped'

/** A generation of an index, with its own table. */
export interface Generation {
  /** Whether its table exists, with rows and their stamps. */
  exists: boolean
  rows: Record<string, number>
  /**
   * True once it was ready on any shard. From then on, some process may take it for ready until it finds no
   * table.
   */
  wasReady: boolean
}

/** States of the generations on one shard. */
export interface ShardStates {
  /** Raised by every change of the catalog. */
  epoch: number
  states: [State, State]
}

/** One entity, and an index that is added, dropped, and added again with another definition. */
export interface IndexWorld {
  version: number
  /** Key of the entity; undefined for a tombstone. */
  key: string | undefined
  /** Catalogs of the leading shard and of the entity's shard, which copies the first. */
  catalogs: [ShardStates, ShardStates]
  generations: [Generation, Generation]
}

/** Shard of the entity. */
const HOME = 1

/** Variables of a process between its statements. */
export interface Knowledge {
  /** Epoch of the entity's shard; 0 until it has answered. */
  epoch: number
  /** Whether any shard that answered has the generation in a written state. */
  isWritten: boolean[]
  base: number
  key: string | undefined
  version: number
  rows: Record<string, number>
  stale: string[]
}

export interface IndexGuards {
  /** A commit is refused if the shard's epoch differs from the writer's. */
  readonly commitFence: boolean
  /** An index is filled only after every writer knows it. */
  readonly knownBeforeFilling: boolean
  /** An index is dropped in this order: queries stop, the table goes, writes stop. */
  readonly tableGoesFirst: boolean
  /** No step builds on a change of the catalog before every shard has the change. */
  readonly changesReachAll: boolean
}

export const allIndexGuards: IndexGuards = {
  commitFence: true,
  knownBeforeFilling: true,
  tableGoesFirst: true,
  changesReachAll: true,
}

type IndexStep = Step<IndexWorld, Knowledge>
export type IndexProcess = readonly IndexStep[]

export function indexWorld(): IndexWorld {
  const table = (exists: boolean): Generation => ({
    exists,
    rows: exists ? { a: 10 } : {},
    wasReady: exists,
  })
  const catalog = (): ShardStates => ({ epoch: 1, states: ['ready', 'absent'] })
  return { version: 10, key: 'a', catalogs: [catalog(), catalog()], generations: [table(true), table(false)] }
}

export function noKnowledge(): Knowledge {
  return { epoch: 0, isWritten: [], base: 0, key: undefined, version: 0, rows: {}, stale: [] }
}

/**
 * Returns a broken promise: a table that some process may still read lacks the row of the committed entity.
 */
export function missingFromTable({ key, generations }: IndexWorld): string | undefined {
  for (const [number, { exists, wasReady, rows }] of generations.entries()) {
    if (exists && wasReady && key !== undefined && !(rowOf(key, number) in rows))
      return `the entity has ${key}, generation ${number + 1} has no row for it`
  }
  return undefined
}

/** Another definition has other rows. */
const rowOf = (key: string, generation: number): string => (generation === 0 ? key : `${key}, differently`)

const nextVersion = (base: number, process: number): number => (Math.floor(base / 10) + 1) * 10 + process

function upsert({ generations }: IndexWorld, number: number, row: string, version: number): void {
  const { exists, rows } = generations[number] as Generation
  // Without a table the statement fails, and the writer proceeds to its commit with the catalog that it has.
  if (exists) rows[row] = Math.max(rows[row] ?? 0, version)
}

const isWritten = (state: State): boolean => ['building', 'ready', 'retiring'].includes(state)

/** Reads the catalogs of all shards except a silent one. */
const readCatalog = (label: string, silent?: number): IndexStep => ({
  label,
  run({ catalogs }, local) {
    const heard = catalogs.filter((_, shard) => shard !== silent)
    local.epoch = silent === HOME ? 0 : catalogs[HOME].epoch
    local.isWritten = [0, 1].map((number) => heard.some(({ states }) => isWritten(states[number] as State)))
  },
})

const readEntity: IndexStep = {
  label: 'reads the entity',
  run({ version, key }, local) {
    Object.assign(local, { base: version, key, version: 0 })
  },
}

/**
 * One attempt to write the entity. Index statements do not check the epoch; only the commit does. The process
 * began while the `silent` shard, if any, did not answer, and reads that shard again only after its commit
 * was refused.
 */
export function indexWriter(key: string | undefined, guards: IndexGuards, silent?: number): IndexProcess {
  const upserts = [0, 1].map((number): IndexStep => ({
    label: `upserts its row in generation ${number + 1}`,
    run(world, local, process) {
      if (key === undefined || key === local.key || !local.isWritten[number]) return
      upsert(world, number, rowOf(key, number), nextVersion(local.base, process))
    },
  }))
  const commit: IndexStep = {
    label: `commits ${key ?? 'a delete'}`,
    run(world, local, process) {
      if (guards.commitFence && world.catalogs[HOME].epoch !== local.epoch)
        return { goto: 'reads the catalog again' }
      if (world.version !== local.base) return 'end'
      local.version = nextVersion(local.base, process)
      Object.assign(world, { version: local.version, key })
    },
  }
  const removals = [0, 1].map((number): IndexStep => ({
    label: `deletes the row it lost in generation ${number + 1}`,
    run({ generations }, local) {
      if (local.key === undefined || local.key === key || !local.isWritten[number]) return
      const { rows } = generations[number] as Generation
      const row = rowOf(local.key, number)
      if ((rows[row] ?? Infinity) < local.version) delete rows[row]
    },
  }))
  const again = readCatalog('reads the catalog again')
  if (silent === undefined) return [again, readEntity, ...upserts, commit, ...removals]
  const first = readCatalog(`reads the catalog without shard ${silent}`, silent)
  const goOn: IndexStep = { label: 'knows enough', run: () => ({ goto: readEntity.label }) }
  return [first, goOn, again, readEntity, ...upserts, commit, ...removals]
}

/** A cleaner with a stale catalog. Its statements that add and delete rows do not check the epoch either. */
export function cleanerOf(number: number): IndexProcess {
  return [
    {
      label: 'scans the table',
      run({ generations }, local) {
        const { exists, rows } = generations[number] as Generation
        if (!exists) return 'blocked'
        local.rows = rows
      },
    },
    readEntity,
    {
      label: 'adds the row that is missing',
      run(world, local) {
        if (local.key !== undefined) upsert(world, number, rowOf(local.key, number), local.base)
      },
    },
    {
      label: 'deletes rows that dangle',
      run({ generations }, local) {
        const own = local.key === undefined ? undefined : rowOf(local.key, number)
        const { rows } = generations[number] as Generation
        for (const row of Object.keys(local.rows)) {
          if (row !== own && (rows[row] ?? Infinity) <= local.base) delete rows[row]
        }
      },
    },
  ]
}

/**
 * Drops the first generation, then adds one with another definition and fills it; or in the reverse order.
 */
export function administrator(guards: IndexGuards, order: 'drop, add' | 'add, drop'): IndexProcess {
  const change = (number: number, state: State): IndexStep[] => [
    {
      label: `makes generation ${number + 1} ${state}`,
      run({ catalogs: [leading], generations }) {
        leading.states[number] = state
        leading.epoch++
        ;(generations[number] as Generation).wasReady ||= state === 'ready'
      },
    },
    ...(guards.changesReachAll ? [copy] : []),
  ]
  const copy: IndexStep = {
    label: 'copies the catalog',
    run({ catalogs }) {
      catalogs[1] = { epoch: catalogs[0].epoch, states: [...catalogs[0].states] }
    },
  }
  const table = (number: number, exists: boolean): IndexStep => ({
    label: `${exists ? 'creates' : 'drops'} the table of generation ${number + 1}`,
    run({ generations }) {
      Object.assign(generations[number] as Generation, { exists, rows: {} })
    },
  })
  const fill: IndexStep = {
    label: 'writes the row of the entity',
    run(world, local) {
      if (local.key !== undefined) upsert(world, 1, rowOf(local.key, 1), local.base)
    },
  }
  const drop = guards.tableGoesFirst
    ? [...change(0, 'retiring'), table(0, false), ...change(0, 'dropped')]
    : [...change(0, 'retiring'), ...change(0, 'dropped'), table(0, false)]
  const add = guards.knownBeforeFilling
    ? [table(1, true), ...change(1, 'building'), readEntity, fill, ...change(1, 'ready')]
    : [table(1, true), readEntity, fill, ...change(1, 'building'), ...change(1, 'ready')]
  return [...(order === 'drop, add' ? [...drop, ...add] : [...add, ...drop]), copy]
}
