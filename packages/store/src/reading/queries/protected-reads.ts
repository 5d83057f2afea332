import { LooseleafError } from '@looseleaf/core'
import {
  createSlots,
  MAX_SNAPSHOTS,
  type CatalogEntry,
  type IndexRow,
  type IndexScan,
  type IndexTable,
  type ShardSnapshot,
} from '@looseleaf/core/internal'
import {
  protectedTablesOf,
  tableSpec,
  type EngineContext,
  type IntersectionPlan,
  type QueryPlan,
  type QueryPorts,
} from '@looseleaf/index-engine/internal'
import type { Guard } from '../rows/row-reader.ts'
import type { Sources } from '../steps/read.ts'

/*
 * Rows of an exact index may be deleted in the commit that loses them. An entity that moves is then at one place at each instant, so several
 * statements can miss it: the first reads the new place before the move, the second the old place after it. One statement meets it.
 */

type Scan = QueryPorts['scan']

/** The part of a table that snapshots have too. */
export type ReadTable = Pick<IndexTable, 'scan' | 'scanMany' | 'count' | 'countMany'>

export interface ProtectedRead {
  readonly plan: QueryPlan | IntersectionPlan
  readonly signal?: AbortSignal | undefined
  /** True for a read of all matches: a full answer of a scan means that there will be another scan. */
  readonly readsOn?: boolean
}

/** Makes reads of exact indexes miss no entity that moves. Costs nothing for other indexes. */
export interface ProtectedReads {
  /**
   * Calls `attempt` with a guard of its scans. If it needs more than one statement of a shard, calls it again from the beginning, with scans
   * of one snapshot per shard: the first answers do not count. An intersection begins with the snapshots. `isLast` tells that `attempt` is not
   * called again.
   */
  read<Result>(
    sources: Sources,
    read: ProtectedRead,
    attempt: (guard: Guard, isLast: boolean) => Promise<Result>,
  ): Promise<Result>
  /** Calls `work` with the index tables of the shards, each as of one snapshot if the index is exact. */
  tables<Result>(
    sources: Sources,
    signal: AbortSignal | undefined,
    work: (tableOf: (shard: number) => Promise<ReadTable>) => Promise<Result>,
  ): Promise<Result>
}

/** Thrown within an attempt that needs a second statement of a shard. */
class NeedsSnapshot extends Error {}

/** Scans of one statement. With more, a driver may send several. */
const MAX_PARTS = 16

const unguarded: Guard = (scan) => scan

