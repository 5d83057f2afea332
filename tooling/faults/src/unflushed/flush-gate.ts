import type { DriverFactory, Shard } from '@looseleaf/core'

/**
 * Can hold up whoever flushes one shard to make sure of what he has read there: the server may die and come back in
 * between, and then the flush succeeds and says nothing of what was read before.
 */
export interface FlushGate {
  wrap(shards: DriverFactory): DriverFactory
  /** From now on flushes wait, until the gate is opened. */
  close(): void
  open(): void
  /** Resolves when a flush waits. */
  readonly reached: Promise<void>
  /** Flushes that have waited. */
  readonly held: number
}

export function createFlushGate(number: number): FlushGate {
  let opened = Promise.resolve()
  let open = (): void => undefined
  let reached = Promise.withResolvers<void>()
  let isClosed = false
  let held = 0

  async function pass(): Promise<void> {
    if (!isClosed) return
    held++
    reached.resolve()
    await opened
  }

  const gated = (shard: Shard): Shard =>
    new Proxy(shard, {
      get(target, property, receiver) {
        const value: unknown = Reflect.get(target, property, receiver)
        if (property !== 'flush' || typeof value !== 'function') return value
        return async (...args: unknown[]) => {
          await pass()
          return Reflect.apply(value, target, args) as unknown
        }
      },
    })

  return {
    wrap: (shards) => ({
      shardCount: shards.shardCount,
      async connect() {
        const driver = await shards.connect()
        return {
          shards: driver.shards.map((shard, i) => (i === number ? gated(shard) : shard)),
          close: () => driver.close(),
        }
      },
    }),
    close() {
      const gate = Promise.withResolvers<void>()
      opened = gate.promise
      open = gate.resolve
      reached = Promise.withResolvers<void>()
      isClosed = true
    },
    open() {
      isClosed = false
      open()
    },
    get reached() {
      return reached.promise
    },
    get held() {
      return held
    },
  }
}
