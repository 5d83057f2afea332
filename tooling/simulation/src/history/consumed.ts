import { consume, type ChangedEntity } from '@looseleaf/changes'
import { formatId, isLooseleafError, type EntityId, type Time } from '@looseleaf/core'
import type { DataStore } from '@looseleaf/store'
import type { Random } from '@looseleaf-tooling/kit/random'
import type { Checker } from '../checks.ts'
import type { Owners } from '../world/owners.ts'

/** A consumer that several processes share. The records of its handler outlive them. */
export interface Consumed {
  /** Takes a share of the work until the signal aborts. */
  consume(store: DataStore, time: Time, signal: AbortSignal): Promise<void>
  /** Checks after a server crash that no state that was handed over was undone. */
  serverCrashed(): void
  /** Tells whether the last state of every entity was handled. */
  readonly hasAll: boolean
  /** Checks this when all is quiet. */
  checkAll(): void
}

export interface ConsumedOptions {
  readonly owners: Owners
  readonly checker: Checker
  readonly random: Random
  /** Tells whether handlers always succeed by now. */
  isCalm(): boolean
}

/** Milliseconds of virtual time. */
const MAX_HANDLER_MS = 50
const POLLS_MS = [500, 3_000]
const LEASES_MS = [1_000, 5_000]
const RETRY_MS = 200
/** Share of handlers that fail. */
const FAILS = 0.15

export function createConsumed({ owners, checker, random, isCalm }: ConsumedOptions): Consumed {
  const { check } = checker
  /** Greatest version of each entity that was handed over, and that was handled. */
  const begun = new Map<EntityId, number>()
  const handled = new Map<EntityId, number>()

  const stored = (): ReadonlyMap<EntityId, number> =>
    new Map(owners.rows().map(({ id, version }) => [formatId(id), version]))
  const missing = (): readonly EntityId[] =>
    [...stored()].flatMap(([id, version]) => (handled.get(id) === version ? [] : [id]))

  function raise(versions: Map<EntityId, number>, { id, version }: ChangedEntity): void {
    versions.set(id, Math.max(version, versions.get(id) ?? 0))
  }

  async function handle(change: ChangedEntity, time: Time): Promise<void> {
    const { id, version } = change
    const known = begun.get(id) ?? 0
    check(
      'a consumer gets no older version of an entity after a newer one',
      version < known && `${id} came at ${version} after ${known}`,
    )
    raise(begun, change)
    await time.sleep(random.below(MAX_HANDLER_MS))
    if (!isCalm() && random.chance(FAILS)) throw new Error('The handler fails.')
    raise(handled, change)
  }

  return {
    async consume(store, time, signal) {
      if (signal.aborted) return
      const consumer = consume(store, 'search', (change) => handle(change, time), {
        from: 'beginning',
        pollMs: random.pick(POLLS_MS),
        leaseMs: random.pick(LEASES_MS),
        retryMs: RETRY_MS,
        onError(error) {
          const isOver = isLooseleafError(error) && ['CHANGES_GONE', 'NOT_FOUND'].includes(error.code)
          check('a consumer goes on until it is stopped', isOver && String(error))
        },
      })
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
      await consumer.stop()
    },
    serverCrashed() {
      const versions = stored()
      for (const [id, version] of begun) {
        check(
          'a crash never undoes a delivered change',
          version > (versions.get(id) ?? 0) && `${id} at ${version} is gone, which a consumer has`,
        )
      }
    },
    get hasAll() {
      return missing().length === 0
    },
    checkAll() {
      const some = missing()
      check(
        'a consumer has handled the last state of every entity',
        some.length > 0 && `a consumer has not handled ${some.join(', ')}`,
      )
    },
  }
}
