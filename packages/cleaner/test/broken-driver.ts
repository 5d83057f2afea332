import { LooseleafError, type Driver } from '@looseleaf/core'
import { faultyDriver, type Fault } from '@looseleaf/testkit'

export interface DyingDriver {
  readonly driver: Driver
  /** The n-th call from now on is the last one. */
  dieAfter(calls: number): void
  /** True once that call was made. */
  readonly isDead: boolean
}

/**
 * The connections of a process that dies: from its last call on all fail. The last one takes effect, or does not.
 * Nobody is told that the process is gone: its leases stay.
 */
export function dyingDriver(driver: Driver, { withEffect }: { readonly withEffect: boolean }): DyingDriver {
  let left = Infinity
  const die = (): never => {
    throw new LooseleafError('CLOSED', 'The process has died.')
  }
  return {
    get isDead() {
      return left <= 0
    },
    dieAfter(calls) {
      left = calls
    },
    driver: faultyDriver(driver, ({ table }): Fault | undefined => {
      if (table === 'shard') return undefined
      left--
      if (left > 0) return undefined
      return left === 0 && withEffect ? { after: die } : { before: die }
    }),
  }
}

/** Calls something before each call of a port's method. */
export function watchedDriver(
  driver: Driver,
  before: (shard: number, method: string) => Promise<void>,
): Driver {
  return faultyDriver(driver, ({ shard, table, operation }) =>
    table === 'shard' ? undefined : { before: () => before(shard, operation) },
  )
}