export function createProtectedReads({ catalog }: Pick<EngineContext, 'catalog'>): ProtectedReads {
  // The number of calls that hold snapshots is bounded by those of a shard, so that no call that holds one waits for another.
  const slots = createSlots(MAX_SNAPSHOTS)

  /** Goes by the newest catalog: that of the call may have been read before readers of the index had to protect themselves. */
  const mustProtect = ({ table }: CatalogEntry): boolean => protectedTablesOf(catalog.current()).has(table)

  /** Lets each shard answer one statement, and throws `NeedsSnapshot` for the next. */
  function inOneStatement({ view, entries }: Sources, readsOn: boolean): Guard {
    const answered = new Set<number>()
    return (scan) =>
      gathered(async (shard, scans, signal, index) => {
        if (answered.has(shard)) throw new NeedsSnapshot()
        answered.add(shard)
        const [first, ...others] = scans as [IndexScan, ...IndexScan[]]
        if (others.length === 0) {
          const rows = await scan(shard, first, signal, index)
          if (readsOn && rows.length >= first.limit) throw new NeedsSnapshot()
          return [rows]
        }
        // A scan that begins behind a row has another statement than one that begins with its range.
        const isOne = scans.length <= MAX_PARTS && scans.every(({ after }) => after === undefined)
        if (!isOne) throw new NeedsSnapshot()
        return view.shard(shard).index(tableSpec(entries[index]!)).scanMany(scans, { signal })
      })
  }

  /** Opens a snapshot of each shard when it is first needed, closes all of them at the end, and waits for a slot before. */
  async function withSnapshots<Result>(
    { view }: Sources,
    signal: AbortSignal | undefined,
    work: (open: (shard: number) => Promise<ShardSnapshot>) => Promise<Result>,
  ): Promise<Result> {
    const { queryTimeMs: maxMs } = catalog.current()
    const opened = new Map<number, Promise<ShardSnapshot>>()
    function open(number: number): Promise<ShardSnapshot> {
      let snapshot = opened.get(number)
      if (snapshot === undefined) {
        const shard = view.shard(number)
        snapshot = shard.snapshot?.({ maxMs, signal }) ?? Promise.reject(noSnapshots(shard.name))
        opened.set(number, snapshot)
      }
      return snapshot
    }
    return slots.pass(async () => {
      try {
        return await work(open)
      } finally {
        for (const snapshot of opened.values())
          void snapshot.then(
            ({ close }) => close(),
            () => undefined,
          )
      }
    }, signal)
  }

  function inSnapshots({ entries }: Sources, open: (shard: number) => Promise<ShardSnapshot>): Guard {
    const isExact = entries.map(mustProtect)
    return (scan) => {
      const scanSnapshot = gathered(async (shard, scans, signal, index) => {
        const table = (await open(shard)).index(tableSpec(entries[index]!))
        return scans.length === 1
          ? [await table.scan(scans[0]!, { signal })]
          : table.scanMany(scans, { signal })
      })
      return (shard, wanted, signal, index) =>
        (isExact[index] ? scanSnapshot : scan)(shard, wanted, signal, index)
    }
  }

  return {
    async read(sources, { plan, signal, readsOn = false }, attempt) {
      if (!sources.entries.some(mustProtect)) return attempt(unguarded, true)
      const isIntersection = !('ranges' in plan)
      if (!isIntersection) {
        try {
          return await attempt(inOneStatement(sources, readsOn), false)
        } catch (error) {
          if (!(error instanceof NeedsSnapshot)) throw error
        }
      }
      return withSnapshots(sources, signal, async (open) => {
        // Before any row of another index is read: those rows stay for a while, and lead to the state of each later moment.
        // The scans of a shard reject with the error of its snapshot.
        if (isIntersection)
          await Promise.allSettled(plan.shards.map((shard) => openWithin(sources.view, shard, open)))
        return attempt(inSnapshots(sources, open), true)
      })
    },
    async tables(sources, signal, work) {
      const spec = tableSpec(sources.entries[0]!)
      if (!mustProtect(sources.entries[0]!))
        return work(async (shard) => sources.view.shard(shard).index(spec))
      return withSnapshots(sources, signal, (open) => work(async (shard) => (await open(shard)).index(spec)))
    },
  }
}

/** Opens the snapshot of a shard. A call that skips silent shards does not wait for one. */
function openWithin(
  view: Sources['view'],
  shard: number,
  open: (shard: number) => Promise<ShardSnapshot>,
): Promise<ShardSnapshot> {
  return view.skipping === undefined ? open(shard) : view.lanes(shard).answers.bounded(() => open(shard))
}

function noSnapshots(shard: string): LooseleafError {
  return new LooseleafError(
    'STATEMENT_FAILED',
    `${shard}: the driver has no snapshots, which reads of exact indexes need. Use a driver that has them, or run \`looseleaf index exact off\`.`,
    { shard },
  )
}

/** Sends scans of one index and shard together if they are submitted in the same turn. */
function gathered(
  send: (
    shard: number,
    scans: readonly IndexScan[],
    signal: AbortSignal | undefined,
    index: number,
  ) => Promise<readonly (readonly IndexRow[])[]>,
): Scan {
  const groups = new Map<string, { readonly scans: IndexScan[]; readonly answers: ReturnType<typeof send> }>()
  return async (shard, scan, signal, index) => {
    const key = `${shard} ${index}`
    let group = groups.get(key)
    if (group === undefined) {
      const scans: IndexScan[] = []
      const answers = Promise.resolve().then(() => {
        groups.delete(key)
        return send(shard, scans, signal, index)
      })
      groups.set(key, (group = { scans, answers }))
    }
    const place = group.scans.push(scan) - 1
    return (await group.answers)[place]!
  }
}
