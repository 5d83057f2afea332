import type { Event, Step, StepResult } from '../explore.ts'

/** One shard: an entity with its index rows, locks, and a second index that may be added. */
export interface ShardWorld {
  version: number
  /** Number of the writer whose body the entity has. */
  body: number
  keys: readonly string[]
  /** Stamps of index rows; those of the second index begin with `K.`. */
  readonly rows: Record<string, number>
  /** Writer that holds the lock of a row, by row; `entity` for the entity. */
  readonly locks: Record<string, number>
  epoch: number
  /** Writers that hold the row of the catalog in share mode. */
  fenced: readonly number[]
  /** Whether the second index must have all rows. */
  isAdded: boolean
  /** Writers that wait for a lock, and the errors that they get. */
  readonly waiting: Record<number, string>
  readonly errors: Record<number, 'deadlock' | 'lock wait'>
}

/** Variables of a writer between its statements. */
export interface TransactionMemory {
  turn: number
  tries: number
  base: number
  old: readonly string[]
  version: number
  epoch: number
  /** Whether a transaction is open; a deadlock ends it. */
  isOpen: boolean
  /** Changes that other transactions do not see yet. */
  upserted: readonly string[]
  deleted: readonly string[]
  won: boolean
}

/** Guards of the statements of a transaction. The tests turn each off to show what breaks. */
export interface TransactionGuards {
  /** After the first error no further statement is executed. */
  readonly firstErrorEnds: boolean
  /** A row goes only where the entity has the version of the attempt. */
  readonly deletesAreForWinners: boolean
  /** Its body is compared too, because two attempts may have one version. */
  readonly winnersHaveTheirBody: boolean
  /** The swap compares the epoch. */
  readonly swapsAreFenced: boolean
  /** The row of the catalog is locked in share mode until COMMIT. */
  readonly fenceIsHeldUntilCommit: boolean
}

export const allTransactionGuards: TransactionGuards = {
  firstErrorEnds: true,
  deletesAreForWinners: true,
  winnersHaveTheirBody: true,
  swapsAreFenced: true,
  fenceIsHeldUntilCommit: true,
}

export type TransactionStep = Step<ShardWorld, TransactionMemory>
export type TransactionProcess = readonly TransactionStep[]

export function shardWorld(): ShardWorld {
  return {
    version: 10,
    body: -1,
    keys: ['a'],
    rows: { a: 10 },
    locks: {},
    epoch: 1,
    fenced: [],
    isAdded: false,
    waiting: {},
    errors: {},
  }
}

export function noTransaction(): TransactionMemory {
  return {
    turn: 0,
    tries: 0,
    base: 0,
    old: [],
    version: 0,
    epoch: 0,
    isOpen: false,
    upserted: [],
    deleted: [],
    won: false,
  }
}

/** Returns a broken promise: the committed entity lacks a row. */
export function lacksRow({ keys, rows, isAdded }: ShardWorld): string | undefined {
  const lacking = keys.flatMap((key) => (isAdded ? [key, `K.${key}`] : [key])).find((row) => !(row in rows))
  return lacking === undefined ? undefined : `the entity lacks the row ${lacking}`
}

export interface TransactionOptions {
  /** Number in its versions, if it is not the number of the process. */
  readonly versionsOf?: number
  /** The second index has its rows on another shard, which are written before the transaction. */
  readonly secondIsFar?: boolean
}

