import type { SharedCache } from '@looseleaf/core'
import type { SharedCacheAnswer } from '@looseleaf/core/internal'
import type { FaultKind } from '../faults/faults.ts'
import type { Flaw } from '../faults/flaws.ts'
import { reach, type Life } from '../steps/life.ts'
import { BELATED_STEPS } from '../steps/scheduler.ts'
import type { Network } from './simulated-driver.ts'

/** The one cache of all processes. */
export interface SimulatedCache {
  /** Returns the cache for one process. */
  connect(life: Life): SharedCache
  /** Call before every step. */
  pass(): void
}

export interface SimulatedCacheOptions extends Pick<Network, 'scheduler' | 'random' | 'faults' | 'count'> {
  /** Greatest age of an answer, in milliseconds. */
  readonly maxStalenessMs: number
  readonly flaw: Flaw | undefined
}

interface Kept {
  /** Undefined while the entry is only a lease. */
  readonly value?: Uint8Array
  readonly lease: string
  readonly until: number
}

/** Lifetime of a lease, as a share of the bound. */
const LEASE_PART = 0.2
/** Probability per step that a stalled cache continues: after a short or a long while. */
const GOES_ON = [0.02, 0.003]
/** Address in the scheduler, which no server has. */
const ADDRESS = -1

/** Simulates memcached in plain memory, with one clock, behind a network with faults. */
export function createSimulatedCache(options: SimulatedCacheOptions): SimulatedCache {
  const { scheduler, random, maxStalenessMs, count, flaw } = options
  const leaseMs = maxStalenessMs * LEASE_PART
  const kept = new Map<string, Kept>()
  let leases = 0
  /** Calls that arrived while the cache is stalled; undefined otherwise. */
  let held: (() => void)[] | undefined

  const strikes = (kind: FaultKind): boolean => random.chance(options.faults()[kind])

  function living(key: string): Kept | undefined {
    const found = kept.get(key)
    return found !== undefined && found.until > scheduler.now() ? found : undefined
  }

  function take(key: string): SharedCacheAnswer {
    const found = living(key)
    if (found?.value !== undefined) return { value: found.value }
    if (found !== undefined) return undefined
    const lease = String(++leases)
    kept.set(key, { lease, until: scheduler.now() + leaseMs })
    return { lease }
  }

  function keep(key: string, value: Uint8Array, lease: string): void {
    const found = living(key)
    const isGood = found !== undefined && found.value === undefined && found.lease === lease
    if (!isGood && flaw !== 'what was evicted is kept all the same') return
    const lifetime = flaw === 'cached without a bound' ? Infinity : maxStalenessMs - leaseMs
    kept.set(key, { value, lease, until: scheduler.now() + lifetime })
  }

  function remove(key: string): void {
    if (flaw !== 'evictions are left out') kept.delete(key)
  }

  /** Runs the work now, or when the cache is no longer stalled. */
  function begin(work: () => void): void {
    if (held === undefined) work()
    else held.push(work)
  }

  function send<T>(life: Life, label: string, run: () => T): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    const say = `${life.name} cache.${label}`
    const fail = (how: string): void => {
      scheduler.note(`  ${say}: ${how}`)
      reach(life, () => reject(new Error(`cache.${label}: ${how}`)))
    }
    const common = { shard: ADDRESS, writes: false } as const
    const later = (how: string, arrive: () => void): void =>
      scheduler.add({ ...common, label: `${how}: ${say}`, belated: BELATED_STEPS, arrive })

    scheduler.add({
      ...common,
      label: say,
      life,
      arrive() {
        if (!strikes('cacheFails')) {
          // Callers have a short deadline.
          if (held !== undefined) later('deadline', () => fail('no answer in time'))
          return begin(() => {
            const answer = run()
            reach(life, () => resolve(answer))
          })
        }
        count('cacheFails')
        const chosen = random.next()
        if (chosen < 0.3) begin(run)
        else if (chosen < 0.6) later('late', () => begin(run))
        fail('failed')
      },
    })
    return promise
  }

  return {
    connect: (life) => ({
      take: (keys) =>
        Promise.all(
          keys.map((key) =>
            send(life, 'take', () => take(key)).catch((failed: unknown): SharedCacheAnswer => ({ failed })),
          ),
        ),
      keep: (key, value, lease) => send(life, 'keep', () => keep(key, value, lease)),
      remove: (key) => send(life, 'remove', () => remove(key)),
      close: async () => {},
    }),
    pass() {
      if (held !== undefined && random.chance(random.pick(GOES_ON))) {
        scheduler.note('-- the cache goes on')
        const waiting = held
        held = undefined
        for (const work of waiting) work()
      } else if (held === undefined && strikes('cacheStands')) {
        count('cacheStands')
        scheduler.note('-- the cache stands still')
        held = []
      }
      if (kept.size > 0 && strikes('cacheEvicts')) {
        count('cacheEvicts')
        if (random.chance(0.2)) kept.clear()
        else kept.delete(random.pick([...kept.keys()]))
      }
    },
  }
}
