import { unchanged, unset, type ChangesOf } from 'looseleaf'
import { SKIP } from '../domain/site/partial-reads.ts'
import type { SiteData } from '../kinds/site-data.ts'
import { SOURCE_STRIPES, type Source } from '../kinds/source.ts'
import { isOvertaken } from '../domain/site/overtaken.ts'
import { isGone } from '../domain/site/unless-there.ts'

/** Due sources that one look reads of each stripe. */
const PER_STRIPE = 4

/** Changes of a source's properties. */
export type SourceChange = ChangesOf<typeof Source>

/** Changes after a fetch, or a function that returns them for the source as it is stored then. */
export type Outcome = SourceChange | ((stored: Omit<Source, 'id' | 'version'>) => SourceChange)

/** A source that this process fetches until its lease ends. */
export interface LeasedSource extends Source {
  readonly leased_until: Date
}

export interface TakeOptions {
  /** Largest number of sources to take. */
  readonly limit: number
  readonly leaseMs: number
  readonly now: Date
  /** Counts a source for its host and its person, and returns true, if neither is busy. */
  readonly reserve: (source: Source) => boolean
  /** Gives a reserved place back, because the source could not be taken. */
  readonly release: (source: Source) => void
  /**
   * Time of the last busy source of each stripe that a look has passed over. The next look reads the sources behind it, so busy sources do
   * not hold up others; behind the last due one it begins anew.
   */
  readonly passed: Map<number, Date>
  /** Called with the error of each source that could not be taken, unless another process has it. The source stays due. */
  readonly onError: (error: unknown) => void
}

/**
 * Takes sources that are due, by a lease: `next_check` is pushed ahead of all other processes by compare-and-swap, so one process gets
 * a source. If it dies, the source is due again when the lease ends. Reads all stripes by a statement per shard.
 * Sources on shards that do not answer stay due.
 */
export async function takeDue({ sources }: SiteData, options: TakeOptions): Promise<LeasedSource[]> {
  const { limit, leaseMs, now, reserve, release, passed, onError } = options
  const wheres = Array.from({ length: SOURCE_STRIPES }, (_, stripe) => ({
    stripe,
    next_check: { gt: passed.get(stripe) ?? new Date(0), lte: now },
  }))
  const pages = await sources.byDue.pageMany(wheres, { limit: PER_STRIPE, ...SKIP })
  for (const [stripe, { items }] of pages.entries()) if (items.length < PER_STRIPE) passed.delete(stripe)
  const due = pages
    .flatMap(({ items }) => items)
    .toSorted((a, b) => (a.next_check?.getTime() ?? 0) - (b.next_check?.getTime() ?? 0))
  const chosen: Source[] = []
  for (const source of due) {
    if (chosen.length === limit) break
    if (reserve(source)) chosen.push(source)
    else pass(source)
  }
  const end = new Date(now.getTime() + leaseMs)
  const leases = await sources.updateMany(chosen, { next_check: end, leased_until: end }, { fates: true })
  const taken: LeasedSource[] = []
  for (const [i, fate] of leases.entries()) {
    if (fate.ok) {
      taken.push({ ...fate.value, leased_until: end })
      continue
    }
    release(chosen[i] as Source)
    if (!isOvertaken(fate.error)) onError(fate.error)
  }
  return taken

  function pass({ stripe, next_check }: Source): void {
    const isLast = stripe === undefined || (pages[stripe]?.items.length ?? 0) < PER_STRIPE
    if (!isLast && next_check !== undefined) passed.set(stripe, next_check)
  }
}

/**
 * Writes the outcome of a fetch and ends the lease. Writes nothing if the lease is lost, because another process fetches the source by
 * now, or if the source is deleted. Other changes of the source meanwhile do not matter.
 */
export async function endLease(
  { sources }: SiteData,
  { id, leased_until }: LeasedSource,
  outcome: Outcome,
): Promise<'ended' | 'lost' | 'deleted'> {
  let isOurs = false
  try {
    await sources.update(id, (current) => {
      isOurs = current.leased_until?.getTime() === leased_until.getTime()
      if (!isOurs) return unchanged
      return { ...(typeof outcome === 'function' ? outcome(current) : outcome), leased_until: unset }
    })
  } catch (error) {
    if (isGone(error)) return 'deleted'
    throw error
  }
  return isOurs ? 'ended' : 'lost'
}