/** Gives the entity these keys, one set after the other, each by one transaction. */
export function transactionWriter(
  states: readonly (readonly string[])[],
  guards: TransactionGuards,
  { versionsOf, secondIsFar = false }: TransactionOptions = {},
): TransactionProcess {
  const rowsOf = (local: TransactionMemory, keys: readonly string[], isLocal: boolean): string[] => {
    const second = local.epoch > 1 && secondIsFar !== isLocal ? keys.map((key) => `K.${key}`) : []
    return isLocal ? [...keys, ...second] : second
  }
  const gained = ({ turn, old }: TransactionMemory): string[] =>
    states[turn]!.filter((key) => !old.includes(key))
  const lost = ({ turn, old }: TransactionMemory): string[] =>
    old.filter((key) => !states[turn]!.includes(key))
  const raise = (rows: Record<string, number>, row: string, stamp: number): void =>
    void (rows[row] = Math.max(rows[row] ?? 0, stamp))
  const drop = (rows: Record<string, number>, row: string, before: number): void => {
    if ((rows[row] ?? Infinity) < before) delete rows[row]
  }

  function free(world: ShardWorld, local: TransactionMemory, process: number): void {
    for (const [row, holder] of Object.entries(world.locks)) if (holder === process) delete world.locks[row]
    world.fenced = world.fenced.filter((holder) => holder !== process)
    Object.assign(local, { isOpen: false, upserted: [], deleted: [] })
  }
  function again(world: ShardWorld, local: TransactionMemory, process: number): StepResult {
    free(world, local, process)
    const { turn, tries } = local
    const next = tries > 0 ? turn + 1 : turn
    Object.assign(local, noTransaction(), { turn: next, tries: tries > 0 ? 0 : 1 })
    return next >= states.length ? 'end' : { goto: 'reads the entity' }
  }
  /** Locks rows, or begins to wait for them. */
  function locks(
    world: ShardWorld,
    local: TransactionMemory,
    process: number,
    rows: readonly string[],
  ): boolean {
    const isHeld = rows.some((row) => row in world.locks && world.locks[row] !== process)
    if (!isHeld && local.isOpen) for (const row of rows) world.locks[row] = process
    return !isHeld
  }
  const waits = (world: ShardWorld, process: number, label: string): StepResult => {
    world.waiting[process] = label
    return { goto: 'waits for a lock' }
  }
  const sees = (world: ShardWorld, local: TransactionMemory, process: number): boolean => {
    if (!guards.deletesAreForWinners) return true
    const version = local.won ? local.version : world.version
    const body = local.won ? process : world.body
    return version === local.version && (body === process || !guards.winnersHaveTheirBody)
  }
  const labels = ['upserts rows', 'swaps', 'deletes rows', 'COMMIT']
  return [
    {
      label: 'reads the entity',
      run({ version: base, keys: old, epoch }, local, process) {
        const version = (Math.floor(base / 10) + 1) * 10 + (versionsOf ?? process) + 1
        Object.assign(local, { base, old, epoch, version })
      },
    },
    {
      label: 'upserts far rows and begins',
      run({ rows }, local) {
        for (const row of rowsOf(local, gained(local), false)) raise(rows, row, local.version)
        local.isOpen = true
      },
    },
    {
      label: 'upserts rows',
      run(world, local, process) {
        const rows = rowsOf(local, gained(local), true)
        if (!locks(world, local, process, rows)) return waits(world, process, 'upserts rows')
        if (local.isOpen) local.upserted = rows
        else for (const row of rows) raise(world.rows, row, local.version)
        return undefined
      },
    },
    {
      label: 'swaps',
      run(world, local, process) {
        if (!locks(world, local, process, ['entity'])) return waits(world, process, 'swaps')
        if (guards.swapsAreFenced && world.epoch !== local.epoch) return again(world, local, process)
        if (guards.fenceIsHeldUntilCommit && local.isOpen) world.fenced = [...world.fenced, process]
        local.won = world.version === local.base
        if (local.won && !local.isOpen)
          Object.assign(world, { version: local.version, body: process, keys: states[local.turn] })
        return undefined
      },
    },
    {
      label: 'deletes rows',
      run(world, local, process) {
        const rows = rowsOf(local, lost(local), true)
        if (!locks(world, local, process, rows)) return waits(world, process, 'deletes rows')
        if (!sees(world, local, process)) return undefined
        if (local.isOpen) local.deleted = rows
        else for (const row of rows) drop(world.rows, row, local.version)
        return undefined
      },
    },
    {
      label: 'COMMIT',
      run(world, local, process) {
        const { won, isOpen, version, upserted, deleted } = local
        if (isOpen) {
          for (const row of upserted) raise(world.rows, row, version)
          for (const row of deleted) drop(world.rows, row, version)
          if (won) Object.assign(world, { version, body: process, keys: states[local.turn] })
        }
        if (won) local.tries = 1
        return again(world, local, process)
      },
    },
    {
      label: 'waits for a lock',
      run(world, local, process) {
        const label = world.waiting[process]!
        const error = world.errors[process]
        if (error === undefined) {
          const needs =
            label === 'swaps' ? ['entity'] : rowsOf(local, [...gained(local), ...lost(local)], true)
          if (needs.every((row) => world.locks[row] === undefined || world.locks[row] === process)) {
            delete world.waiting[process]
            return { goto: label }
          }
          return 'blocked'
        }
        delete world.waiting[process]
        delete world.errors[process]
        // The server has undone the whole transaction after a deadlock, and the statement alone after a lock wait.
        if (guards.firstErrorEnds) return again(world, local, process)
        if (error === 'deadlock') free(world, local, process)
        return { goto: labels[labels.indexOf(label) + 1]! }
      },
    },
  ]
}

/** A writer that waits for a lock gets this error, once. */
export const lockError = (process: number, error: 'deadlock' | 'lock wait'): Event<ShardWorld> => ({
  label: `P${process} gets a ${error}`,
  possible: ({ waiting, errors }) => process in waiting && !(process in errors),
  happen: ({ errors }) => void (errors[process] = error),
})

/** Adds the second index: raises the epoch, fills the index from the entity, and requires its rows. */
export const indexAdder: TransactionProcess = [
  {
    label: 'raises the epoch',
    run(world) {
      if (world.fenced.length > 0) return 'blocked'
      world.epoch = 2
      return undefined
    },
  },
  {
    label: 'reads the entity to fill the index',
    run: ({ version, keys }, local) => void Object.assign(local, { base: version, old: keys }),
  },
  {
    label: 'fills the index',
    run({ rows }, { base, old }) {
      for (const key of old) rows[`K.${key}`] = Math.max(rows[`K.${key}`] ?? 0, base)
    },
  },
  { label: 'makes the index ready', run: (world) => void (world.isAdded = true) },
]
