import type { Driver } from '@looseleaf/core'
import { changed } from '@looseleaf-tooling/kit/changed-driver'

/**
 * Can hold up flushes of one shard. The server may die and come back after a read and before the flush that
 * should confirm it; the flush then succeeds and proves nothing about the read.
 */
export interface FlushGate {
  wrap(driver: Driver): Driver
  /** Makes flushes wait until the gate is opened. */
  close(): void
  open(): void
  /** Resolves when a flush waits. */
  readonly reached: Promise<void>
  /** Number of flushes that have waited. */
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

  return {
    wrap: (driver) =>
      changed(driver, {
        shard: (shard, i) =>
          i !== number
            ? {}
            : {
                async flush(options) {
                  await pass()
                  await shard.flush(options)
                },
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
