import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from '../random.ts'
import type { RowText, Tables } from './tables.ts'

export interface WatchResult {
  /** Rows that had to be there and were looked for. */
  readonly looks: number
  /** Looks that had to be made again, because the entity had moved meanwhile. */
  readonly again: number
  readonly missing: readonly RowText[]
  /** Times that a database could not be asked. */
  readonly unreachable: number
}

export interface Watcher {
  stop(): Promise<WatchResult>
}

const AT_ONCE = 8
const REST_MS = 5

/**
 * Looks for rows that are missing while everything is going on. It reads an entity, then its index rows, then the
 * entity again: if that stands at the same version, it has stood there all the while, and every row of it had to be
 * there. Versions never come back, so the same version means that nothing came between.
 */
export function startWatcher(tables: Tables, ids: readonly string[], random: Random): Watcher {
  let stopping = false
  const counts = { looks: 0, again: 0, unreachable: 0 }
  const missing: RowText[] = []

  async function look(): Promise<void> {
    const some = [...new Set(Array.from({ length: AT_ONCE }, () => random.pick(ids)))]
    const states = await tables.entities(some)
    const rows = await tables.rows(some)
    const suspects = states.flatMap((state) => {
      const expected = tables.expected(state)
      counts.looks += expected.length
      return expected.filter((row) => !rows.has(row)).map((row) => ({ row, state }))
    })
    if (suspects.length === 0) return
    const versions = new Map((await tables.entities(some)).map(({ id, version }) => [id, version]))
    for (const { row, state } of suspects) {
      if (versions.get(state.id) === state.version) missing.push(`${row} of version ${state.version}`)
      else counts.again++
    }
  }

  const watching = (async () => {
    while (!stopping) {
      try {
        await look()
        await sleep(REST_MS)
      } catch {
        // The server is away for a while, which is the point.
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
