import { LooseleafError, type Driver, type Shard } from '@looseleaf/core'
import { getOrInsert, interceptShard } from '@looseleaf/core/internal'

/** A call before it reaches the driver. */
export interface FaultyCall {
  readonly shard: number
  /** Number of the shard's replica; undefined for the primary. */
  readonly replica: number | undefined
  /**
   * `entities`, `catalog`, `tasks`, `pending`, `codecEntries`, the name of an index table or table of claims, `indexes` for `rowsOf`, or
   * `shard` for every other method of the shard.
   */
  readonly table: string
  /** Method of the port, such as `insert` or `upsert`. */
  readonly operation: string
  /** Number of the call, from 1, among those of this operation on this table of this shard. */
  readonly number: number
  readonly args: readonly unknown[]
}

export interface Fault {
  /** Runs before the call, which waits for it. If it throws, the call rejects with that error, and is not made. */
  readonly before?: () => void | Promise<void>
  /** Runs after the call. If it throws, the call rejects with that error, although it was made. */
  readonly after?: () => void | Promise<void>
  /** Stops the process before or after the call: this call and all later ones never settle. */
  readonly crash?: 'before' | 'after'
  /** Rejects the call with `OUTCOME_UNKNOWN` at once, and makes it when this promise resolves. */
  readonly late?: Promise<void>
}

export type FaultPlan = (call: FaultyCall) => Fault | undefined

export interface FaultyDriver extends Driver {
  /** Resolves when a fault has crashed the driver. */
  readonly crashed: Promise<void>
  /** Resolves when every late call has ended. */
  settled(): Promise<void>
}

/** Wraps a driver. The plan returns a fault for each call, or undefined for a call that goes to the driver unchanged. */
export function faultyDriver(driver: Driver, plan: FaultPlan): FaultyDriver {
  const counts = new Map<string, number>()
  const late = new Set<Promise<unknown>>()
  const { promise: crashed, resolve: crash } = Promise.withResolvers<void>()
  let hasCrashed = false

  async function perform<T>(call: Omit<FaultyCall, 'number'>, run: () => Promise<T>): Promise<T> {
    if (hasCrashed) return never()
    const name = `${call.shard} ${call.replica} ${call.table} ${call.operation}`
    const number = (counts.get(name) ?? 0) + 1
    counts.set(name, number)
    const fault = plan({ ...call, number })
    if (fault === undefined) return unlessCrashed(run())
    await fault.before?.()
    if (fault.crash === 'before') return stop()
    if (fault.late !== undefined) {
      const landing = fault.late.then(run).catch(() => {})
      late.add(landing)
      void landing.finally(() => late.delete(landing))
      throw unknownOutcome()
    }
    const result = await unlessCrashed(run())
    if (fault.crash === 'after') return stop()
    await fault.after?.()
    return result
  }

  function stop(): Promise<never> {
    hasCrashed = true
    crash()
    return never()
  }

  /** Resolves with the answer; never settles if the process has crashed before it came. */
  async function unlessCrashed<T>(answer: Promise<T>): Promise<T> {
    const result = await answer
    return hasCrashed ? never() : result
  }

  function faultyShard(shard: Shard, number: number, replica?: number): Shard {
    const wrapped = interceptShard(shard, ({ table, operation, args }, run) =>
      perform(
        { shard: number, replica, table: operation === 'rowsOf' ? 'indexes' : table, operation, args },
        run,
      ),
    )
    const replicas = shard.replicas?.map((follower, place) => faultyShard(follower, number, place))
    return { ...wrapped, replicas }
  }

  const shards = driver.shards.map((shard, number) => faultyShard(shard, number))
  const wrapped = new Map(driver.shards.map((shard, number) => [shard, shards[number]!]))

  return {
    shards,
    ...(driver.shardAt && {
      shardAt(address: string | object) {
        const found = driver.shardAt!(address)
        return getOrInsert(wrapped, found, () => faultyShard(found, wrapped.size))
      },
    }),
    crashed,
    async settled() {
      while (late.size > 0) await Promise.all(late)
    },
    close: () => driver.close(),
  }
}

/** Returns the error of a write whose connection was lost, for the `after` of a fault. */
export function unknownOutcome(): LooseleafError {
  return new LooseleafError(
    'OUTCOME_UNKNOWN',
    'The connection was lost before the answer came (a fault on purpose).',
  )
}

function never(): Promise<never> {
  return new Promise(() => {})
}
