import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from '@looseleaf-tooling/kit/random'
import { pendingOf, type EntityState, type RowText, type Tables } from './tables.ts'

/** When the rows of a committed entity must be there. */
export type Promised = 'always' | 'unless pending' | 'in the end'

export interface WatchResult {
  /** Rows that had to be there and were looked for. */
  readonly looks: number
  /** Looks that were repeated because the entity changed in between. */
  readonly again: number
  /** Absent rows that are allowed: pending, or written after their entity. */
  readonly excused: number
  /** Rows of recently replaced states, which had to be there still. */
  readonly kept: number
  readonly missing: readonly RowText[]
  /** Failed attempts to reach a database. */
  readonly unreachable: number
}

export interface Watcher {
  stop(): Promise<WatchResult>
}

export interface WatchOptions {
  /** Default: always. */
  readonly promised?: Promised | undefined
  /** Milliseconds for which the rows of a replaced state must stay. Default: 0. */
  readonly keptMs?: number | undefined
}

const AT_ONCE = 8
const REST_MS = 5

/**
 * Looks for missing rows under load.
 *
 * 1. It reads an entity, then the pending rows, then the index rows, then the entity again.
 * 2. If both reads of the entity have the same version, that version was current all the time, because
 *    versions never come back. So every row of it had to be there.
 * 3. Pending rows are read first, because a pending row is removed when its index row is written.
 */
export function startWatcher(
  tables: Tables,
  ids: readonly string[],
  random: Random,
  { promised = 'always', keptMs = 0 }: WatchOptions = {},
): Watcher {
  let stopping = false
  const counts = { looks: 0, again: 0, excused: 0, kept: 0, unreachable: 0 }
  const missing: RowText[] = []
  const recent = createRecentStates(keptMs)

  async function look(): Promise<void> {
    const some = [...new Set(Array.from({ length: AT_ONCE }, () => random.pick(ids)))]
    const before = performance.now()
    const states = await tables.entities(some)
    const pending = promised === 'unless pending' ? await tables.pending() : undefined
    const rows = await tables.rows(some)
    lookBack(states, rows)
    const suspects = states.flatMap((state) => {
      const expected = tables.expected(state)
      counts.looks += expected.length
      return expected.filter((row) => !rows.has(row)).map((row) => ({ row, state }))
    })
    if (suspects.length === 0) {
      for (const state of states) recent.add(state, tables.kept(state), before)
      return
    }
    const versions = new Map((await tables.entities(some)).map(({ id, version }) => [id, version]))
    for (const { row, state } of suspects) {
      if (versions.get(state.id) !== state.version) counts.again++
      else if (promised === 'in the end' || pending?.has(pendingOf(row)) === true) counts.excused++
      else missing.push(`${row} of version ${state.version}`)
    }
  }

  /** Looks for the rows of states that were current a short while ago. */
  function lookBack(states: readonly EntityState[], rows: ReadonlySet<RowText>): void {
    const now = performance.now()
    for (const { id, version } of states) {
      for (const past of recent.of(id, version, now)) {
        counts.kept += past.rows.length
        for (const row of past.rows)
          if (!rows.has(row)) missing.push(`${row} of version ${past.version}, which was replaced just now`)
      }
    }
  }

  const watching = (async () => {
    while (!stopping) {
      try {
        await look()
        await sleep(REST_MS)
      } catch {
        // Expected: the run makes servers unreachable.
        counts.unreachable++
        await sleep(100)
      }
    }
  })()

  return {
    async stop() {
      stopping = true
      await watching
      return { ...counts, missing }
    },
  }
}

interface PastState {
  readonly version: number
  readonly rows: readonly RowText[]
  /** A time at which this state, or a later one, was current. */
  readonly at: number
}

/** States that were seen, for as long as their rows must stay. */
function createRecentStates(keptMs: number): {
  add(state: EntityState, rows: readonly RowText[], at: number): void
  /** Returns the states of an entity that were replaced recently enough at `now`. */
  of(id: string, version: number, now: number): readonly PastState[]
} {
  const states = new Map<string, PastState[]>()
  return {
    add({ id, version }, rows, at) {
      if (keptMs === 0) return
      const known = (states.get(id) ?? []).filter((past) => past.version !== version && at - past.at < keptMs)
      states.set(id, [...known, { version, rows, at }])
    },
    of: (id, version, now) =>
      (states.get(id) ?? []).filter((past) => past.version !== version && now - past.at < keptMs),
  }
}
