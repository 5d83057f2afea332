import { LooseleafError, type Driver } from '@looseleaf/core'
import { faultyDriver, type Fault } from '@looseleaf/testkit'

export interface DyingDriver {
  readonly driver: Driver
  /** Lets this many more calls through; the last of them dies. */
  dieAfter(calls: number): void
  /** True after that call. */
  readonly isDead: boolean
}

/**
 * Creates a driver for a process that dies: all calls fail from its last one on. `withEffect` tells whether the last call takes effect. The
 * leases of the process stay.
 */
export function dyingDriver(driver: Driver, { withEffect }: { readonly withEffect: boolean }): DyingDriver {
  let remaining = Infinity
  const die = (): never => {
    throw new LooseleafError('CLOSED', 'The process has died.')
  }
  return {
    get isDead() {
      return remaining <= 0
    },
    dieAfter(calls) {
      remaining = calls
    },
    driver: faultyDriver(driver, ({ table }): Fault | undefined => {
      if (table === 'shard') return undefined
      remaining--
      if (remaining > 0) return undefined
      return remaining === 0 && withEffect ? { after: die } : { before: die }
    }),
  }
}

/** Creates a driver that calls `before` before each method of a port. */
export function watchedDriver(
  driver: Driver,
  before: (shard: number, method: string) => Promise<void>,
): Driver {
  return faultyDriver(driver, ({ shard, table, operation }) =>
    table === 'shard' ? undefined : { before: () => before(shard, operation) },
  )
}
