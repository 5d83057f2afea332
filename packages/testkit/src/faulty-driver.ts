import { LooseleafError, type ClaimTable, type Driver, type IndexTable, type Shard } from '@looseleaf/core'

/** A call that is about to be made. */
export interface FaultyCall {
  /** The shard's number. */
  readonly shard: number
  /** The number of the shard's replica that is called; undefined for its primary. */
  readonly replica: number | undefined
  /**
   * `entities`, `catalog`, `tasks`, `pending`, `definitions`, the name of an index table or table of claims, `indexes` for `rowsOf`, or `shard` for whatever
   * else the shard does itself.
   */
  readonly table: string
  /** The port's method, such as `insert` or `upsert`. */
  readonly operation: string
  /** 1 for the first call of this operation on this table of this shard. */
  readonly number: number
  /** What it is called with. */
  readonly args: readonly unknown[]
}

/** What goes wrong with one call. */
export interface Fault {
  /** Runs before the call. What it throws is the call's error, and nothing is done; a delay is a promise. */
  readonly before?: () => void | Promise<void>
  /** Runs when the call has been done. What it throws is the call's error, although it is done. */
  readonly after?: () => void | Promise<void>
  /** The process stops here: this call and all later ones never settle. */
  readonly crash?: 'before' | 'after'
  /** The call is `OUTCOME_UNKNOWN` at once, and is done when this resolves: a statement that lands late. */
  readonly late?: Promise<void>
}

export type FaultPlan = (call: FaultyCall) => Fault | undefined

export interface FaultyDriver extends Driver {
  /** Resolves when a fault has crashed it. */
  readonly crashed: Promise<void>
  /** Resolves when every late call has been done. */
  settled(): Promise<void>
}

/** A driver that fails as the plan says, and otherwise does what the given one does. */
export function faultyDriver(driver: Driver, plan: FaultPlan): FaultyDriver {
  const counts = new Map<string, number>()
  const late = new Set<Promise<unknown>>()
  const indexes = new Map<IndexTable, IndexTable>()
  const claims = new Map<ClaimTable, ClaimTable>()
  const { promise: crashed, resolve: crash } = Promise.withResolvers<void>()
  let down = false

  async function make<T>(call: Omit<FaultyCall, 'number'>, run: () => Promise<T>): Promise<T> {
    if (down) return never()
    const name = `${call.shard} ${call.replica} ${call.table} ${call.operation}`
    const number = (counts.get(name) ?? 0) + 1
    counts.set(name, number)
    const fault = plan({ ...call, number })
    if (fault === undefined) return whileUp(run())
    await fault.before?.()
    if (fault.crash === 'before') return stop()
    if (fault.late !== undefined) {
      const landing = fault.late.then(run).catch(() => {})
      late.add(landing)
      void landing.finally(() => late.delete(landing))
      throw unknownOutcome()
    }
    const result = await whileUp(run())
    if (fault.crash === 'after') return stop()
    await fault.after?.()
    return result
  }

  function stop(): Promise<never> {
    down = true
    crash()
    return never()
  }

  /** A process that has stopped hears no answer either. */
  async function whileUp<T>(answer: Promise<T>): Promise<T> {
    const result = await answer
    return down ? never() : result
  }

  /** The same object, with every asynchronous method under the plan. */
  function wrap<Port extends object>(
    port: Port,
    where: Pick<FaultyCall, 'shard' | 'replica'>,
    table: string,
    leave: readonly string[] = [],
  ): Port {
    return new Proxy(port, {
      get(target, property, receiver) {
        const value: unknown = Reflect.get(target, property, receiver)
        if (typeof value !== 'function' || typeof property !== 'string' || leave.includes(property))
          return value
        return (...args: unknown[]) =>
          make(
            { ...where, table, operation: property, args },
            () => Reflect.apply(value, target, args) as Promise<unknown>,
          )
      },
    })
  }

  function wrapShard(shard: Shard, number: number, replica?: number): Shard {
    const where = { shard: number, replica }
    const entities = wrap(shard.entities, where, 'entities')
    const catalog = wrap(shard.catalog, where, 'catalog')
    const tasks = wrap(shard.tasks, where, 'tasks')
    const pending = wrap(shard.pending, where, 'pending')
    const definitions = wrap(shard.definitions, where, 'definitions')
    const own = wrap(shard, where, 'shard', ['index', 'claims', 'schema'])
    const indexRows = wrap(shard, where, 'indexes')
    return {
      name: shard.name,
      replicas: shard.replicas?.map((one, place) => wrapShard(one, number, place)),
      entities,
      catalog,
      tasks,
      pending,
      definitions,
      index(spec) {
        const table = shard.index(spec)
        const wrapped = indexes.get(table) ?? wrap(table, where, spec.table)
        indexes.set(table, wrapped)
        return wrapped
      },
      claims(spec) {
        const table = shard.claims(spec)
        const wrapped = claims.get(table) ?? wrap(table, where, spec.table)
        claims.set(table, wrapped)
        return wrapped
      },
      rowsOf: (specs, ids, options) => indexRows.rowsOf(specs, ids, options),
      createTables: (options) => own.createTables(options),
      createIndexTable: (spec, options) => own.createIndexTable(spec, options),
      dropIndexTable: (spec, options) => own.dropIndexTable(spec, options),
      schema: (specs) => shard.schema(specs),
      flush: (options) => own.flush(options),
      now: (options) => own.now(options),
      connections: () => shard.connections?.(),
      sizes: async (options) => own.sizes?.(options),
      ...(own.activity && { activity: (options) => own.activity!(options) }),
      warnings: (options) => own.warnings(options),
    }
  }

  return {
    shards: driver.shards.map((shard, number) => wrapShard(shard, number)),
    crashed,
    async settled() {
      while (late.size > 0) await Promise.all(late)
    },
    close: () => driver.close(),
  }
}

/** The error of a write whose answer was lost; for the `after` of a fault. */
export function unknownOutcome(): LooseleafError {
  return new LooseleafError(
    'OUTCOME_UNKNOWN',
    'The connection was lost before the answer came (a fault on purpose).',
  )
}

function never(): Promise<never> {
  return new Promise(() => {})
}
