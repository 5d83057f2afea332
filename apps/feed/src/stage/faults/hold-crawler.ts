import { setTimeout as sleep } from 'node:timers/promises'
import type { ActContext } from '@looseleaf/console'
import { capital, counted } from '@looseleaf/console/kit'
import type { LoopControl } from '../../domain/site/loop.ts'
import type { SiteData } from '../../kinds/site-data.ts'
import { SOURCE_STRIPES } from '../../kinds/source.ts'
import { holdLoop } from './hold-loop.ts'

/** Due sources of a stripe that are counted. */
const PER_STRIPE = 20
/** Milliseconds in which the due sources should be fetched after the start. */
const CATCH_UP_MS = 30_000
const LOOK_MS = 500

/** Returns the ids of sources that are due, up to 20 of each stripe. */
async function dueSources({ sources }: SiteData): Promise<readonly string[]> {
  const next_check = { lte: new Date() }
  const wheres = Array.from({ length: SOURCE_STRIPES }, (_, stripe) => ({ stripe, next_check }))
  const pages = await sources.byDue.pageMany(wheres, { limit: PER_STRIPE })
  return pages.flatMap(({ items }) => items.map(({ id }) => id))
}

/** Holds the crawler of this process, and counts how many of the sources that were due at its start it has fetched then. */
export async function holdCrawler(
  data: SiteData,
  crawler: LoopControl,
  ms: number,
  context: ActContext,
): Promise<void> {
  const { showProgress, setOutcome } = context
  let due: readonly string[] = []
  await holdLoop(crawler, ms, context, async () => {
    due = await dueSources(data)
    return `${counted(due.length, 'source')} ${due.length === 1 ? 'waits' : 'wait'} to be fetched`
  })
  const startedAt = new Date()
  showProgress('it runs again and catches up')
  const end = Date.now() + CATCH_UP_MS
  let late = due.length
  while (late > 0) {
    const sources = await data.sources.getMany(due)
    late = sources.filter((source) => source !== undefined && !((source.checked ?? 0) >= startedAt)).length
    if (Date.now() >= end) break
    if (late > 0) await sleep(LOOK_MS)
  }
  setOutcome(
    `It runs again. ${capital(counted(due.length, 'source'))} became due meanwhile: ${due.length - late} fetched since, ${late} late.`,
  )
}
